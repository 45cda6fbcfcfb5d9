"""Definitions that wait for each other."""

from __future__ import annotations

from support.bound import definition_of
from support.fleets import fleet_with


def waiting(name: str, *others: str) -> str:
    return definition_of(name) + f"  dependsOn: [{', '.join(f'{{name: {each}}}' for each in others)}]\n"


def test_definitions_that_wait_for_each_other_are_an_error_that_names_them() -> None:
    fleet = fleet_with(a=waiting("a", "c"), b=waiting("b", "a"), c=waiting("c", "b"), d=waiting("d", "a"))
    [error] = fleet.findings.errors
    assert (error.code, error.message) == ("dependency-cycle", "the definitions a → c → b → a wait for each other")
    assert len(error.related) == 2


def test_definitions_of_two_organizations_do_not_wait_for_each_other() -> None:
    other = waiting("b", "a").replace("namespace: acme", "namespace: globex")
    assert fleet_with(a=waiting("a", "b"), b=other).findings.errors == ()
    platform = waiting("b", "a").replace("namespace: acme", "namespace: fleetform-system")
    assert [each.code for each in fleet_with(a=waiting("a", "b"), b=platform).findings.errors] == ["dependency-cycle"]
    assert fleet_with(a=waiting("a", "b"), b=platform, own=definition_of("b")).findings.errors == ()


def test_definitions_that_wait_for_others_are_fine() -> None:
    assert fleet_with(a=waiting("a", "b", "c"), b=waiting("b", "c"), c=waiting("c", "nowhere")).findings.errors == ()
