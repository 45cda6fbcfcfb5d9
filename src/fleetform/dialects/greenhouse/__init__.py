"""Greenhouse: its manifests, read into the model: `read` picks a kind, `translate` has a function for each."""
