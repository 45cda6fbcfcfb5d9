"""Thin clients of the outside world, shared by adapters: git, files."""
