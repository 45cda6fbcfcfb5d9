"""Definitions from an OCI repository: a Helm chart's versions, or manifests packed under tags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from fleetform.artifacts.archives import ArchiveError, read_archive, safe_path
from fleetform.artifacts.chart_repositories import chart_layer, manifest_layers, tag_age, version_of_tag
from fleetform.artifacts.charts import ChartError, read_chart
from fleetform.catalogs.chart_definitions import definition_of_chart
from fleetform.catalogs.listing import ListedDefinition, SourceListing, published_time, with_hint
from fleetform.load.inputs import ENDINGS
from fleetform.outside.errors import OutsideError
from fleetform.outside.oci import Registry, digest_of, is_reference
from fleetform.syntax.globs import matches_any
from fleetform.syntax.trees import YamlMap, as_map
from fleetform.syntax.versions import VersionError, parse_version
from fleetform.syntax.yaml_out import write_yaml

CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
TITLE = "org.opencontainers.image.title"
CREATED = "org.opencontainers.image.created"
WORKERS = 8

# Tools put signatures and attestations of a tag beside it, under such tags.
_SIGNATURE = re.compile(r"sha256-[0-9a-f]{64}(\..*)?\Z")


class _ReadTag(NamedTuple):
    """The definitions of one tag, and problems; without a digest it is fetched again next time."""

    tag: str
    digest: str | None
    found: list[ListedDefinition]
    problems: list[str]


class _TaggedArtifact(NamedTuple):
    """The artifact of a tag, to read definitions from; include matches files, or the chart's name."""

    registry: Registry
    tag: str
    manifest: YamlMap
    include: Sequence[str] | None

    @property
    def published(self) -> str | None:
        return published_time(as_map(self.manifest.get("annotations")).get(CREATED))

    def wants(self, path: str) -> bool:
        return path.endswith(ENDINGS) if self.include is None else matches_any(path, self.include)

    def chart(self, problems: list[str]) -> list[ListedDefinition]:
        """The definition of the chart in it."""
        parent, _, name = self.registry.address.rpartition("/")
        if self.include is not None and not matches_any(name, self.include):
            return []
        version = version_of_tag(self.tag)
        try:
            parse_version(version)
        except VersionError as error:
            raise ChartError(str(error)) from error
        archive = self.registry.blob(chart_layer(self.manifest))
        chart = read_chart(archive)
        if chart.version != version:
            raise ChartError(f"the chart in it is version {chart.version}")
        manifest, notes = definition_of_chart(chart, parent, name)
        problems += notes
        text, digest = write_yaml(manifest), digest_of(archive)
        return [ListedDefinition(f"{name}-{version}", version, text, self.published, digest, self.tag)]

    def files(self, problems: list[str]) -> list[ListedDefinition]:
        """The definitions in packed folders and in single files."""
        files: dict[str, bytes] = {}
        for layer in manifest_layers(self.manifest):
            kind, digest = str(layer.get("mediaType")), str(layer.get("digest"))
            if kind.endswith("tar+gzip"):
                files |= read_archive(self.registry.blob(digest), self.wants)
            elif kind.endswith("yaml"):
                default = self.registry.address.rpartition("/")[2] + ".yaml"
                title = as_map(layer.get("annotations")).get(TITLE, default)
                path = safe_path(str(title))
                if path is None:
                    raise ArchiveError(f"it has a file that leads out of it, {title!r}")
                if self.wants(path):
                    files[path] = self.registry.blob(digest)
        found = []
        for path, content in files.items():
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                problems.append(f"{path} is not UTF-8")
                continue
            found.append(ListedDefinition(path, self.tag, text, self.published, mark=self.tag))
        return found


def read_oci(registry: Registry, include: Sequence[str] | None, known: Mapping[str, str]) -> SourceListing:
    """The definitions of every tag, versions first and in order; include matches files, or the chart's name.

    known has the marks of the last reading: digests of manifests by tag. A tag that it knows and that did not change is
    not fetched again, and stays. OutsideError if the tags cannot be listed at all.
    """
    tags = sorted({tag for tag in registry.tags() if not _SIGNATURE.match(tag)}, key=tag_age)
    with ThreadPoolExecutor(WORKERS) as pool:
        read = list(pool.map(partial(_read_tag, registry, include, known), tags))
    # A known tag that cannot be read now is not gone; with its old digest it is fetched again next time.
    marks = {tag: known[tag] for tag in tags if tag in known}
    marks |= {each.tag: each.digest for each in read if each.digest is not None}
    state = "".join(f"{tag} {digest}\n" for tag, digest in sorted(marks.items()))
    problems = [(each, [f"{registry.address}:{each.tag}: {problem}" for problem in each.problems]) for each in read]
    return SourceListing(
        digest_of(state.encode()),
        [definition for each in read for definition in each.found],
        [problem for each, texts in problems if each.digest is None for problem in texts],
        {each.tag: texts for each, texts in problems if each.digest is not None and texts},
        marks,
    )


def _read_tag(registry: Registry, include: Sequence[str] | None, known: Mapping[str, str], tag: str) -> _ReadTag:
    if not is_reference(tag):
        return _ReadTag(tag, None, [], ["it is not a tag"])
    try:
        digest, manifest = registry.manifest(tag)
        if known.get(tag) == digest:
            return _ReadTag(tag, digest, [], [])
        problems: list[str] = []
        artifact = _TaggedArtifact(registry, tag, manifest, include)
        is_chart = as_map(manifest.get("config")).get("mediaType") == CHART_CONFIG
        found = artifact.chart(problems) if is_chart else artifact.files(problems)
    except (OutsideError, ChartError, ArchiveError) as error:
        return _ReadTag(tag, None, [], [with_hint(error)])
    return _ReadTag(tag, digest, found, problems)
