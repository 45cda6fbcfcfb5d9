"""Greenhouse's expressions mean here what their authors see in the text."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.dialects.greenhouse.expressions import UnreadableExpressionError, as_cel
from fleetform.syntax.cel import ExpressionError, evaluate

CONTEXT: dict[str, Any] = {"cluster": {}, "organization": {}, "definition": {}}
METADATA = {"region": "eu", "count": "3", "my-key": "mine", "site": {"zone": "a"}}
GLOBAL = {"greenhouse": {"clusterName": "eu-1", "organizationName": "acme", "ownedBy": "sre", "metadata": METADATA}}


def value_of(text: str) -> Any:
    return evaluate(as_cel(text), CONTEXT, {"global": GLOBAL})


def refusal(text: str) -> str:
    with pytest.raises(UnreadableExpressionError) as caught:
        as_cel(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hello", "hello"),
        ("3", 3),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("", None),
        ("'012'", "012"),
        ("'true'", "true"),
        ("[a, 1]", ["a", 1]),
        ("a: 1\nb: {c: [x]}\n", {"a": 1, "b": {"c": ["x"]}}),
        ('say: "a \\"quoted\\" \\\\ word"\n', {"say": 'a "quoted" \\ word'}),
        ("größer", "größer"),
    ],
)
def test_a_text_without_placeholders_is_the_yaml_it_is(text: str, value: Any) -> None:
    found = value_of(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${global.greenhouse.clusterName}", "eu-1"),
        ("${global.greenhouse.organizationName}", "acme"),
        ("${global.greenhouse.metadata.region}", "eu"),
        ("${global.greenhouse.metadata['my-key']}", "mine"),
        ('${global.greenhouse.metadata["my-key"]}', "mine"),
        ("${global.greenhouse.metadata.site.zone}", "a"),
        ("${global.greenhouse.ownedBy}", "sre"),
        ("${has(global.greenhouse.metadata.region) ? 'yes' : 'no'}", "yes"),
        ("${has(global.greenhouse.metadata.zone) ? 'yes' : 'no'}", "no"),
        ("${'region' in global.greenhouse.metadata ? 'yes' : 'no'}", "yes"),
        ("${global.greenhouse.metadata.region in ['eu', 'us'] ? 'yes' : 'no'}", "yes"),
        ("${global.greenhouse.metadata.region.startsWith('e') ? 'yes' : 'no'}", "yes"),
    ],
)
def test_what_greenhouse_knows_can_be_read(text: str, value: str) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x-${global.greenhouse.clusterName}-y", "x-eu-1-y"),
        ("${global.greenhouse.clusterName}.${global.greenhouse.metadata.region}", "eu-1.eu"),
        ("n${1 + 1}", "n2"),
        ("'it''s ${1}'", "it's 1"),
        ("a: |\n  x ${1}\n  y\n", {"a": "x 1\ny\n"}),
        ("$${1}", "$1"),
    ],
)
def test_a_placeholder_inside_a_text_becomes_part_of_it(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${1 + 1}", 2),
        ("${ 1 < 2 }", True),
        ("${1.5}", 1.5),
        ("${[1, 'a']}", [1, "a"]),
        ("${int(global.greenhouse.metadata.count) * 2}", 6),
        ("a: ${1 + 1} # two\n", {"a": 2}),
    ],
)
def test_a_placeholder_that_is_a_whole_scalar_keeps_its_type(text: str, value: Any) -> None:
    found = value_of(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["'${1 + 1}'", '"${1 + 1}"'])
def test_a_quoted_placeholder_is_text(text: str) -> None:
    assert value_of(text) == "2"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${{'a': {'b': 1}}}", {"a": {"b": 1}}),
        ("${ {'a': '}'} }", {"a": "}"}),
        ("x${{'a': 'b'}['a']}y", "xby"),
        ("${'it\\'s }'}", "it's }"),
        ('${"{"}', "{"),
    ],
)
def test_braces_inside_a_placeholder_do_not_end_it(text: str, value: Any) -> None:
    assert value_of(text) == value


def test_placeholders_stand_anywhere_in_maps_and_lists() -> None:
    text = """
    hosts:
    - ${global.greenhouse.clusterName}.example.org
    - name: "${1 + 1}"
      port: ${8000 + 80}
    of-${global.greenhouse.metadata.region}: [1, "${'x'}"]
    """
    assert value_of(text) == {
        "hosts": ["eu-1.example.org", {"name": "2", "port": 8080}],
        "of-eu": [1, "x"],
    }


@pytest.mark.parametrize("text", ["${1", "a ${'}'", "${{'a': 1}", "${'a}"])
def test_a_placeholder_that_is_not_closed_is_refused(text: str) -> None:
    assert refusal(text) == "a ${ is not closed"


@pytest.mark.parametrize("name", ["nope", "clusterNames", "metadata.nope"])
def test_a_name_that_greenhouse_does_not_set_gives_no_value(name: str) -> None:
    with pytest.raises(ExpressionError, match="there is no key"):
        value_of(f"${{global.greenhouse.{name}}}")


def test_names_outside_placeholders_are_text() -> None:
    assert value_of("global.greenhouse.nope") == "global.greenhouse.nope"


def test_what_is_not_yaml_is_refused() -> None:
    assert refusal("a: [${1}").startswith("it is not YAML: ")


def test_characters_of_all_planes_are_text() -> None:
    assert value_of("😀") == "😀"


def test_a_text_inside_a_placeholder_may_end_with_a_backslash() -> None:
    assert value_of(r"${'a\\'}") == "a\\"


def test_a_name_inside_a_text_of_an_expression_is_text() -> None:
    assert value_of("${'global.greenhouse.clusterName'}") == "global.greenhouse.clusterName"


def test_whole_numbers_of_64_bits_are_read() -> None:
    assert value_of("12345678901234567890") == 12345678901234567890
