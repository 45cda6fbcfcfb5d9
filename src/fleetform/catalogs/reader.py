"""Catalogs as the application reads them: folders as they are now, everything else from the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Literal

from fleetform.artifacts.digests import ArtifactDigests
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.identity import source_key, source_name, source_title
from fleetform.catalogs.login import SecretOf
from fleetform.catalogs.records import KnownDefinition, SourceState
from fleetform.catalogs.schedule import next_look
from fleetform.model.kinds.definition import CatalogSource, CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object, Origin
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.errors import OutsideError
from fleetform.ports.catalogs import CatalogEntry, Digests, SourceReading
from fleetform.ports.inputs import Document
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
        boundary: Boundary = EVERYWHERE,
    ) -> None:
        self._cache, self._clock, self._fetching = cache, clock, fetching
        self._only, self._boundary = only, boundary
        self._digests = ArtifactDigests(cache, boundary)

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
            return _read_directory(source.directory, folder, source, self._boundary)
        if source.git is None and source.helm is None and source.oci is None:
            # Reported as a finding of the catalog.
            return SourceReading(source_title(source), read="now", ours=True)
        title, key = source_title(source), source_key(catalog, source, folder)
        state = self._cache.state(key, title)
        due = next_look(key, state.tried, source.interval)
        is_due = self._fetching == "all" or (self._fetching == "due" and (due is None or due <= self._now()))
        if is_due and (self._only is None or catalog.ref.name in self._only):
            # Imported here: most commands fetch nothing, and start-up time counts.
            from fleetform.catalogs.fetch import fetch

            fetch(self._cache, key, title, source, folder, secret_of, time_text(self._now()))
            state = self._cache.state(key, title)
            due = next_look(key, state.tried, source.interval)
        name = source_name(catalog, source)
        entries = [
            CatalogEntry(
                Document(each.tree, _origin(f"catalog:{name}/{each.file}@{each.revision}", each)),
                partial(self._cache.text, each.text),
                each.digest,
                each.found,
                each.published,
                each.gone,
            )
            for each in state.versions
        ]
        return SourceReading(
            title,
            entries,
            state.revision,
            state.read,
            state.failed,
            state.error,
            state.hint,
            time_text(due) if due is not None else None,
            state.all_problems,
            state.changed,
        )

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)


def _origin(file: str, version: KnownDefinition) -> Origin:
    return Origin(file, version.first_line, version.last_line, version.base)


def _read_directory(directory: str, folder: str, source: CatalogSource, boundary: Boundary) -> SourceReading:
    from fleetform.catalogs.directory import read_directory
    from fleetform.catalogs.merge import merge

    title = source_title(source)
    try:
        listing = read_directory(directory, folder, source.include, boundary)
    except OutsideError as error:
        return SourceReading(title, error=error.message, hint=error.hint, ours=True)
    state, texts = merge(SourceState(title), listing, "")
    entries = [
        CatalogEntry(Document(each.tree, _origin(each.file, each)), partial(texts.__getitem__, each.text))
        for each in state.versions
    ]
    return SourceReading(title, entries, read="now", problems=state.all_problems, changed=state.changed, ours=True)
