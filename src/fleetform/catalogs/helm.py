"""Definitions from a Helm repository: one of every version of every chart in its index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec
import semver

from fleetform.catalogs.charts import ChartError, definition_of_chart, read_chart
from fleetform.catalogs.globs import matches_any
from fleetform.catalogs.listing import ListedDefinition, SourceListing, moment, why
from fleetform.catalogs.oci import chart_layer, newest_tag, tag_of
from fleetform.model.kinds.base import Name
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import UnreachableError, Web, bad_address, same_origin
from fleetform.outside.oci import Registry, digest_of
from fleetform.syntax.addresses import shown
from fleetform.syntax.versions import VersionError, parse_version, same_version
from fleetform.syntax.yaml_in import YamlError, read_one
from fleetform.syntax.yaml_out import write_yaml

WORKERS = 8


@dataclass(frozen=True, slots=True)
class _Release:
    """A chart's version in the index."""

    chart: str
    version: str
    order: semver.Version
    entry: dict[str, Any]

    @property
    def mark(self) -> str:
        return f"{self.chart}-{self.version}"

    @property
    def digest(self) -> str | None:
        said = self.entry.get("digest")
        return "sha256:" + said.removeprefix("sha256:").lower() if isinstance(said, str) and said else None


class _Read(NamedTuple):
    """What became of a release; without a holding it is asked for again next time."""

    holding: ListedDefinition | None
    problems: list[str]


def read_helm(repository: str, include: Sequence[str] | None, known: Mapping[str, str], web: Web) -> SourceListing:
    """Definitions of the charts whose names include matches, chart by chart, versions oldest first.

    known is the marks of an earlier reading, digests of archives by chart-version: what it knows and the index does
    not change is neither fetched nor told again, and stays. OutsideError where the index itself cannot be had.
    """
    content = web.get(_below(repository, "index.yaml")).content
    problems: list[str] = []
    releases = sorted(_releases(_entries(repository, content), include, problems), key=_age)
    fresh = [each for each in releases if not _is_known(each, known)]
    with ThreadPoolExecutor(WORKERS) as pool:
        read = list(pool.map(partial(_read_release, repository, web), fresh))
    problems += [problem for each in read if each.holding is None for problem in each.problems]
    notes = {each.holding.mark: each.problems for each in read if each.holding is not None and each.problems}
    found = [each.holding for each in read if each.holding is not None]
    # What is known and cannot be read now is still there; its old digest has it asked for again.
    marks = {each.mark: known[each.mark] for each in releases if each.mark in known}
    marks |= {holding.mark: holding.digest for holding in found if holding.digest}
    return SourceListing(digest_of(content), found, problems, notes, marks)


class FoundChart(NamedTuple):
    """A chart's archive: its digest, if the repository says it, and how to read it."""

    digest: str | None
    read: Callable[[], bytes]


class ChartLookup:
    """Finds charts where repositories have them now; an index is read once, and one that fails is not asked again."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._indexes: dict[str, dict[str, Any]] = {}
        self._failed: dict[str, OutsideError] = {}
        self._reading = Lock()

    def digest(self, repository: str, chart: str, version: str) -> str:
        """The digest of a chart's archive, be it in a Helm repository or at oci://host/path."""
        found = self.find(repository, chart, version)
        return found.digest or digest_of(found.read())

    def find(self, repository: str, chart: str, version: str | None) -> FoundChart:
        """A version of a chart, or the newest stable one."""
        if repository in self._failed:
            raise self._failed[repository]
        with self._told(repository, chart, version):
            if repository.startswith("oci://"):
                return self._in_registry(repository, chart, version)
            release = _find(self._index(repository), chart, version)
            read = partial(self._read, repository, chart, version, release)
            return FoundChart(release.digest, read)

    def _in_registry(self, repository: str, chart: str, version: str | None) -> FoundChart:
        registry = Registry(f"{repository.rstrip('/')}/{chart}", self._web)
        tag = tag_of(version) if version is not None else newest_tag(registry.tags())
        layer = chart_layer(registry.manifest(tag)[1])
        return FoundChart(layer, partial(registry.blob, layer))

    def _read(self, repository: str, chart: str, version: str | None, release: _Release) -> bytes:
        with self._told(repository, chart, version):
            archive = _download(repository, self._web, release)
            _check_digest(release, digest_of(archive))
            return archive

    @contextmanager
    def _told(self, repository: str, chart: str, version: str | None) -> Iterator[None]:
        """What goes wrong is said with the chart it is about; a server that is gone is remembered."""
        try:
            yield
        except (ChartError, VersionError) as error:
            what = f"{chart} {version}" if version is not None else chart
            message = f"{what} of {shown(repository)}: {error}"
            raise OutsideError(message, "check the chart's name and version") from error
        except UnreachableError as error:
            self._failed[repository] = error
            raise

    def _index(self, repository: str) -> dict[str, Any]:
        with self._reading:
            if repository in self._failed:
                raise self._failed[repository]
            if repository not in self._indexes:
                try:
                    content = self._web.get(_below(repository, "index.yaml")).content
                    self._indexes[repository] = _entries(repository, content)
                except OutsideError as error:
                    self._failed[repository] = error
                    raise
            return self._indexes[repository]


