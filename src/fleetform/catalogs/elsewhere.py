"""Catalogs as the application reads them: folders as they are, everything else out of the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Literal

import msgspec

from fleetform.catalogs.artifacts import Artifacts
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.login import SecretOf
from fleetform.catalogs.records import SourceState, Version
from fleetform.catalogs.schedule import next_look
from fleetform.engine.times import time_text
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Origin
from fleetform.outside.errors import OutsideError
from fleetform.ports import CatalogEntry, Digests, Document, SourceReading

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
        self._artifacts = Artifacts(cache, fetching != "none")

    def catalog(self, catalog: Object[CatalogSpec], secret_of: SecretOf) -> list[SourceReading]:
        return [self._read(catalog, source, secret_of) for source in catalog.spec.sources]

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        return self._artifacts.digests(definition)

    def _read(self, catalog: Object[CatalogSpec], source: CatalogSource, secret_of: SecretOf) -> SourceReading:
        folder = os.path.dirname(catalog.origin.file)
        if source.directory is not None:
            return _read_directory(source.directory, folder, source)
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
            [self._entry(catalog, version) for version in state.versions],
            state.revision,
            state.read,
            state.failed,
            state.error,
            state.hint,
            time_text(look) if look is not None else None,
            state.problems,
            state.changed,
        )

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)

    def _is_wanted(self, key: str, state: SourceState, source: CatalogSource) -> bool:
        if self._fetching != "due":
            return self._fetching == "all"
        look = next_look(key, state.tried, source.interval)
        return look is None or look <= self._now()

    def _entry(self, catalog: Object[CatalogSpec], version: Version) -> CatalogEntry:
        file = f"catalog:{catalog.ref.name}/{version.file}@{version.revision}"
        return CatalogEntry(
            Document(version.tree, _origin(file, version)),
            lambda: self._cache.text(version.text),
            version.digest,
            version.found,
            version.published,
            version.gone,
        )


def _origin(file: str, version: Version) -> Origin:
    return Origin(file, version.first_line, version.last_line, version.base)


def _read_directory(directory: str, folder: str, source: CatalogSource) -> SourceReading:
    from fleetform.catalogs.directory import read_directory
    from fleetform.catalogs.merge import merge

    title = f"the folder {directory}"
    try:
        holdings = read_directory(directory, folder, source.include)
    except OutsideError as error:
        return SourceReading(title, error=error.message, hint=error.hint, ours=True)
    state, texts = merge(SourceState(title), holdings, "")
    entries = [
        CatalogEntry(Document(each.tree, _origin(each.file, each)), _given(texts[each.text])) for each in state.versions
    ]
    return SourceReading(title, entries, read="now", problems=state.problems, changed=state.changed, ours=True)


def _given(text: str) -> Callable[[], str]:
    return lambda: text


def _title(source: CatalogSource) -> str:
    from fleetform.outside.http import shown

    if source.git is not None:
        return f"git {shown(source.git.url) if '://' in source.git.url else source.git.url}"
    if source.helm is not None:
        return f"helm {shown(source.helm.repository)}"
    assert source.oci is not None
    return shown(source.oci.repository)


def _key(catalog: Object[CatalogSpec], source: CatalogSource, folder: str) -> str:
    """A source's name in the cache: an organization sees what it read with its own credentials, and nobody else's."""
    from fleetform.catalogs.fetch import git_address

    where = msgspec.to_builtins(source)
    for field in ("interval", "rename"):
        where.pop(field, None)
    if source.git is not None:
        where["git"]["url"] = git_address(source.git.url, folder)
    return key_of(catalog.ref.organization, where)
