"""Flux: the objects for a plugin, written from the model. Flux's objects are not read: they are always output."""
