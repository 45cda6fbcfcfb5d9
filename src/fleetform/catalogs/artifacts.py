"""What definitions render, by the digests of its bytes: folders as they are, charts as they were last looked at."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator

from fleetform.app.folders import joined, local_sources
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.records import ChartBytes
from fleetform.load.sources import git_folder
from fleetform.model.kinds.definition import HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import files_at, ignored_below
from fleetform.ports import Digests


class Artifacts:
    """Digests of what definitions render: of folders as they are, of charts as they were last looked at."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._charts: dict[str, dict[str, ChartBytes]] = {}

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        """What is known; nothing of a chart that nobody looked at, or of a folder that is not there."""
        folders = [joined(definition, path) for path in local_sources(definition.spec)]
        if folders:
            return Digests(None, _digest_of(folders))
        helm = _remote_chart(definition)
        if helm is None:
            return Digests()
        seen = self._known(_key(definition, helm)).get(f"{helm.chart}-{helm.version}")
        return Digests(seen.first, seen.last) if seen is not None else Digests()

    def look(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        """Look at the charts of definitions where they are now."""
        charts = {(_key(each, helm), helm) for each in definitions if (helm := _remote_chart(each)) is not None}
        if not charts:
            return
        # Imported where it is needed: reading what is on this machine needs no network.
        from fleetform.catalogs.helm import ChartLookup
        from fleetform.outside.http import Web

        with Web() as web:
            lookup = ChartLookup(web)
            for key, helm in sorted(charts, key=lambda each: (each[0], each[1].chart, each[1].version or "")):
                try:
                    now = lookup.digest(helm.repository, helm.chart, helm.version or "")
                except OutsideError:
                    # What it is now is not known, which is not that it changed.
                    continue
                self._remember(key, f"{helm.chart}-{helm.version}", now)

    def _known(self, key: str) -> dict[str, ChartBytes]:
        if key not in self._charts:
            self._charts[key] = self._cache.charts(key)
        return self._charts[key]

    def _remember(self, key: str, name: str, now: str) -> None:
        with self._cache.locked(key):
            charts = self._charts[key] = self._cache.charts(key)
            charts[name] = ChartBytes(charts[name].first if name in charts else now, now)
            self._cache.keep_charts(key, charts)


def _remote_chart(definition: Object[PluginDefinitionSpec]) -> HelmSource | None:
    helm = definition.spec.source.helm if definition.spec.source is not None else None
    return helm if helm is not None and helm.version is not None and "://" in helm.repository else None


def _key(definition: Object[PluginDefinitionSpec], helm: HelmSource) -> str:
    return key_of(definition.ref.organization, helm.repository)


def _digest_of(folders: list[str]) -> str | None:
    """One digest over the names and bytes of all files below some folders; None where there is none, or one fails."""
    whole = hashlib.sha256()
    found = False
    for folder in folders:
        try:
            files = sorted(_files(folder))
        except (OSError, OutsideError, ValueError):
            return None
        for name, content in files:
            # Hidden files are the editor's, or git's.
            if not any(step.startswith(".") for step in name.split("/")):
                found = True
                whole.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}" if found else None


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The files below a folder, or below one of a git revision, which the same files have the same digest in."""
    revision = git_folder(folder)
    if revision is not None:
        yield from files_at(*revision, ("",))
        return
    ignored = ignored_below(folder)
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            inside = os.path.relpath(path, folder).replace(os.sep, "/")
            # What git ignores was made here, and is in no revision.
            if os.path.isfile(path) and not os.path.islink(path) and inside not in ignored:
                with open(path, "rb") as file:
                    yield inside, file.read()
