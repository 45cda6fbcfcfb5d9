"""What Fleetform answers: diagnostics and decisions, as records that point at the objects they are about."""
