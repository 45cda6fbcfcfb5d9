"""Definitions from a Helm repository: one of every version of every chart in its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from fleetform.artifacts.chart_repositories import ChartRelease, download, read_index
from fleetform.artifacts.charts import ChartError, read_chart
from fleetform.catalogs.chart_definitions import definition_of_chart
from fleetform.catalogs.listing import ListedDefinition, SourceListing, published_time, with_hint
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.outside.oci import digest_of
from fleetform.syntax.addresses import shown
from fleetform.syntax.yaml_out import write_yaml

WORKERS = 8


class _ReadRelease(NamedTuple):
    """The definition of a release, and problems; without a definition it is fetched again next time."""

    definition: ListedDefinition | None
    problems: list[str]


def read_helm(repository: str, include: Sequence[str] | None, known: Mapping[str, str], web: Web) -> SourceListing:
    """Definitions of the charts whose names include matches, chart by chart, oldest version first.

    known has the marks of the last reading: digests of archives by chart and version. A release that it knows and the
    index does not change is not fetched again, and stays. OutsideError if the index itself cannot be read.
    """
    index = read_index(repository, web)
    problems: list[str] = []
    releases = sorted(index.releases(include, problems), key=lambda each: each.age)
    # An index that gives no digest cannot report a change: published versions are taken not to change.
    new = [each for each in releases if each.mark not in known or each.digest not in (None, known[each.mark])]
    with ThreadPoolExecutor(WORKERS) as pool:
        read = list(pool.map(partial(_read_release, repository, web), new))
    problems += [problem for each in read if each.definition is None for problem in each.problems]
    notes = {each.definition.mark: each.problems for each in read if each.definition is not None and each.problems}
    found = [each.definition for each in read if each.definition is not None]
    # A known release that cannot be read now is not gone; with its old digest it is fetched again next time.
    marks = {each.mark: known[each.mark] for each in releases if each.mark in known}
    marks |= {definition.mark: definition.digest for definition in found if definition.digest}
    return SourceListing(index.digest, found, problems, notes, marks)


def _read_release(repository: str, web: Web, release: ChartRelease) -> _ReadRelease:
    name = f"{release.chart} {release.version}"
    try:
        archive = download(repository, web, release)
        chart = read_chart(archive)
        if (chart.name, chart.version) != (release.chart, release.version):
            raise ChartError(f"the archive is of {chart.name} {chart.version}")
        manifest, notes = definition_of_chart(chart, shown(repository))
    except (OutsideError, ChartError) as error:
        return _ReadRelease(None, [f"{name}: {with_hint(error)}"])
    definition = ListedDefinition(
        release.mark,
        release.version,
        write_yaml(manifest),
        published_time(release.entry.get("created")),
        digest_of(archive),
        release.mark,
    )
    return _ReadRelease(definition, [f"{name}: {note}" for note in notes])
