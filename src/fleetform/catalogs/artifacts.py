"""What definitions render, by the digests of its bytes: folders as they are, charts as they were last looked at."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetform.app.folders import joined, local_sources
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.records import ChartBytes
from fleetform.load.sources import git_folder
from fleetform.model.kinds.definition import HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import files_at
from fleetform.ports import Digests

if TYPE_CHECKING:
    from fleetform.catalogs.helm import ChartLookup


class Artifacts:
    """Digests of what definitions render. Charts from elsewhere are looked at once, and only when fetching."""

    def __init__(self, cache: Cache, fetching: bool) -> None:
        self._cache, self._fetching = cache, fetching
        self._charts: dict[str, dict[str, ChartBytes]] = {}
        self._lookup: ChartLookup | None = None

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        """What is known; nothing of a chart that nobody looked at, or of a folder that is not there."""
        folders = [joined(definition, path) for path in local_sources(definition.spec)]
        if folders:
            return Digests(None, _digest_of(folders))
        helm = definition.spec.source.helm if definition.spec.source is not None else None
        if helm is None or helm.version is None:
            return Digests()
        seen = self._seen(definition.ref.organization, helm)
        return Digests(seen.first, seen.last) if seen is not None else Digests()

    def _seen(self, organization: str, helm: HelmSource) -> ChartBytes | None:
        key = key_of(organization, helm.repository)
        if key not in self._charts:
            self._charts[key] = self._cache.charts(key)
        charts, name = self._charts[key], f"{helm.chart}-{helm.version}"
        if self._fetching:
            self._look(key, charts, name, helm)
        return charts.get(name)

    def _look(self, key: str, charts: dict[str, ChartBytes], name: str, helm: HelmSource) -> None:
        # Imported where it is needed: reading what is on this machine needs no network.
        from fleetform.catalogs.helm import ChartLookup
        from fleetform.outside.http import Web

        assert helm.version is not None
        if self._lookup is None:
            self._lookup = ChartLookup(Web())
        try:
            now = self._lookup.digest(helm.repository, helm.chart, helm.version)
        except OutsideError:
            # What it is now is not known, which is not that it changed.
            return
        first = charts[name].first if name in charts else now
        charts[name] = ChartBytes(first, now)
        with self._cache.locked(key):
            self._cache.keep_charts(key, charts)


def _digest_of(folders: list[str]) -> str | None:
    """One digest over the names and bytes of all files below some folders; hidden files are the editor's, or git's."""
    whole = hashlib.sha256()
    found = False
    for folder in folders:
        for name, content in sorted(_files(folder)):
            if not any(step.startswith(".") for step in name.split("/")):
                found = True
                whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}" if found else None


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The files below a folder, or below one of a git revision, which the same files have the same digest in."""
    try:
        revision = git_folder(folder)
        if revision is not None:
            yield from files_at(*revision, ("",))
            return
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                if not os.path.islink(path):
                    with open(path, "rb") as file:
                        yield os.path.relpath(path, folder).replace(os.sep, "/"), file.read()
    except (OSError, OutsideError):
        return
