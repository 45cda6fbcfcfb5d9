"""Charts become definitions: what they say is kept, what they may be told becomes options."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.artifacts.charts import ChartError, read_chart
from fleetform.catalogs.chart_definitions import CHANGES, definition_of_chart
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.shape import read_record
from fleetform.syntax.yaml_in import read_one
from fleetform.syntax.yaml_out import write_yaml
from support.servers import packed_chart

REPOSITORY = "https://charts.example.org"


def options_of(values: str | None = None, schema: Any = None, **about: Any) -> dict[str, dict[str, Any]]:
    """The options of a chart by name, without their names."""
    offer = definition_of_chart(read_chart(packed_chart("web", "1.0.0", values, schema, about)), REPOSITORY)
    assert offer.notes == []
    return {option.pop("name"): option for option in offer.manifest["spec"].get("options", [])}


def notes_of(values: str | None = None, schema: Any = None) -> list[str]:
    return definition_of_chart(read_chart(packed_chart("web", "1.0.0", values, schema)), REPOSITORY).notes


def rules_of(**property_: Any) -> dict[str, Any]:
    return options_of(schema={"properties": {"a": property_}})["a"]


def test_a_chart_that_says_little_gives_a_short_definition() -> None:
    chart = read_chart(packed_chart("web", "1.0.0"))
    manifest, notes = definition_of_chart(chart, REPOSITORY)
    assert notes == []
    assert manifest == {
        "apiVersion": "fleetform.dev/v1alpha1",
        "kind": "PluginDefinition",
        "metadata": {"name": "web"},
        "spec": {
            "version": "1.0.0",
            "source": {"helm": {"repository": REPOSITORY, "chart": "web", "version": "1.0.0"}},
        },
    }


def test_a_definition_fits_its_kind_and_reads_back() -> None:
    about = {"description": "yes", "icon": "i", "home": "h", "annotations": {CHANGES: "- one"}}
    schema = {
        "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "string", "enum": ["y", "n"]}},
        "required": ["a"],
    }
    chart = read_chart(packed_chart("web", "1.0.0", "c: [1]\n", schema, about))
    manifest = definition_of_chart(chart, REPOSITORY, "website").manifest
    assert read_one(write_yaml(manifest)) == manifest
    spec = read_record(manifest["spec"], PluginDefinitionSpec)
    assert isinstance(spec, PluginDefinitionSpec)
    assert (spec.description, spec.icon, spec.docs_url) == ("yes", "i", "h")
    assert spec.source is not None
    assert spec.source.helm is not None
    assert spec.source.helm.chart == "website"
    assert [option.name for option in spec.options or []] == ["a", "b", "c"]


def test_a_name_that_no_object_may_have_is_refused() -> None:
    with pytest.raises(ChartError, match="'My_Chart' cannot be the name of a definition"):
        definition_of_chart(read_chart(packed_chart("My_Chart", "1.0.0")), REPOSITORY)


def test_values_give_types_where_no_schema_does() -> None:
    values = """
