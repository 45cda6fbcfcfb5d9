"""Thin clients of what is outside this process: git, HTTP, OCI registries, files, programs.

Not here: what is done with the bytes (load, artifacts, catalogs, renderers).
"""
