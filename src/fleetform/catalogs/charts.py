"""Helm charts as definitions: an archive's bytes become a chart, and a chart a PluginDefinition's manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from fleetform.catalogs.archives import ArchiveError, read_archive
from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.base import Name
from fleetform.syntax.cel import ExpressionError, matches
from fleetform.syntax.option_paths import PathError, get_in, parse_path, text_of
from fleetform.syntax.yaml_in import YamlError, is_too_deep, read_one

CHANGES = "artifacthub.io/changes"

_ABOUT, _VALUES, _SCHEMA = "Chart.yaml", "values.yaml", "values.schema.json"
_MAX_REFERENCES = 20
_TYPES = {"string": "string", "boolean": "bool", "integer": "int", "array": "list", "object": "map"}
_CLASSES: dict[str, type] = {"string": str, "bool": bool, "int": int, "list": list, "map": dict, "any": object}


class ChartError(ValueError):
    """Why something is not a chart, or cannot be offered."""


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart says of itself."""

    name: str
    version: str
    app_version: str | None
    description: str | None
    icon: str | None
    home: str | None
    deprecated: bool
    annotations: dict[str, str]
    dependencies: tuple[str, ...]
    values: dict[str, Any]
    schema: dict[str, Any] | None


class Offer(NamedTuple):
    """A definition's manifest as a tree, and what of the chart it cannot say."""

    manifest: dict[str, Any]
    notes: list[str]


def read_chart(archive: bytes) -> Chart:
    """The chart that Helm packed."""
    try:
        files = read_archive(archive, _is_read)
    except ArchiveError as error:
        raise ChartError(str(error)) from error
    # Whatever the folder in the archive is called, Helm does not look at its name.
    by_name = {path.partition("/")[2]: content for path, content in files.items()}
    if _ABOUT not in by_name:
        raise ChartError(f"it holds no {_ABOUT}")
    about = _read_map(_ABOUT, by_name[_ABOUT])
    schema = _read_schema(by_name[_SCHEMA]) if _SCHEMA in by_name else None
    return _chart(about, _read_map(_VALUES, by_name.get(_VALUES, b"")), schema)


def definition_of_chart(chart: Chart, repository: str, chart_name: str | None = None) -> Offer:
    """The definition that offers a chart; chart_name is what its repository calls it, where that is another name.

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
        "spec": _without_nothing(spec),
    }
    return Offer(manifest, notes)


def _is_read(path: str) -> bool:
    folder, _, name = path.partition("/")
    return bool(folder) and name in (_ABOUT, _VALUES, _SCHEMA)


def _read_map(name: str, content: bytes) -> dict[str, Any]:
    try:
        tree = read_one(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ChartError(f"{name} is not UTF-8") from error
    except YamlError as error:
        raise ChartError(f"{name}, line {error.line}: {error.message}") from error
    if tree is not None and not isinstance(tree, dict):
        raise ChartError(f"{name} is not a map")
    return tree or {}


def _read_schema(content: bytes) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ChartError(f"{_SCHEMA} is not JSON") from error
    if is_too_deep(tree):
        raise ChartError(f"{_SCHEMA} is nested too deep")
    # `true` and `false` are schemas, too, and say nothing of single values.
    return tree if isinstance(tree, dict) else {}


def _chart(about: dict[str, Any], values: dict[str, Any], schema: dict[str, Any] | None) -> Chart:
    name, version = _text(about, "name"), _text(about, "version")
    if not name or not version:
        raise ChartError(f"{_ABOUT} must give name and version, both as text")
    annotations = about.get("annotations")
    return Chart(
        name,
        version,
        _text(about, "appVersion"),
        _text(about, "description"),
        _text(about, "icon"),
        _text(about, "home"),
        about.get("deprecated") is True,
        {key: each for key, each in _as_map(annotations).items() if isinstance(each, str)},
        tuple(_dependencies(about.get("dependencies"))),
        values,
        schema,
    )


def _text(tree: Mapping[str, Any], key: str) -> str | None:
    found = tree.get(key)
    return found.strip() or None if isinstance(found, str) else None


def _as_map(tree: Any) -> dict[str, Any]:
    return tree if isinstance(tree, dict) else {}


def _dependencies(listed: Any) -> Iterator[str]:
    """The names under which a chart's values hold those of the charts inside it."""
    for each in listed if isinstance(listed, list) else []:
        name = _text(_as_map(each), "alias") or _text(_as_map(each), "name")
        if name:
            yield name


