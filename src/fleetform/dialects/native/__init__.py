"""Fleetform's own manifests, in every spelling that is allowed."""
