"""Flux: the objects that it gets for a plugin, built from the model."""
