"""Names of files of definitions: several versions of one are known side by side, so its version is part of the name."""

from __future__ import annotations

from typing import NamedTuple


class Versioned(NamedTuple):
    """The name of a definition's file, in its two parts."""

    definition: str
    version: str

    def __str__(self) -> str:
        return f"{self.definition}@{self.version}"


def versioned(file: str) -> Versioned | None:
    """None for the file of any other object."""
    definition, at, version = file.rpartition("@")
    return Versioned(definition, version) if at else None
