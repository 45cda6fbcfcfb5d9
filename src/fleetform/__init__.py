"""Fleetform decides, explains and rolls out what every cluster of a fleet runs."""

__version__ = "0.1.0"
