"""What is obtained is rendered with the real tools, to see that it is the right thing."""

from support.rendering import clients_are_closed, environment, place, tools_folder

__all__ = ["clients_are_closed", "environment", "place", "tools_folder"]
