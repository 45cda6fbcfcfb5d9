"""Fleeet and Cluster API: their manifests, read into the model: `read` picks a kind, the other files translate it."""
