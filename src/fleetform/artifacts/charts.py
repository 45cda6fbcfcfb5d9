"""Helm charts: an archive's bytes, and what the chart in it declares about itself."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from fleetform.artifacts.archives import ArchiveError, read_archive
from fleetform.syntax.trees import YamlMap, as_list, as_map, text_at
from fleetform.syntax.yaml_in import YamlError, is_too_deep, read_foreign

_ABOUT, _VALUES, _SCHEMA = "Chart.yaml", "values.yaml", "values.schema.json"


class ChartError(ValueError):
    """Why something is not a chart, or cannot be offered."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart's own fields, its default values and its schema.

    dependencies are the names under which its values hold those of the charts inside it.
    """

    name: str
    version: str
    app_version: str | None
    description: str | None
    icon: str | None
    home: str | None
    deprecated: bool
    annotations: dict[str, str]
    dependencies: tuple[str, ...]
    values: YamlMap
    schema: YamlMap | None
    remarks: tuple[str, ...] = ()


def read_chart(archive: bytes) -> Chart:
    """The chart in an archive that Helm packed."""

    def is_read(path: str) -> bool:
        folder, _, name = path.partition("/")
        return bool(folder) and name in (_ABOUT, _VALUES, _SCHEMA)

    try:
        files = read_archive(archive, is_read)
    except ArchiveError as error:
        raise ChartError(str(error)) from error
    # Helm does not look at the name of the folder in the archive.
    by_name = {path.partition("/")[2]: content for path, content in files.items()}
    if _ABOUT not in by_name:
        raise ChartError(f"it has no {_ABOUT}")
    remarks: list[str] = []
    about = _read_map(_ABOUT, by_name[_ABOUT], remarks)
    schema = _read_schema(by_name[_SCHEMA]) if _SCHEMA in by_name else None
    values = _read_map(_VALUES, by_name.get(_VALUES, b""), remarks)
    name, version = text_at(about, "name"), text_at(about, "version")
    if not name or not version:
        raise ChartError(f"{_ABOUT} must give name and version, both as text")
    dependencies = [text_at(each, "alias") or text_at(each, "name") for each in as_list(about.get("dependencies"))]
    return Chart(
        name,
        version,
        text_at(about, "appVersion"),
        text_at(about, "description"),
        text_at(about, "icon"),
        text_at(about, "home"),
        about.get("deprecated") is True,
        {key: each for key, each in as_map(about.get("annotations")).items() if isinstance(each, str)},
        tuple(each for each in dependencies if each),
        values,
        schema,
        tuple(remarks),
    )


def _read_map(name: str, content: bytes, remarks: list[str]) -> YamlMap:
    """A file of a chart, which its authors answer for: slips that Helm reads over are remarks."""
    try:
        document = read_foreign(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ChartError(f"{name} is not UTF-8") from error
    except YamlError as error:
        raise ChartError(f"{name}, line {error.line}: {error.message}") from error
    tree = document.tree
    if tree is not None and not isinstance(tree, dict):
        raise ChartError(f"{name} is not a map")
    remarks += [f"{name}, line {each.line}: {each.message}" for each in document.remarks]
    return tree or {}


def _read_schema(content: bytes) -> YamlMap:
    try:
        tree = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ChartError(f"{_SCHEMA} is not JSON") from error
    if is_too_deep(tree):
        raise ChartError(f"{_SCHEMA} is nested too deep")
    # `true` and `false` are schemas, too, and set no rule for single values.
    return as_map(tree)
