"""What is remembered of a source between readings."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Version(Struct, frozen=True):
    """One version of a definition, as it first came: its manifest, and where that stands in its text.

    digest is of the bytes it renders as they first came, found of those it would render now. content names what the
    manifest says, others what it said under this version later; text is the digest of the file it stands in. marks are
    the parts of the source that hold it.
    """

    name: str
    version: str
    file: str
    revision: str
    marks: tuple[str, ...]
    content: str
    text: str
    tree: dict[str, Any]
    first_line: int
    last_line: int
    base: tuple[str | int, ...] = ()
    published: str | None = None
    digest: str | None = None
    found: str | None = None
    others: tuple[str, ...] = ()
    gone: bool = False


class SourceState(Struct, frozen=True):
    """A source as it was last read well, when that was, and since when it fails.

    problems are those of the last good reading, by the part of the source they are in; changed names versions whose
    content the source changed, ever.
    """

    title: str
    read: str | None = None
    tried: str | None = None
    failed: str | None = None
    error: str = ""
    hint: str = ""
    revision: str = ""
    marks: dict[str, str] = {}
    versions: tuple[Version, ...] = ()
    problems: dict[str, tuple[str, ...]] = {}
    changed: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """All problems, in order."""
        return tuple(text for texts in self.problems.values() for text in texts)


class ChartBytes(Struct, frozen=True):
    """The digest of a chart's archive as it was first seen, and as it was last seen."""

    first: str
    last: str
