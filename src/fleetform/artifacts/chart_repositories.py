"""Where charts are published: the index of a Helm repository, and repositories of an OCI registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec
import semver

from fleetform.artifacts.charts import ChartError
from fleetform.model.kinds.base import Name
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import UnreachableError, Web, bad_address, same_origin
from fleetform.outside.oci import Registry, digest_of
from fleetform.syntax.addresses import shown
from fleetform.syntax.globs import matches_any
from fleetform.syntax.trees import YamlMap, as_list, as_map
from fleetform.syntax.versions import VersionError, parse_version, same_version
from fleetform.syntax.yaml_in import YamlError, read_foreign

CHART_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


# ---- Helm repositories


@dataclass(frozen=True, slots=True)
class ChartRelease:
    """A version of a chart in the index of a repository; entry is what the index lists for it."""

    chart: str
    version: str
    order: semver.Version
    entry: YamlMap

    @property
    def mark(self) -> str:
        return f"{self.chart}-{self.version}"

    @property
    def digest(self) -> str | None:
        """The digest that the index gives, if it gives one."""
        listed = self.entry.get("digest")
        return "sha256:" + listed.removeprefix("sha256:").lower() if isinstance(listed, str) and listed else None

    @property
    def age(self) -> tuple[str, semver.Version, str]:
        """Sorts by chart, and then the oldest version first."""
        return self.chart, self.order, self.version


class ChartIndex(NamedTuple):
    """The index of a repository: versions by chart as it lists them, and the digest of its bytes."""

    charts: YamlMap
    digest: str

    def releases(self, include: Sequence[str] | None, problems: list[str]) -> Iterator[ChartRelease]:
        """The versions of the charts whose names match; what is wrong in the index goes to problems."""
        for chart, listed in self.charts.items():
            if include is not None and not matches_any(chart, include):
                continue
            try:
                msgspec.convert(chart, Name)
            except msgspec.ValidationError:
                problems.append(f"{chart}: it cannot be the name of a definition")
                continue
            # If a version is listed twice, the first counts, as it does for Helm.
            seen: set[str] = set()
            for entry in as_list(listed):
                release = _release(chart, as_map(entry), problems)
                if release is not None and release.version not in seen:
                    seen.add(release.version)
                    yield release


def read_index(repository: str, web: Web) -> ChartIndex:
    """The index of a Helm repository; OutsideError if it cannot be fetched or read."""
    address = _below(repository, "index.yaml")
    content = web.get(address).content
    failing = f"{shown(address)} is not the index of a Helm repository"
    try:
        index = read_foreign(content.decode("utf-8-sig")).tree
    except (UnicodeDecodeError, YamlError) as error:
        reason = f"line {error.line}: {error.message}" if isinstance(error, YamlError) else "it is not UTF-8"
        raise OutsideError(f"{failing}: {reason}", "check the address") from error
    # An empty repository has `entries: {}`, or nothing after the colon.
    charts = index.get("entries", False) if isinstance(index, dict) else False
    if charts is not None and not isinstance(charts, dict):
        raise OutsideError(f"{failing}: it lists no entries", "check the address")
    return ChartIndex(charts or {}, digest_of(content))


def download(repository: str, web: Web, release: ChartRelease) -> bytes:
    """The archive of a release, which has the digest that the index gives."""
    url = _address(repository, release)
    if url.startswith("oci://"):
        # The index only points to it: oci://host/path/name:tag.
        name, _, tag = url.rpartition(":")
        registry = Registry(name, web)
        archive = registry.blob(chart_layer(registry.manifest(tag_of(tag))[1]))
    elif urlsplit(url).scheme == "file" and urlsplit(repository).scheme != "file":
        raise ChartError("the index names a file of this machine")
    else:
        # An index may point to any server; the credentials are the repository's.
        archive = web.get(url, anonymous=not same_origin(url, repository)).content
    digest = digest_of(archive)
    if release.digest not in (None, digest):
        raise ChartError(f"the archive is {digest}, and the index lists {release.digest}")
    return archive


def _release(chart: str, entry: YamlMap, problems: list[str]) -> ChartRelease | None:
    version = entry.get("version")
    if not isinstance(version, str):
        problems.append(f"{chart}: the index lists one without a version")
        return None
    try:
        return ChartRelease(chart, version, parse_version(version), entry)
    except VersionError as error:
        problems.append(f"{chart} {version}: {error}")
        return None


def _address(repository: str, release: ChartRelease) -> str:
    urls = as_list(release.entry.get("urls"))
    url = urls[0] if urls else None
    if not isinstance(url, str) or not url:
        raise ChartError("the index gives no address")
    base = urlsplit(_below(repository, ""))
    try:
        target = urlsplit(urljoin(base.geturl(), url))
        if (target.netloc, target.query) == (base.netloc, ""):
            # The query of a repository's address goes for all below it, as it does for Helm.
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


# ---- OCI registries


def chart_layer(manifest: Mapping[str, object]) -> str:
    """The digest of the packed chart in an OCI manifest."""
    for layer in manifest_layers(manifest):
        if layer.get("mediaType") == CHART_CONTENT:
            return str(layer.get("digest"))
    raise ChartError("it has no chart")


def manifest_layers(manifest: Mapping[str, object]) -> list[YamlMap]:
    return [layer for layer in as_list(manifest.get("layers")) if isinstance(layer, dict)]


def tag_of(version: str) -> str:
    """A tag cannot contain a +, so Helm writes _ for it."""
    return version.replace("+", "_")


def version_of_tag(tag: str) -> str:
    return tag.replace("_", "+")


def tag_age(tag: str) -> tuple[bool, semver.Version | str, str]:
    """Sorts versions, the oldest first, before tags that move, such as latest."""
    try:
        return False, parse_version(version_of_tag(tag)), tag
    except VersionError:
        return True, tag, tag


def newest_tag(tags: Iterable[str]) -> str:
    """The newest of the tags that are stable versions."""
    ages = [tag_age(tag) for tag in tags]
    stable = [age for age in ages if isinstance(age[1], semver.Version) and not age[1].prerelease]
    if not stable:
        raise ChartError("it has no stable version")
    return max(stable)[2]


# ---- Either


class LocatedChart(NamedTuple):
    """A chart's archive: its digest, if the repository gives it, and a way to download it."""

    digest: str | None
    read: Callable[[], bytes]