def _find(entries: dict[str, Any], chart: str, version: str | None) -> _Release:
    listed = list(_releases({chart: entries.get(chart)}, None, []))
    if version is None:
        stable = [each for each in listed if not each.order.prerelease]
        if not stable:
            raise ChartError("the index lists no stable version of it")
        return max(stable, key=_age)
    found = [each for each in listed if same_version(each.version, version)]
    if not found:
        raise ChartError("the index does not list it")
    # Builds of one version are equal in order, and are told apart by their text.
    return next((each for each in found if each.version == version), found[0])


def _entries(repository: str, content: bytes) -> dict[str, Any]:
    """The versions of every chart, as the index lists them."""
    try:
        index = read_one(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, YamlError) as error:
        reason = f"line {error.line}: {error.message}" if isinstance(error, YamlError) else "it is not UTF-8"
        raise _no_index(repository, reason) from error
    # An empty repository has `entries: {}`, or nothing after the colon.
    entries = index.get("entries", False) if isinstance(index, dict) else False
    if entries is not None and not isinstance(entries, dict):
        raise _no_index(repository, "it lists no entries")
    return entries or {}


def _no_index(repository: str, reason: str) -> OutsideError:
    where = shown(_below(repository, "index.yaml"))
    return OutsideError(f"{where} is not the index of a Helm repository: {reason}", "check the address")


def _releases(entries: dict[str, Any], include: Sequence[str] | None, problems: list[str]) -> Iterator[_Release]:
    for chart, listed in entries.items():
        if include is not None and not matches_any(chart, include):
            continue
        if not _is_name(chart):
            problems.append(f"{chart}: it cannot be the name of a definition")
            continue
        # Of two of one version the first counts, as it does for Helm.
        seen: set[str] = set()
        for entry in listed if isinstance(listed, list) else []:
            release = _release(chart, entry, problems)
            if release is not None and release.version not in seen:
                seen.add(release.version)
                yield release


def _release(chart: str, entry: Any, problems: list[str]) -> _Release | None:
    version = entry.get("version") if isinstance(entry, dict) else None
    if not isinstance(version, str):
        problems.append(f"{chart}: the index lists one without a version")
        return None
    try:
        return _Release(chart, version, parse_version(version), entry)
    except VersionError as error:
        problems.append(f"{chart} {version}: {error}")
        return None


def _age(release: _Release) -> tuple[str, semver.Version, str]:
    return release.chart, release.order, release.version


def _is_name(text: str) -> bool:
    try:
        msgspec.convert(text, Name)
    except msgspec.ValidationError:
        return False
    return True


def _is_known(release: _Release, known: Mapping[str, str]) -> bool:
    """An index that gives no digest says nothing of changes: published versions do not change."""
    return release.mark in known and release.digest in (None, known[release.mark])


def _read_release(repository: str, web: Web, release: _Release) -> _Read:
    try:
        archive = _download(repository, web, release)
        digest = digest_of(archive)
        _check_digest(release, digest)
        chart = read_chart(archive)
        if (chart.name, chart.version) != (release.chart, release.version):
            raise ChartError(f"the archive is of {chart.name} {chart.version}")
        manifest, notes = definition_of_chart(chart, shown(repository))
    except (OutsideError, ChartError) as error:
        return _Read(None, [_about(release, why(error))])
    published = moment(release.entry.get("created"))
    holding = ListedDefinition(release.mark, release.version, write_yaml(manifest), published, digest, release.mark)
    return _Read(holding, [_about(release, note) for note in notes])


def _check_digest(release: _Release, digest: str) -> None:
    if release.digest not in (None, digest):
        raise ChartError(f"the archive is {digest}, and the index says {release.digest}")


def _about(release: _Release, problem: str) -> str:
    return f"{release.chart} {release.version}: {problem}"


def _download(repository: str, web: Web, release: _Release) -> bytes:
    url = _address(repository, release)
    if url.startswith("oci://"):
        return _from_registry(url, web)
    if urlsplit(url).scheme == "file" and urlsplit(repository).scheme != "file":
        raise ChartError("the index names a file of this machine")
    # An index may point to any server; the credentials are the repository's.
    return web.get(url, anonymous=not same_origin(url, repository)).content


def _address(repository: str, release: _Release) -> str:
    urls = release.entry.get("urls")
    url = urls[0] if isinstance(urls, list) and urls else None
    if not isinstance(url, str) or not url:
        raise ChartError("the index gives no address")
    base = urlsplit(_below(repository, ""))
    try:
        target = urlsplit(urljoin(base.geturl(), url))
        if (target.netloc, target.query) == (base.netloc, ""):
            # What an address is asked with goes for all below it, as it does for Helm.
            target = target._replace(query=base.query)
        same_origin(target.geturl(), repository)
    except ValueError as error:
        raise ChartError("the index gives an address that cannot be read") from error
    return target.geturl()


def _below(repository: str, path: str) -> str:
    try:
        parts = urlsplit(repository)
    except ValueError:
        # Its message may quote the password.
        raise bad_address(repository) from None
    return parts._replace(path=f"{parts.path.rstrip('/')}/{path}", fragment="").geturl()


def _from_registry(url: str, web: Web) -> bytes:
    """A chart that the index only points to: oci://host/path/name:tag."""
    repository, _, tag = url.rpartition(":")
    registry = Registry(repository, web)
    _, manifest = registry.manifest(tag_of(tag))
    return registry.blob(chart_layer(manifest))
