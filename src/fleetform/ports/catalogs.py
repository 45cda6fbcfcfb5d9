"""Catalogs: which definitions there are, and the digests of what they render."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fleetform.model.kinds.definition import CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.ports.inputs import Document


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A definition that a catalog's source holds, or held once (retired).

    recorded is the digest of what it renders as it first came, found the one it has now.
    """

    document: Document
    text: Callable[[], str]
    recorded: str | None = None
    found: str | None = None
    published: str | None = None
    retired: bool = False


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What is known of one source of a catalog: what it holds, as of when, and what went wrong since when.

    changed names versions whose content the source changed; the first content is kept. ours says that the source is
    part of the fleet's own files: what is wrong there is for its people to mend.
    """

    title: str
    entries: Sequence[CatalogEntry] = ()
    revision: str = ""
    read: str | None = None
    failed: str | None = None
    error: str = ""
    hint: str = ""
    next_look: str | None = None
    problems: Sequence[str] = ()
    changed: Sequence[str] = ()
    ours: bool = False


class Digests(NamedTuple):
    """The digest of what a definition renders: as it was first seen, and as it is now."""

    recorded: str | None = None
    found: str | None = None


class CatalogReader(Protocol):
    """What lies outside the input: catalogs, and the bytes that definitions render."""

    def catalog(
        self, catalog: Object[CatalogSpec], secret_of: Callable[[str], dict[str, str] | None]
    ) -> list[SourceReading]:
        """What is known of each source of a catalog."""

    @property
    def looks(self) -> bool:
        """Whether what definitions render is to be looked at where it is now."""

    def look(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        """Look at what definitions render; digests then tells."""

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        """The digests of what a definition renders, as far as anybody looked."""
