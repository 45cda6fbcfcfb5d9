"""What the application needs of the world, as shapes; adapters fill them, tests fake them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from fleetform.engine.report.progress import Reached
from fleetform.model.kinds.definition import CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import At, Object, Origin
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput


@dataclass(frozen=True, slots=True)
class Document:
    """One document of the input: a tree and where it was read."""

    tree: Any
    origin: Origin


class Locator(Protocol):
    """Finds lines and columns, and shows the lines around them."""

    def place(self, at: At | Place) -> Place: ...

    def lines(self, file: str, first: int, last: int) -> Sequence[str]: ...

    def add(self, file: str, text: str | Callable[[], str]) -> None:
        """Make a file known by its text, or by where to get it once it is asked for."""


@dataclass(frozen=True, slots=True)
class Input:
    """Everything that was read, what could not be, and how to find a place in it again."""

    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]
    locator: Locator
    files: int = 0
    name: str = "."


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


class Files(Protocol):
    """People's files, as they are now."""

    def read(self, name: str) -> str:
        """A file's text, with its line ends as they are; OSError where it is none that can be edited."""


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


class Renders(Protocol):
    """Makes objects out of charts, kustomizations and manifests."""

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order; inputs that are the same are rendered once."""


class KnownVersion(NamedTuple):
    """What an earlier pass stamped on a version: when it came, when it goes, the digest of what it renders."""

    announced: datetime | None = None
    ends: datetime | None = None
    digest: str | None = None


class Rejection(NamedTuple):
    """A version that failed for an owner (kind, organization, name), as long as its content is this one."""

    owner: tuple[str, str, str]
    version: str
    content: str | None = None


@dataclass(frozen=True, slots=True)
class KnownState:
    """What a state export brings: stamps by (kind, organization, name), what runs, by plugin, and more on versions.

    versions go by organization, definition and version; healthy is the last version that was healthy, by plugin;
    placements are the clusters that a placement had chosen, by organization and name; observed is what was read on its
    cluster for a plugin, by the binding's name; reached are the hashes that a plugin had.
    """

    stamps: dict[tuple[str, str, str], str] = field(default_factory=dict)
    admitted: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    versions: dict[tuple[str, str, str], KnownVersion] = field(default_factory=dict)
    rejected: Sequence[Rejection] = ()
    healthy: dict[tuple[str, str, str], str] = field(default_factory=dict)
    placements: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    observed: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    reached: dict[tuple[str, str, str], Reached] = field(default_factory=dict)
