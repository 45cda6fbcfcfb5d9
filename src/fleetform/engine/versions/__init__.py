"""Versions of definitions: which one a plugin wants, what stands between two of them, how long each is kept."""