class ChartLookup:
    """Finds charts in repositories as they are now; an index is read once, and one that fails is not tried again."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._indexes: dict[str, ChartIndex] = {}
        self._failed: dict[str, OutsideError] = {}
        self._reading = Lock()

    def digest(self, repository: str, chart: str, version: str) -> str:
        """The digest of a chart's archive, in a Helm repository or at oci://host/path."""
        found = self.find(repository, chart, version)
        return found.digest or digest_of(found.read())

    def find(self, repository: str, chart: str, version: str | None) -> LocatedChart:
        """A version of a chart, or the newest stable one."""
        if repository in self._failed:
            raise self._failed[repository]
        with self._reporting(repository, chart, version):
            if repository.startswith("oci://"):
                registry = Registry(f"{repository.rstrip('/')}/{chart}", self._web)
                tag = tag_of(version) if version is not None else newest_tag(registry.tags())
                layer = chart_layer(registry.manifest(tag)[1])
                return LocatedChart(layer, partial(registry.blob, layer))
            release = _find(self._index(repository), chart, version)

        def read() -> bytes:
            with self._reporting(repository, chart, version):
                return download(repository, self._web, release)

        return LocatedChart(release.digest, read)

    @contextmanager
    def _reporting(self, repository: str, chart: str, version: str | None) -> Iterator[None]:
        """Errors name the chart that they are about; a server that is down is remembered."""
        try:
            yield
        except (ChartError, VersionError) as error:
            what = f"{chart} {version}" if version is not None else chart
            message = f"{what} of {shown(repository)}: {error}"
            raise OutsideError(message, "check the chart's name and version") from error
        except UnreachableError as error:
            self._failed[repository] = error
            raise

    def _index(self, repository: str) -> ChartIndex:
        with self._reading:
            if repository in self._failed:
                raise self._failed[repository]
            if repository not in self._indexes:
                try:
                    self._indexes[repository] = read_index(repository, self._web)
                except OutsideError as error:
                    self._failed[repository] = error
                    raise
            return self._indexes[repository]


def _find(index: ChartIndex, chart: str, version: str | None) -> ChartRelease:
    only = ChartIndex({chart: index.charts.get(chart)}, index.digest)
    listed = list(only.releases(None, []))
    if version is None:
        stable = [each for each in listed if not each.order.prerelease]
        if not stable:
            raise ChartError("the index lists no stable version of it")
        return max(stable, key=lambda each: each.age)
    found = [each for each in listed if same_version(each.version, version)]
    if not found:
        raise ChartError("the index does not list it")
    # Builds of one version are equal in order, and differ in their text.
    return next((each for each in found if each.version == version), found[0])
