"""What changed since the last pass, and which plugins that can reach."""
