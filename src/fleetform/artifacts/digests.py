"""Digests of what definitions render: of folders as they are now, of charts as they were last looked up."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from fleetform.app.reading.source_folders import is_local, local_sources
from fleetform.artifacts.folder_contents import digest_of_files, folder_reader, is_from_catalog, located, read_folder
from fleetform.artifacts.kustomizations import SourceFiles, collect
from fleetform.artifacts.store import ArtifactStore, ChartDigests, cache_key
from fleetform.model.kinds.definition import HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.errors import OutsideError
from fleetform.ports.catalogs import Digests


class ArtifactDigests:
    """The digests that are known without a network, and the lookup of others."""

    def __init__(self, store: ArtifactStore, boundary: Boundary = EVERYWHERE) -> None:
        self._store, self._boundary = store, boundary
        self._charts: dict[str, dict[str, ChartDigests]] = {}

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        """The known digests; none for a chart that was never looked up, or a folder that does not exist."""
        if is_local(definition):
            try:
                found = folder_files(definition, self._boundary)
            except (OSError, OutsideError, ValueError):
                return Digests()
            return Digests(None, digest_of_files(found.files)) if found is not None else Digests()
        helm = _remote_chart(definition)
        if helm is None:
            return Digests()
        key = chart_key(definition, helm)
        if key not in self._charts:
            self._charts[key] = self._store.charts(key)
        seen = self._charts[key].get(chart_name(helm))
        return Digests(seen.first, seen.last) if seen is not None else Digests()

    def look_up(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        """Ask the repositories of charts for the digests that they have now."""
        charts = {(chart_key(each, helm), helm) for each in definitions if (helm := _remote_chart(each)) is not None}
        if not charts:
            return
        # Imported here: reading what is on this machine needs no network, and start-up time counts.
        from fleetform.artifacts.chart_repositories import ChartLookup
        from fleetform.outside.http import Web

        with Web() as web:
            lookup = ChartLookup(web)
            for key, helm in sorted(charts, key=lambda each: (each[0], each[1].chart, each[1].version or "")):
                try:
                    now = lookup.digest(helm.repository, helm.chart, helm.version or "")
                except OutsideError:
                    # Unknown is not the same as changed.
                    continue
                self.remember(key, chart_name(helm), now)

    def remember(self, key: str, name: str, now: str) -> None:
        """The digest that a chart's archive has now; the first one that was seen is kept beside it."""
        with self._store.locked(key):
            charts = self._charts[key] = self._store.charts(key)
            charts[name] = ChartDigests(charts[name].first if name in charts else now, now)
            self._store.keep_charts(key, charts)


def _remote_chart(definition: Object[PluginDefinitionSpec]) -> HelmSource | None:
    helm = definition.spec.source.helm if definition.spec.source is not None else None
    if helm is None or helm.version is None or "://" not in helm.repository:
        return None
    # A definition that others publish must not make us read files of this machine.
    return None if is_from_catalog(definition) and is_of_this_machine(helm.repository) else helm


def is_of_this_machine(address: str) -> bool:
    """Whether an address leads to a file, however it is spelt."""
    try:
        return urlsplit(address).scheme == "file"
    except ValueError:
        return False


def chart_key(definition: Object[PluginDefinitionSpec], helm: HelmSource) -> str:
    """A repository's key in the store: an organization sees what it fetched itself, and nobody else's."""
    return cache_key(definition.ref.organization, helm.repository)


def chart_name(helm: HelmSource) -> str:
    """A chart's name among those of its repository; without a version it is whichever was the newest."""
    return f"{helm.chart}-{helm.version}" if helm.version is not None else f"{helm.chart}@newest"


def folder_files(definition: Object[PluginDefinitionSpec], boundary: Boundary = EVERYWHERE) -> SourceFiles | None:
    """The files that a definition renders from a folder; None if it has no folder on this machine."""
    folders = [] if is_from_catalog(definition) else list(local_sources(definition.spec))
    if not folders:
        return None
    folder = located(definition, folders[0])
    if definition.spec.source is not None and definition.spec.source.kustomize is not None:
        return collect(*folder_reader(folder, boundary))._replace(folder=str(folder))
    return SourceFiles(read_folder(folder, boundary), folder=str(folder))
