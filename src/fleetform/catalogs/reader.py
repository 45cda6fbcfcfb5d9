"""Catalogs as the application reads them: folders as they are, everything else out of the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Literal

import msgspec

from fleetform.catalogs.artifacts import Artifacts
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.login import SecretOf
from fleetform.catalogs.records import SourceState, Version
from fleetform.catalogs.schedule import next_look
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Origin
from fleetform.outside.errors import OutsideError
from fleetform.ports.catalogs import CatalogEntry, Digests, SourceReading
from fleetform.ports.inputs import Document
from fleetform.syntax.addresses import shown
from fleetform.syntax.times import time_text

# What is fetched before it is read: nothing, every source, or those whose time has come.
Fetching = Literal["none", "all", "due"]


class Catalogs:
    """Reads the sources of catalogs."""

    def __init__(
        self,
        cache: Cache,
        clock: Callable[[], datetime],
        fetching: Fetching = "none",
        only: Collection[str] | None = None,
    ) -> None:
        self._cache, self._clock, self._fetching = cache, clock, fetching
        self._only = only
        self._artifacts = Artifacts(cache)

    def catalog(self, catalog: Object[CatalogSpec], secret_of: SecretOf) -> list[SourceReading]:
        return [self._read(catalog, source, secret_of) for source in catalog.spec.sources]

    @property
    def looks(self) -> bool:
        return self._fetching == "all" and self._only is None

    def look(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        self._artifacts.look(definitions)

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        return self._artifacts.digests(definition)

    def _read(self, catalog: Object[CatalogSpec], source: CatalogSource, secret_of: SecretOf) -> SourceReading:
        folder = os.path.dirname(catalog.origin.file)
        if source.directory is not None:
            return _read_directory(source.directory, folder, source)
        if source.git is None and source.helm is None and source.oci is None:
            # ConfigItem where the catalog stands.
            return SourceReading(_title(source), read="now", ours=True)
        title, key = _title(source), _key(catalog, source, folder)
        state = self._cache.state(key, title)
        named = self._only is None or catalog.ref.name in self._only
        if named and self._is_wanted(key, state, source):
            # Imported where it is needed, as all that only catalogs need: most commands read none.
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
            state.told,
            state.changed,
        )

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)

    def _is_wanted(self, key: str, state: SourceState, source: CatalogSource) -> bool:
        if self._fetching != "due":
            return self._fetching == "all"
        look = next_look(key, state.tried, source.interval)
        return look is None or look <= self._now()

    def _entry(self, name: str, version: Version) -> CatalogEntry:
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
    """What a source is called in places: its catalog, with its organization and number where there are others."""
    name = catalog.ref.name
    if catalog.ref.organization != PLATFORM_NAMESPACE:
        name = f"{catalog.ref.organization}/{name}"
    sources = catalog.spec.sources
    return f"{name}#{sources.index(source) + 1}" if len(sources) > 1 else name


def _origin(file: str, version: Version) -> Origin:
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
        CatalogEntry(Document(each.tree, _origin(each.file, each)), _given(texts[each.text])) for each in state.versions
    ]
    return SourceReading(title, entries, read="now", problems=state.told, changed=state.changed, ours=True)


def _given(text: str) -> Callable[[], str]:
    return lambda: text


def _title(source: CatalogSource) -> str:
    if source.git is not None:
        return f"git {shown(source.git.url)}"
    if source.helm is not None:
        return f"helm {shown(source.helm.repository)}"
    return shown(source.oci.repository) if source.oci is not None else "a source of no kind"


def _key(catalog: Object[CatalogSpec], source: CatalogSource, folder: str) -> str:
    """A source's name in the cache: an organization sees what it read with its own credentials, and nobody else's."""
    from fleetform.outside.mirrors import git_address

    where = msgspec.to_builtins(source)
    for field in ("interval", "rename"):
        where.pop(field, None)
    if source.git is not None:
        where["git"]["url"] = git_address(source.git.url, folder)
    return key_of(catalog.ref.organization, where)
