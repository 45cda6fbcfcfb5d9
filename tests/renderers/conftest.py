"""Tests of renderers run the real tools."""

from support.rendering import clients_are_closed, environment, place, tools_folder

__all__ = ["clients_are_closed", "environment", "place", "tools_folder"]
