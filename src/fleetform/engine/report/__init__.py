"""The other direction: what decisions say about overrides, progress and changes."""
