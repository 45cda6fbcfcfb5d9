"""What a change of definitions owes its users."""

from __future__ import annotations

import pytest

from fleetform.app.comparing.definition_changes import against
from rules.test_upgrades import Bytes
from support.fleets import DEFINITION, fleet_of

OPTIONS = "  - {name: host, type: string}\n"


def definition(number: str = "1.0.0", options: str = OPTIONS, changes: str = "", more: str = "") -> str:
    head = DEFINITION.split("  options:")[0].replace("1.0.0", number)
    return f"{head}{more}  options:\n{options}" + (f"  changes: {changes}\n" if changes else "")


def findings(before: str, after: str) -> list[tuple[str, str]]:
    return [(each.code, each.severity) for each in against(fleet_of(after), fleet_of(before))]


TO = "  - {name: to, type: string}\n"
INT = "  - {name: host, type: int}\n"
ADMIN = "  - {name: admin, type: string, required: true}\n"


@pytest.mark.rule("R2-10", "S27")
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (definition(), definition(), []),
        (definition(), definition(options="  - {name: host, type: int}\n"), ["changed-without-bump"]),
        (definition(), definition(more="  description: more words\n"), []),
        (definition(), definition("1.0.1", more="  dependsOn: [{name: crds}]\n"), []),
        (definition("1.1.0"), definition("1.0.0"), ["version-went-down"]),
        (definition(), definition("1.0.1", OPTIONS + ADMIN), ["option-required"]),
        (definition(), definition("2.0.0", OPTIONS + ADMIN), []),
        (definition(), definition("1.1.0", OPTIONS + ADMIN, "{migrations: [{require: {name: admin}}]}"), []),
        (definition(), definition("1.1.0", "  - {name: host, type: string, required: true}\n"), ["option-required"]),
        (definition(options=ADMIN), definition("1.1.0", ADMIN.replace("true", "false")), ["requirement-lost"]),
        (definition(), definition("1.1.0", "  - {name: other, type: string}\n"), ["option-removed"]),
        (definition(), definition("1.1.0", TO, "{migrations: [{rename: {from: host, to: to}}]}"), []),
        (definition(), definition("1.1.0", TO, "{migrations: [{remove: {name: host}}]}"), []),
        (definition(), definition("1.1.0", "  - {name: host, type: int}\n"), ["option-retyped"]),
        (definition(), definition("1.1.0", INT, "{migrations: [{retype: {name: host, expression: int(value)}}]}"), []),
        (definition("0.1.0"), definition("0.2.0", "  - {name: host, type: int}\n"), ["option-retyped"]),
    ],
)  # fmt: skip
def test_a_change_of_a_definition_is_held_to_what_it_was(before: str, after: str, expected: list[str]) -> None:
    assert findings(before, after) == [(code, "error") for code in expected]


@pytest.mark.rule("S27")
def test_a_definition_that_is_gone_is_a_warning() -> None:
    assert findings(definition(), definition().replace("name: web", "name: other")) == [
        ("vanished-definition", "warning")
    ]


@pytest.mark.rule("R2-10")
def test_migrations_of_versions_in_between_count() -> None:
    middle = definition("1.1.0", "  - {name: to, type: string}\n", "{migrations: [{rename: {from: host, to: to}}]}")
    last = definition("1.2.0", "  - {name: to, type: string}\n")
    assert findings(definition(), f"{middle}---\n{last}") == []


@pytest.mark.rule("S27")
def test_a_warning_about_its_file_does_not_excuse_a_definition_that_is_gone() -> None:
    gone = definition().replace("name: web", "name: other")
    odd = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: acme}\ndata: {yes: '1'}\n"
    assert [each.severity for each in fleet_of(gone + odd).reading] == ["warning"]
    assert findings(definition(), gone + odd) == [("vanished-definition", "warning")]
    # What cannot be read may be the definition itself.
    assert findings(definition(), gone + "---\nmetadata: {name: [\n") == []


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [("sha256:a", "sha256:a", []), ("sha256:a", "sha256:b", ["changed-without-bump"]), (None, "sha256:b", [])],
)
def test_other_bytes_under_one_version_are_a_change(then: str | None, now: str, expected: list[str]) -> None:
    before, after = (fleet_of(definition(), elsewhere=Bytes(each)) for each in (then, now))
    assert [each.code for each in against(after, before)] == expected
