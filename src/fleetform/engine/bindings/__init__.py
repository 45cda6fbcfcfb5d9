"""Bindings: variables compiled once for an owner and evaluated for each plugin on its cluster."""
