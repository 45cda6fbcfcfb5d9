"""Greenhouse: its manifests, read into the model."""