text: a
empty: ""
flag: on
number: 0777
real: 0.5
list: []
map: {}
nothing:
"""
    assert {name: option["type"] for name, option in options_of(values).items()} == {
        "text": "string",
        "empty": "string",
        "flag": "bool",
        "number": "int",
        "real": "any",
        "list": "list",
        "map": "map",
        "nothing": "any",
    }


def test_defaults_stay_with_the_chart() -> None:
    options = options_of("a: 1\n", {"properties": {"a": {"type": "integer", "default": 2}}})
    assert options == {"a": {"type": "int"}}


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("string", "string"),
        ("boolean", "bool"),
        ("integer", "int"),
        ("array", "list"),
        ("object", "map"),
        ("number", "any"),
        ("null", "any"),
        (["string", "null"], "any"),
        ("nonsense", "any"),
        (7, "any"),
        (None, "any"),
    ],
)
def test_a_schema_gives_types(written: Any, type_: str) -> None:
    assert rules_of(type=written) == {"type": type_}


def test_a_schema_gives_rules() -> None:
    assert rules_of(type="string", pattern="^a+$", description=" As ") == {
        "type": "string",
        "description": "As",
        "regex": "^a+$",
    }
    assert rules_of(type="integer", minimum=1, maximum=3) == {"type": "int", "minimum": 1, "maximum": 3}
    assert rules_of(type="number", minimum=0.5) == {"type": "any", "minimum": 0.5}
    assert rules_of(type=["string", "integer"], pattern="a", maximum=3) == {"type": "any", "regex": "a", "maximum": 3}


def test_rules_that_mean_nothing_are_left_out() -> None:
    assert rules_of(type="array", pattern="a", minimum=1, enum=[]) == {"type": "list"}
    assert rules_of(type="integer", minimum="1", maximum=True, description=7, pattern=7) == {"type": "int"}


@pytest.mark.parametrize(
    ("type_", "written", "kept"),
    [
        ("string", ["a", "", None, 1], ["a", ""]),
        ("integer", [1, True, 1.5], [1]),
        ("boolean", [True, 0], [True]),
        (None, ["a", 1, None], ["a", 1, None]),
        ("array", [[1], "a"], [[1]]),
    ],
)
def test_choices_are_those_that_the_type_allows(type_: str | None, written: list[Any], kept: list[Any]) -> None:
    assert rules_of(type=type_, enum=written, pattern="^a$", minimum=5)["enum"] == kept
    assert set(rules_of(type=type_, enum=written, pattern="^a$", minimum=5)) == {"type", "enum"}


def test_schema_and_values_are_joined() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": True, "never": False}}
    assert options_of("c: 1\na: 7\nnever: 1\n", schema) == {
        "a": {"type": "string"},
        "b": {"type": "any"},
        "c": {"type": "int"},
    }


def test_an_option_is_required_where_the_chart_needs_it_and_has_no_value() -> None:
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b", "unlisted", 7]}
    options = options_of("a: 1\nb: null\n", schema)
    assert {name for name, option in options.items() if option.get("required")} == {"b", "unlisted"}
    assert options["unlisted"] == {"type": "any", "required": True}


def test_charts_inside_are_told_their_values_by_name() -> None:
    options = options_of("redis: {enabled: false}\n", dependencies=[{"name": "redis"}, {"name": "x", "alias": "db"}, 7])
    assert options == {"redis": {"type": "map"}, "db": {"type": "map"}}


def test_references_inside_a_schema_are_followed() -> None:
    schema = {
        "$ref": "#/$defs/values",
        "$defs": {
            "values": {"properties": {"a": {"$ref": "#/$defs/values.a", "description": "mine"}}},
            "values.a": {"$ref": "#/$defs/b%7E1c"},
            "b/c": {"type": "integer", "description": "theirs"},
        },
    }
    assert options_of(schema=schema) == {"a": {"type": "int", "description": "mine"}}


@pytest.mark.parametrize("reference", ["#/nowhere", "#anchor", "other.json#/a", "#/properties/a", "#", 7])
def test_references_that_lead_nowhere_say_nothing(reference: Any) -> None:
    assert rules_of(**{"$ref": reference}) == {"type": "any"}


def test_names_are_written_as_options_are_named() -> None:
    assert list(options_of("a.b: 1\n'c[0]': 1\n'd,e=f': 1\n'g\\h': 1\n")) == [
        r"a\.b",
        r"c\[0]",
        r"d\,e\=f",
        r"g\\h",
    ]


@pytest.mark.parametrize("key", ["", "/a"])
def test_names_that_cannot_be_written_are_noted(key: str) -> None:
    assert notes_of(f"'{key}': 1\n") == [f"the value {key!r} cannot be an option, and is left out"]


def test_a_pattern_that_cannot_be_read_is_noted() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "(?!x)"}}}
    assert notes_of(schema=schema) == ["the pattern of a cannot be read as Helm reads it, and is left out"]


@pytest.mark.parametrize(
    ("annotation", "changelog"),
    [
        ("- one\n- two\n", "- one\n- two"),
        ("- kind: added\n  description: Pages\n- description: Words\n", "- added: Pages\n- Words"),
        ("- {kind: added}\n- 7\n", None),
        ("Plain text", "Plain text"),
        ("- [broken", "- [broken"),
        ("  ", None),
    ],
)
def test_changes_become_a_changelog(annotation: str, changelog: str | None) -> None:
    chart = read_chart(packed_chart("web", "1.0.0", about={"annotations": {CHANGES: annotation}}))
    changes = definition_of_chart(chart, REPOSITORY).manifest["spec"].get("changes", {})
    assert changes.get("changelog") == changelog
