"""Fleeet and Cluster API: their manifests, read into the model."""
