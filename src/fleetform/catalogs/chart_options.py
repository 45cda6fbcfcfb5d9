"""The options of a chart: from its schema, and from its values if the schema leaves them out."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from fleetform.artifacts.charts import Chart
from fleetform.syntax.cel import ExpressionError, matches
from fleetform.syntax.option_paths import PathError, get_in, parse_path, text_of
from fleetform.syntax.trees import YamlMap, YamlValue, as_list, as_map, text_at

_MAX_REFERENCES = 20
_TYPES = {"string": "string", "boolean": "bool", "integer": "int", "array": "list", "object": "map"}
_CLASSES: dict[str, type] = {"string": str, "bool": bool, "int": int, "list": list, "map": dict, "any": object}
_TYPE_NAMES = {class_: name for name, class_ in _CLASSES.items()}


def chart_options(chart: Chart, notes: list[str]) -> Iterator[YamlMap]:
    """The options as a definition lists them; notes are about values that no option can express."""
    schema = chart.schema or {}
    root = _resolved(schema, schema)
    declared = as_map(root.get("properties"))
    required = [each for each in as_list(root.get("required")) if isinstance(each, str)]
    for key in dict.fromkeys([*declared, *chart.values, *chart.dependencies, *required]):
        if declared.get(key) is False:
            continue
        # A key that no option name reads back as cannot be an option.
        name = text_of((key,))
        try:
            is_option = parse_path(name) == (key,)
        except PathError:
            is_option = False
        if not is_option:
            notes.append(f"the value {key!r} cannot be an option, and is left out")
            continue
        if key in declared:
            rules = _rules_of(declared[key], schema)
        elif key in chart.values:
            rules = {"type": _TYPE_NAMES.get(type(chart.values[key]), "any")}
        else:
            rules = {"type": "map" if key in chart.dependencies else "any"}
        needed = key in required and chart.values.get(key) is None
        option = without_nulls({"name": name, **rules, "required": True if needed else None})
        if "regex" in option:
            try:
                matches(option["regex"], "")
            except ExpressionError:
                notes.append(f"the pattern of {name} cannot be read as Helm reads it, and is left out")
                del option["regex"]
        yield option


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


def without_nulls(tree: YamlMap) -> YamlMap:
    return {key: value for key, value in tree.items() if value is not None}
