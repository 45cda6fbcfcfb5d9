"""Definitions from an OCI repository: a Helm chart's versions, or manifests packed under tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import semver

from fleetform.catalogs.archives import ArchiveError, read_archive, safe_path
from fleetform.catalogs.charts import ChartError, definition_of_chart, read_chart
from fleetform.catalogs.globs import matches_any
from fleetform.catalogs.listing import ListedDefinition, SourceListing, moment, why
from fleetform.load.sources import ENDINGS
from fleetform.outside.errors import OutsideError
from fleetform.outside.oci import Registry, digest_of, is_reference
from fleetform.syntax.versions import VersionError, parse_version
from fleetform.syntax.yaml_out import write_yaml

CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART_CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TITLE = "org.opencontainers.image.title"
CREATED = "org.opencontainers.image.created"
WORKERS = 8

# Signatures and attestations of other tags, which tools put beside them.
_BESIDE = re.compile(r"sha256-[0-9a-f]{64}(\..*)?\Z")


class _Read(NamedTuple):
    """What one tag holds; without a digest it is asked for again next time."""

    tag: str
    digest: str | None
    found: list[ListedDefinition]
    problems: list[str]


class _Artifact(NamedTuple):
    """What a tag stands for."""

    registry: Registry
    tag: str
    manifest: dict[str, Any]
    include: Sequence[str] | None

    def wants(self, path: str) -> bool:
        return path.endswith(ENDINGS) if self.include is None else matches_any(path, self.include)


def read_oci(registry: Registry, include: Sequence[str] | None, known: Mapping[str, str]) -> SourceListing:
    """What every tag holds, tags that are versions first and in order; include matches files, or the chart's name.

    known is the marks of an earlier reading, digests of manifests by tag: what it knows and did not change is neither
    fetched nor told again, and stays. OutsideError where the tags cannot be had at all.
    """
    tags = sorted({tag for tag in registry.tags() if not _BESIDE.match(tag)}, key=_age)
    with ThreadPoolExecutor(WORKERS) as pool:
        read = list(pool.map(partial(_read_tag, registry, include, known), tags))
    # What is known and cannot be read now is still there; its old digest has it asked for again.
    marks = {tag: known[tag] for tag in tags if tag in known}
    marks |= {each.tag: each.digest for each in read if each.digest is not None}
    state = "".join(f"{tag} {digest}\n" for tag, digest in sorted(marks.items()))
    said = [(each, [f"{registry.address}:{each.tag}: {problem}" for problem in each.problems]) for each in read]
    return SourceListing(
        digest_of(state.encode()),
        [holding for each in read for holding in each.found],
        [problem for each, texts in said if each.digest is None for problem in texts],
        {each.tag: texts for each, texts in said if each.digest is not None and texts},
        marks,
    )


def chart_layer(manifest: Mapping[str, Any]) -> str:
    """The digest of the packed chart that a manifest names."""
    for layer in _layers(manifest):
        if layer.get("mediaType") == CHART_CONTENT:
            return str(layer.get("digest"))
    raise ChartError("it holds no chart")


def tag_of(version: str) -> str:
    """A tag cannot hold a +, so Helm writes _ for it."""
    return version.replace("+", "_")


def newest_tag(tags: Iterable[str]) -> str:
    """Of the tags that are stable versions, the newest."""
    stable = [(order, tag) for tag in tags if (order := _order(tag)) is not None and not order.prerelease]
    if not stable:
        raise ChartError("it has no stable version")
    return max(stable)[1]


def _order(tag: str) -> semver.Version | None:
    try:
        return parse_version(_version_of(tag))
    except VersionError:
        return None


def _age(tag: str) -> tuple[bool, Any, str]:
    """Versions in order; names that move from one to the next, such as latest, after them."""
    try:
        return False, parse_version(_version_of(tag)), tag
    except VersionError:
        return True, tag, tag


def _version_of(tag: str) -> str:
    return tag.replace("_", "+")


def _read_tag(registry: Registry, include: Sequence[str] | None, known: Mapping[str, str], tag: str) -> _Read:
    if not is_reference(tag):
        return _Read(tag, None, [], ["it is not a tag"])
    try:
        digest, manifest = registry.manifest(tag)
        if known.get(tag) == digest:
            return _Read(tag, digest, [], [])
        problems: list[str] = []
        found = _read_artifact(_Artifact(registry, tag, manifest, include), problems)
    except (OutsideError, ChartError, ArchiveError) as error:
        return _Read(tag, None, [], [why(error)])
    return _Read(tag, digest, found, problems)


def _read_artifact(artifact: _Artifact, problems: list[str]) -> list[ListedDefinition]:
    config = artifact.manifest.get("config")
    if isinstance(config, dict) and config.get("mediaType") == CHART_CONFIG:
        return _read_chart(artifact, problems)
    return _read_files(artifact, problems)


def _read_chart(artifact: _Artifact, problems: list[str]) -> list[ListedDefinition]:
    parent, _, name = artifact.registry.address.rpartition("/")
    if artifact.include is not None and not matches_any(name, artifact.include):
        return []
    version = _version_of(artifact.tag)
    try:
        parse_version(version)
    except VersionError as error:
        raise ChartError(str(error)) from error
    archive = artifact.registry.blob(chart_layer(artifact.manifest))
    chart = read_chart(archive)
    if chart.version != version:
        raise ChartError(f"the chart in it is version {chart.version}")
    manifest, notes = definition_of_chart(chart, parent, name)
    problems += notes
    published = _published(artifact.manifest)
    return [
        ListedDefinition(
            f"{name}-{version}", version, write_yaml(manifest), published, digest_of(archive), artifact.tag
        )
    ]


def _read_files(artifact: _Artifact, problems: list[str]) -> list[ListedDefinition]:
    files: dict[str, bytes] = {}
    for layer in _layers(artifact.manifest):
        kind = str(layer.get("mediaType"))
        if kind.endswith("tar+gzip"):
            files |= read_archive(artifact.registry.blob(str(layer.get("digest"))), artifact.wants)
        elif kind.endswith("yaml"):
            files |= _single_file(artifact, layer)
    published, found = _published(artifact.manifest), []
    for path, content in files.items():
        try:
            found.append(
                ListedDefinition(path, artifact.tag, content.decode("utf-8-sig"), published, mark=artifact.tag)
            )
        except UnicodeDecodeError:
            problems.append(f"{path} is not UTF-8")
    return found


def _single_file(artifact: _Artifact, layer: dict[str, Any]) -> dict[str, bytes]:
    title = _map(layer.get("annotations")).get(TITLE, artifact.registry.address.rpartition("/")[2] + ".yaml")
    path = safe_path(str(title))
    if path is None:
        raise ArchiveError(f"it holds a file that leads out of it, {title!r}")
    return {path: artifact.registry.blob(str(layer.get("digest")))} if artifact.wants(path) else {}


def _layers(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    layers = manifest.get("layers")
    return [layer for layer in layers if isinstance(layer, dict)] if isinstance(layers, list) else []


def _published(manifest: dict[str, Any]) -> str | None:
    return moment(_map(manifest.get("annotations")).get(CREATED))


def _map(tree: Any) -> dict[str, Any]:
    return tree if isinstance(tree, dict) else {}
