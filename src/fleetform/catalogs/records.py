"""What is kept of a catalog's source between readings."""

from __future__ import annotations

from msgspec import Struct

from fleetform.syntax.trees import YamlMap


class KnownDefinition(Struct, frozen=True):
    """One version of a definition as it was first seen: its manifest, and the lines of it in its file.

    digest is of the bytes that it rendered when it was first seen, found of those it would render now. content is a
    hash of the manifest, others are hashes of what it later became under the same version; text is the digest of the
    file. marks are the parts of the source that have it.
    """

    name: str
    version: str
    file: str
    revision: str
    marks: tuple[str, ...]
    content: str
    text: str
    tree: YamlMap
    first_line: int
    last_line: int
    base: tuple[str | int, ...] = ()
    published: str | None = None
    digest: str | None = None
    found: str | None = None
    others: tuple[str, ...] = ()
    gone: bool = False


class SourceState(Struct, frozen=True):
    """A source as it was last read without failure, when that was, and since when reading fails.

    problems are those of the last good reading, by the part of the source they are in; changed are messages about
    versions whose content the source ever changed.
    """

    title: str
    read: str | None = None
    tried: str | None = None
    failed: str | None = None
    error: str = ""
    hint: str = ""
    revision: str = ""
    marks: dict[str, str] = {}
    versions: tuple[KnownDefinition, ...] = ()
    problems: dict[str, tuple[str, ...]] = {}
    changed: tuple[str, ...] = ()

    @property
    def all_problems(self) -> tuple[str, ...]:
        return tuple(text for texts in self.problems.values() for text in texts)
