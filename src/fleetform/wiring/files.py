"""Files of this machine, as verbs read and write them."""

from __future__ import annotations

from fleetform.outside.boundary import Boundary
from fleetform.outside.files import OUTPUT_MARK, LocalFiles, write_file

__all__ = ["OUTPUT_MARK", "LocalFiles", "in_repository", "write_file"]


def in_repository(path: str) -> bool:
    """Whether a path is in the repository of the working directory."""
    return Boundary.of_repository().holds(path)