def _options(chart: Chart, notes: list[str]) -> Iterator[dict[str, Any]]:
    schema = chart.schema or {}
    root = _resolved(schema, schema)
    declared = _as_map(root.get("properties"))
    listed = root.get("required")
    required = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    for key in dict.fromkeys([*declared, *chart.values, *chart.dependencies, *required]):
        if declared.get(key) is False:
            continue
        name = _option_name(key)
        if name is None:
            notes.append(f"the value {key!r} cannot be an option, and is left out")
            continue
        rules = _rules_of(declared[key], schema) if key in declared else _rules_by_value(chart, key)
        needed = key in required and chart.values.get(key) is None
        option = {"name": name, **rules, "required": True if needed else None}
        yield _with_readable_regex(_without_nothing(option), notes)


def _option_name(key: str) -> str | None:
    """A key as options are named, or None where no name reads back as the key."""
    name = text_of((key,))
    try:
        return name if parse_path(name) == (key,) else None
    except PathError:
        return None


def _rules_by_value(chart: Chart, key: str) -> dict[str, Any]:
    if key not in chart.values:
        return {"type": "map" if key in chart.dependencies else "any"}
    value = chart.values[key]
    return {"type": next((name for name, each in _CLASSES.items() if name != "any" and type(value) is each), "any")}


def _rules_of(property_: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema says of a value, as far as options can say it; Helm holds values to the rest."""
    rules = _resolved(property_, schema)
    written = rules.get("type")
    kind = _TYPES.get(written, "any") if isinstance(written, str) else "any"
    said: dict[str, Any] = {"type": kind, "description": _text(rules, "description")}
    choices = _choices(rules.get("enum"), kind)
    if choices:
        return {**said, "enum": choices}
    if kind in ("string", "any"):
        said["regex"] = rules["pattern"] if isinstance(rules.get("pattern"), str) else None
    if kind in ("int", "any"):
        said |= {bound: rules[bound] for bound in ("minimum", "maximum") if type(rules.get(bound)) in (int, float)}
    return said


def _choices(enum: Any, kind: str) -> list[Any]:
    """The choices that the type allows; the others can never be met."""
    wanted = _CLASSES[kind]
    return [
        each
        for each in (enum if isinstance(enum, list) else [])
        if isinstance(each, wanted) and not (kind == "int" and isinstance(each, bool))
    ]


def _resolved(node: Any, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with what it refers to in its own document; what stands beside a reference goes first."""
    found = _as_map(node)
    for _ in range(_MAX_REFERENCES):
        reference = found.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        beside = {key: value for key, value in found.items() if key != "$ref"}
        found = {**_as_map(_referred(reference[1:], schema)), **beside}
    return found


def _referred(pointer: str, schema: dict[str, Any]) -> Any:
    if not pointer:
        return schema
    return get_in(schema, parse_path(unquote(pointer))) if pointer.startswith("/") else None


def _with_readable_regex(option: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    if "regex" in option:
        try:
            matches(option["regex"], "")
        except ExpressionError:
            notes.append(f"the pattern of {option['name']} is none that Helm reads, and is left out")
            del option["regex"]
    return option


def _changelog(text: str | None) -> str | None:
    """Artifact Hub's list of changes as lines of text; what is no such list is taken as it is."""
    if text is None:
        return None
    try:
        listed = read_one(text)
    except YamlError:
        return text.strip() or None
    if not isinstance(listed, list):
        return text.strip() or None
    lines = [line for line in map(_change, listed) if line]
    return "\n".join(f"- {line}" for line in lines) or None


def _change(change: Any) -> str | None:
    if isinstance(change, str):
        return change.strip()
    kind, said = _text(_as_map(change), "kind"), _text(_as_map(change), "description")
    return f"{kind}: {said}" if kind and said else said


def _without_nothing(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if value is not None}
