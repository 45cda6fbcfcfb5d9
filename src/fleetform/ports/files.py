"""People's files, for verbs that edit them."""

from __future__ import annotations

from typing import Protocol


class Files(Protocol):
    """People's files, as they are now."""

    def read(self, name: str) -> str:
        """A file's text, with its line ends as they are; OSError where it is none that can be edited."""
