"""Definitions from elsewhere: folders, git, Helm repositories, OCI registries; read into a cache, and from it."""
