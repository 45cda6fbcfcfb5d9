"""Catalogs as the application reads them: folders as they are now, everything else from the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Literal

import msgspec

from fleetform.artifacts.digests import ArtifactDigests
from fleetform.artifacts.store import cache_key
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.login import SecretOf
from fleetform.catalogs.records import KnownDefinition, SourceState
from fleetform.catalogs.schedule import next_look
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Origin
from fleetform.outside.errors import OutsideError
from fleetform.ports import CatalogEntry, Digests, Document, SourceReading
from fleetform.syntax.addresses import shown
from fleetform.syntax.times import time_text

# Which sources are fetched before they are read: none, all, or those that are due.
Fetching = Literal["none", "all", "due"]


class Catalogs:
    """Reads the sources of catalogs."""

    def __init__(
        self,
        cache: CatalogCache,
        clock: Callable[[], datetime],
        fetching: Fetching = "none",
        only: Collection[str] | None = None,
    ) -> None:
        self._cache, self._clock, self._fetching = cache, clock, fetching
        self._only = only
        self._digests = ArtifactDigests(cache)

    def catalog(self, catalog: Object[CatalogSpec], secret_of: SecretOf) -> list[SourceReading]:
        return [self._read(catalog, source, secret_of) for source in catalog.spec.sources]

    @property
    def looks(self) -> bool:
        return self._fetching == "all" and self._only is None

    def look(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        self._digests.look_up(definitions)

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        return self._digests.digests(definition)

    def _read(self, catalog: Object[CatalogSpec], source: CatalogSource, secret_of: SecretOf) -> SourceReading:
        folder = os.path.dirname(catalog.origin.file)
        if source.directory is not None:
            return _read_directory(source.directory, folder, source)
        if source.git is None and source.helm is None and source.oci is None:
            # Reported as a finding of the catalog.
            return SourceReading("a source of no kind", read="now", ours=True)
        title, key = _title(source), _key(catalog, source, folder)
        state = self._cache.state(key, title)
        named = self._only is None or catalog.ref.name in self._only
        if named and self._is_wanted(key, state, source):
            # Imported here: most commands fetch nothing, and start-up time counts.
            from fleetform.catalogs.fetch import fetch

            fetch(self._cache, key, title, source, folder, secret_of, time_text(self._now()))
            state = self._cache.state(key, title)
        look = next_look(key, state.tried, source.interval)
        return SourceReading(
            title,
            [self._entry(_name(catalog, source), version) for version in state.versions],
            state.revision,
            state.read,
            state.failed,
            state.error,
            state.hint,
            time_text(look) if look is not None else None,
            state.all_problems,
            state.changed,
        )

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)

    def _is_wanted(self, key: str, state: SourceState, source: CatalogSource) -> bool:
        if self._fetching != "due":
            return self._fetching == "all"
        look = next_look(key, state.tried, source.interval)
        return look is None or look <= self._now()

    def _entry(self, name: str, version: KnownDefinition) -> CatalogEntry:
        file = f"catalog:{name}/{version.file}@{version.revision}"
        return CatalogEntry(
            Document(version.tree, _origin(file, version)),
            lambda: self._cache.text(version.text),
            version.digest,
            version.found,
            version.published,
            version.gone,
        )


def _name(catalog: Object[CatalogSpec], source: CatalogSource) -> str:
    """A source's name in the places of messages: its catalog, with organization and number if there are others."""
    name = catalog.ref.name
    if catalog.ref.organization != PLATFORM_NAMESPACE:
        name = f"{catalog.ref.organization}/{name}"
    sources = catalog.spec.sources
    return f"{name}#{sources.index(source) + 1}" if len(sources) > 1 else name


def _origin(file: str, version: KnownDefinition) -> Origin:
    return Origin(file, version.first_line, version.last_line, version.base)


def _read_directory(directory: str, folder: str, source: CatalogSource) -> SourceReading:
    from fleetform.catalogs.directory import read_directory
    from fleetform.catalogs.merge import merge

    title = f"the folder {directory}"
    try:
        listing = read_directory(directory, folder, source.include)
    except OutsideError as error:
        return SourceReading(title, error=error.message, hint=error.hint, ours=True)
    state, texts = merge(SourceState(title), listing, "")
    entries = [
        CatalogEntry(Document(each.tree, _origin(each.file, each)), partial(texts.__getitem__, each.text))
        for each in state.versions
    ]
    return SourceReading(title, entries, read="now", problems=state.all_problems, changed=state.changed, ours=True)


def _title(source: CatalogSource) -> str:
    if source.git is not None:
        return f"git {shown(source.git.url)}"
    if source.helm is not None:
        return f"helm {shown(source.helm.repository)}"
    return shown(source.oci.repository) if source.oci is not None else "a source of no kind"


def _key(catalog: Object[CatalogSpec], source: CatalogSource, folder: str) -> str:
    """A source's key in the cache: an organization sees what it read with its own credentials, and nobody else's."""
    from fleetform.outside.mirrors import git_address

    where = msgspec.to_builtins(source)
    for field in ("interval", "rename"):
        where.pop(field, None)
    if source.git is not None:
        where["git"]["url"] = git_address(source.git.url, folder)
    return cache_key(catalog.ref.organization, where)
