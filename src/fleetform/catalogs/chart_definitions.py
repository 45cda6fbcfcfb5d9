"""Helm charts as definitions: a chart becomes the manifest of a PluginDefinition, with options from its schema."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fleetform.artifacts.charts import Chart, ChartError
from fleetform.catalogs.chart_options import chart_options, without_nulls
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.base import Name
from fleetform.syntax.trees import YamlMap, text_at
from fleetform.syntax.yaml_in import YamlError, read_one

CHANGES = "artifacthub.io/changes"


class ChartDefinition(NamedTuple):
    """A definition's manifest as a tree, and notes on parts of the chart that it cannot express."""

    manifest: YamlMap
    notes: list[str]


def definition_of_chart(chart: Chart, repository: str, chart_name: str | None = None) -> ChartDefinition:
    """The definition that offers a chart; chart_name is its name in the repository, if that is another one.

    Options have no defaults: those are the chart's own, and change with it.
    """
    try:
        msgspec.convert(chart.name, Name)
    except msgspec.ValidationError as error:
        raise ChartError(f"{chart.name!r} cannot be the name of a definition") from error
    notes = list(chart.remarks)
    options = list(chart_options(chart, notes))
    changelog = _changelog(chart.annotations.get(CHANGES))
    source = {"repository": repository, "chart": chart_name or chart.name, "version": chart.version}
    spec = {
        "version": chart.version,
        "description": chart.description,
        "icon": chart.icon,
        "docsURL": chart.home,
        "source": {"helm": source},
        "options": options or None,
        "changes": {"changelog": changelog} if changelog else None,
    }
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "PluginDefinition",
        "metadata": {"name": chart.name},
        "spec": without_nulls(spec),
    }
    return ChartDefinition(manifest, notes)


def _changelog(text: str | None) -> str | None:
    """Artifact Hub's list of changes as lines of text; any other text as it is."""
    if text is None:
        return None
    try:
        listed = read_one(text)
    except YamlError:
        return text.strip() or None
    if not isinstance(listed, list):
        return text.strip() or None
    lines = []
    for change in listed:
        kind, description = text_at(change, "kind"), text_at(change, "description")
        line = f"{kind}: {description}" if kind and description else description
        lines.append(change.strip() if isinstance(change, str) else line)
    return "\n".join(f"- {line}" for line in lines if line) or None
