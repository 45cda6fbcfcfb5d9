"""What definitions render, by the digests of its bytes: folders as they are, charts as they were last looked at."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from fleetform.app.reading.source_folders import is_local, local_sources
from fleetform.catalogs.cache import Cache, key_of
from fleetform.catalogs.folders import digest_of_files, is_from_catalog, located, read_folder, reader
from fleetform.catalogs.kustomizations import Gathered, gather
from fleetform.catalogs.records import ChartBytes
from fleetform.model.kinds.definition import HelmSource, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.outside.errors import OutsideError
from fleetform.ports.catalogs import Digests


class Artifacts:
    """Digests of what definitions render: of folders as they are, of charts as they were last looked at."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._charts: dict[str, dict[str, ChartBytes]] = {}

    def digests(self, definition: Object[PluginDefinitionSpec]) -> Digests:
        """What is known; nothing of a chart that nobody looked at, or of a folder that is not there."""
        if is_local(definition):
            return Digests(None, _digest_of_folder(definition))
        helm = _remote_chart(definition)
        if helm is None:
            return Digests()
        seen = self._known(chart_key(definition, helm)).get(chart_name(helm))
        return Digests(seen.first, seen.last) if seen is not None else Digests()

    def look(self, definitions: Iterable[Object[PluginDefinitionSpec]]) -> None:
        """Look at the charts of definitions where they are now."""
        charts = {(chart_key(each, helm), helm) for each in definitions if (helm := _remote_chart(each)) is not None}
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
                self.remember(key, chart_name(helm), now)

    def remember(self, key: str, name: str, now: str) -> None:
        """The digest that a chart's archive has now."""
        with self._cache.locked(key):
            charts = self._charts[key] = self._cache.charts(key)
            charts[name] = ChartBytes(charts[name].first if name in charts else now, now)
            self._cache.keep_charts(key, charts)

    def _known(self, key: str) -> dict[str, ChartBytes]:
        if key not in self._charts:
            self._charts[key] = self._cache.charts(key)
        return self._charts[key]


def _remote_chart(definition: Object[PluginDefinitionSpec]) -> HelmSource | None:
    helm = definition.spec.source.helm if definition.spec.source is not None else None
    if helm is None or helm.version is None or "://" not in helm.repository:
        return None
    # What others publish does not make us look at files of this machine.
    return None if is_from_catalog(definition) and is_of_this_machine(helm.repository) else helm


def is_of_this_machine(address: str) -> bool:
    """Whether an address leads to a file, in whatever way that is written."""
    try:
        return urlsplit(address).scheme == "file"
    except ValueError:
        return False


def chart_key(definition: Object[PluginDefinitionSpec], helm: HelmSource) -> str:
    """A repository's name in the cache: an organization sees what it read itself, and nobody else's."""
    return key_of(definition.ref.organization, helm.repository)


def chart_name(helm: HelmSource) -> str:
    """A chart's name among those of its repository; without a version it is whichever was the newest."""
    return f"{helm.chart}-{helm.version}" if helm.version is not None else f"{helm.chart}@newest"


def _digest_of_folder(definition: Object[PluginDefinitionSpec]) -> str | None:
    try:
        gathered = folder_files(definition)
    except (OSError, OutsideError, ValueError):
        return None
    return digest_of_files(gathered.files) if gathered is not None else None


def folder_files(definition: Object[PluginDefinitionSpec]) -> Gathered | None:
    """The files that a definition with a folder as its source renders; None where it has none that is here."""
    folders = [] if is_from_catalog(definition) else list(local_sources(definition.spec))
    if not folders:
        return None
    folder = located(definition, folders[0])
    if definition.spec.source is not None and definition.spec.source.kustomize is not None:
        return gather(*reader(folder))._replace(folder=str(folder))
    return Gathered(read_folder(folder), folder=str(folder))
