"""Helm charts as definitions: a chart becomes the manifest of a PluginDefinition, with options from its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from fleetform.artifacts.charts import Chart, ChartError
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.base import Name
from fleetform.syntax.cel import ExpressionError, matches
from fleetform.syntax.option_paths import PathError, get_in, parse_path, text_of
from fleetform.syntax.trees import YamlMap, YamlValue, as_list, as_map, text_at
from fleetform.syntax.yaml_in import YamlError, read_one

CHANGES = "artifacthub.io/changes"

_MAX_REFERENCES = 20
_TYPES = {"string": "string", "boolean": "bool", "integer": "int", "array": "list", "object": "map"}
_CLASSES: dict[str, type] = {"string": str, "bool": bool, "int": int, "list": list, "map": dict, "any": object}


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
    notes: list[str] = []
    options = list(_options(chart, notes))
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
        "spec": _without_nulls(spec),
    }
    return ChartDefinition(manifest, notes)


def _options(chart: Chart, notes: list[str]) -> Iterator[YamlMap]:
    schema = chart.schema or {}
    root = _resolved(schema, schema)
    declared = as_map(root.get("properties"))
    required = [each for each in as_list(root.get("required")) if isinstance(each, str)]
    for key in dict.fromkeys([*declared, *chart.values, *chart.dependencies, *required]):
        if declared.get(key) is False:
            continue
        name = _option_name(key)
        if name is None:
            notes.append(f"the value {key!r} cannot be an option, and is left out")
            continue
        rules = _rules_of(declared[key], schema) if key in declared else {"type": _type_of_value(chart, key)}
        needed = key in required and chart.values.get(key) is None
        option = _without_nulls({"name": name, **rules, "required": True if needed else None})
        if "regex" in option:
            try:
                matches(option["regex"], "")
            except ExpressionError:
                notes.append(f"the pattern of {name} cannot be read as Helm reads it, and is left out")
                del option["regex"]
        yield option


def _option_name(key: str) -> str | None:
    """A key as options are named, or None if no name reads back as the key."""
    name = text_of((key,))
    try:
        return name if parse_path(name) == (key,) else None
    except PathError:
        return None


def _type_of_value(chart: Chart, key: str) -> str:
    if key not in chart.values:
        return "map" if key in chart.dependencies else "any"
    value = chart.values[key]
    return next((name for name, each in _CLASSES.items() if name != "any" and type(value) is each), "any")


def _rules_of(property_: YamlValue, schema: YamlMap) -> YamlMap:
    """The rules of a schema for one value, as far as options can express them; Helm checks the rest."""
    rules = _resolved(property_, schema)
    written = rules.get("type")
    kind = _TYPES.get(written, "any") if isinstance(written, str) else "any"
    found: YamlMap = {"type": kind, "description": text_at(rules, "description")}
    # Choices of another type can never be met. A bool is an int to Python, and not to schemas.
    is_choice = _CLASSES[kind]
    choices = [each for each in as_list(rules.get("enum")) if isinstance(each, is_choice)]
    if kind == "int":
        choices = [each for each in choices if not isinstance(each, bool)]
    if choices:
        return {**found, "enum": choices}
    if kind in ("string", "any"):
        found["regex"] = rules["pattern"] if isinstance(rules.get("pattern"), str) else None
    if kind in ("int", "any"):
        found |= {bound: rules[bound] for bound in ("minimum", "maximum") if type(rules.get(bound)) in (int, float)}
    return found


def _resolved(node: YamlValue, schema: YamlMap) -> YamlMap:
    """A schema with its references into the same document filled in; keys beside a reference win."""
    found = as_map(node)
    for _ in range(_MAX_REFERENCES):
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        pointer = reference[1:]
        target = get_in(schema, parse_path(unquote(pointer))) if pointer.startswith("/") else None
        beside = {key: value for key, value in found.items() if key != "$ref"}
        found = {**as_map(target if pointer else schema), **beside}
    return found


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


def _without_nulls(tree: YamlMap) -> YamlMap:
    return {key: value for key, value in tree.items() if value is not None}
