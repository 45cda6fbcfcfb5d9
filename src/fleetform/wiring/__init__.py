"""Chooses implementations: the one place where the application meets its adapters."""
