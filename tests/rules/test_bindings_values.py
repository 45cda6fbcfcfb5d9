"""What a mention becomes: its type, its text, and what escapes are."""

from __future__ import annotations

from typing import Any

import pytest

from support.bound import HOST, bound_fleet, config_map, field_of, gates_on, option_on, told


@pytest.mark.rule("R3-12", "B6")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("$(A)", "v"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$v"),
        ("$$$$(A)", "$$(A)"),
        ("$$$$$(A)", "$$v"),
        ("a$(A)b$(A)", "avbv"),
        ("${A}", "${A}"),
        ("$${A}", "$${A}"),
        ("$A $$A $$", "$A $$A $$"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("$$()", "$()"),
        ("($(A))", "(v)"),
    ],
)
def test_dollars_before_a_parenthesis_escape_each_other_and_all_others_are_text(written: str, expected: str) -> None:
    assert option_on(bound_fleet(f"[{{name: host, value: '{written}'}}]", "[{name: A, value: v}]")) == expected


@pytest.mark.rule("R3-14", "R3-24")
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("replicas", "7", 7),
        ("host", "text", "text"),
        ("host", "'3'", "3"),
        ("labels", "{a: 1, b: [true]}", {"a": 1, "b": [True]}),
        ("args", "[1, false, x]", [1, False, "x"]),
    ],
)
def test_a_mention_that_is_all_of_a_value_keeps_the_type(option: str, value: str, expected: Any) -> None:
    fleet = bound_fleet(
        f"[{{name: {option}, value: $(X)}}]", f"[{{name: X, value: $(Z)}}, {{name: Z, value: {value}}}]"
    )
    assert not fleet.findings.all
    assert option_on(fleet, option) == expected
    assert type(option_on(fleet, option)) is type(expected)


@pytest.mark.rule("R3-24")
@pytest.mark.parametrize(
    ("value", "expected"),
    [("3030", "<3030>"), ("true", "<true>"), ("1.5", "<1.5>"), ("1.0", "<1>"), ("text", "<text>"), ("''", "<>")],
)
def test_a_mention_within_text_becomes_text(value: str, expected: str) -> None:
    fleet = bound_fleet("[{name: host, value: <$(X)>}]", f"[{{name: X, value: {value}}}]")
    assert option_on(fleet) == expected


@pytest.mark.rule("R3-24", "S37")
@pytest.mark.parametrize("value", ["[1]", "{a: 1}"])
def test_an_aggregate_within_text_is_an_error_that_names_it(value: str) -> None:
    fleet = bound_fleet("[{name: host, value: a-$(X)}]", f"[{{name: X, value: {value}}}]")
    assert told(fleet, "bad-value") == ["$(X) is used inside text, but is a map or a list"]
    assert told(fleet, "unbound") == []
    assert gates_on(fleet) == ["value-type"]


@pytest.mark.rule("R3-24", "S37")
def test_an_aggregate_that_an_object_holds_is_no_text_either() -> None:
    fleet = bound_fleet(
        "[{name: host, value: a-$(X)}]", field_of("ConfigMap", "c", "/data"), c=config_map("c", plain="text")
    )
    assert not fleet.findings.errors
    assert gates_on(fleet) == ["value-type"]


@pytest.mark.rule("R3-24")
@pytest.mark.parametrize(
    ("value", "how", "expected"),
    [
        ("{b: 1, a: [true, x]}", "json", '{"a":[true,"x"],"b":1}'),
        ("{b: 1, a: [true, x]}", "string", '{"a":[true,"x"],"b":1}'),
        ("{b: 1, a: [true, x]}", "yaml", "a:\n  - true\n  - x\nb: 1"),
        ("3030", "string", "3030"),
        ("true", "json", "true"),
        ("text", "json", '"text"'),
        ("aGVsbG8=", "base64decode", "hello"),
    ],
)
def test_as_makes_text_of_any_value(value: str, how: str, expected: str) -> None:
    fleet = bound_fleet(
        "[{name: host, value: $(X)}, {name: args, value: ['<$(X)>']}]", f"[{{name: X, value: {value}, as: {how}}}]"
    )
    assert option_on(fleet) == expected
    assert option_on(fleet, "args") == [f"<{expected}>"]


@pytest.mark.rule("R3-14")
def test_null_is_no_value_of_a_binding() -> None:
    assert told(bound_fleet(HOST, "[{name: X, value: null}]"), "null-value") == ["X cannot be null"]


@pytest.mark.rule("R3-14")
def test_a_value_that_breaks_the_options_rules_after_expansion_is_a_gate() -> None:
    fleet = bound_fleet("[{name: replicas, value: $(X)}]", "[{name: X, value: '3'}]")
    (gate,) = fleet.decisions.plugins["acme", "eu-1", "web-eu-1"].gates
    assert (gate.gate, gate.option) == ("value-type", "replicas")
    assert 'not the text "3"' in gate.message
    too_many = bound_fleet("[{name: replicas, value: $(X)}]", "[{name: X, value: 100}]")
    assert gates_on(too_many) == ["value-type"]
