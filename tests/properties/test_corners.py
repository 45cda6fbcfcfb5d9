"""Corners that random fleets showed to be easy to get wrong, each as small as it can be."""

from __future__ import annotations

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.report.effects import applied_overrides
from properties.seen import seen_option
from support.fleets import DEFINITION, codes, documents, fleet_with, override, plugin_on, value_on

ON_ONE = "clusterSelector: {clusterNames: [eu-1]}"


def _fleet_with_overrides(*texts: str) -> Fleet:
    return fleet_with(overrides=documents(*texts))


# ---- Provenance


@pytest.mark.rule("R0-18")
def test_a_removal_that_lost_is_among_the_applied_overrides() -> None:
    fleet = _fleet_with_overrides(
        override("all", "[{path: replicas, strategy: Remove}]"), override("one", "[{path: replicas, value: 9}]", ON_ONE)
    )
    plugin = plugin_on(fleet, "eu-1")
    applied = applied_overrides(plugin.shared.overrides, plugin.options)
    assert [each.override.ref.name for each in applied] == ["all", "one"]


@pytest.mark.rule("S20")
def test_a_part_hides_what_a_part_above_it_said() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: labels.a, value: {x: 1}}]"), override("b", "[{path: labels.a.x, value: 2}]")
    )
    inner = seen_option(plugin_on(fleet, "eu-1").options["labels"]).parts[-1]
    assert [voice.object for voice in inner.hidden] == ["a"]


# ---- Ties


@pytest.mark.rule("R0-23")
def test_a_tie_shows_although_an_agreeing_override_stands_between() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: replicas, value: 1}]"),
        override("b", "[{path: replicas, value: 2}]"),
        override("c", "[{path: replicas, value: 2}]"),
    )
    assert "tie-undecided" in codes(fleet)


@pytest.mark.rule("R0-23")
def test_a_removal_and_a_value_of_one_rank_are_a_tie() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: replicas, value: 1}]"), override("b", "[{path: replicas, strategy: Remove}]")
    )
    assert "tie-undecided" in codes(fleet)


@pytest.mark.rule("R0-23")
def test_two_merges_that_agree_on_a_part_are_no_tie_there() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: labels, value: {a: 1, b: 1}, strategy: Merge}]"),
        override("b", "[{path: labels, value: {a: 2, b: 1}, strategy: Merge}]"),
    )
    parts = seen_option(plugin_on(fleet, "eu-1").options["labels"]).parts
    assert {part.form: part.tie for part in parts} == {("a",): "name", ("b",): None}


@pytest.mark.rule("R0-23")
def test_a_tie_on_two_parts_counts_a_plugin_once() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: labels, value: {a: 1, b: 1}, strategy: Merge}]"),
        override("b", "[{path: labels, value: {a: 2, b: 2}, strategy: Merge}]"),
    )
    assert [each.message for each in fleet.findings.all if "on 3 plugins" in each.message]


# ---- Values


@pytest.mark.rule("R0-12")
def test_a_later_value_hides_what_could_not_be_applied() -> None:
    fleet = _fleet_with_overrides(
        override("all", '[{path: "args[7]", value: x}]'), override("one", "[{path: args, value: [z]}]", ON_ONE)
    )
    assert value_on(fleet, "eu-1", "args") == ["z"]
    assert not plugin_on(fleet, "eu-1").gates


@pytest.mark.rule("R0-8")
def test_a_step_that_looks_like_an_index_reaches_the_option_that_has_one() -> None:
    definition = DEFINITION + "  - {name: 'flags[0]', type: string}\n"
    fleet = fleet_with(definition=definition, overrides=override("one", "[{path: flags.0, value: x}]"))
    assert value_on(fleet, "eu-1", "flags[0]") == "x"


@pytest.mark.rule("R0-7")
def test_spellings_of_one_undeclared_path_are_one_option() -> None:
    fleet = _fleet_with_overrides(
        override("a", "[{path: x.y, value: 1}]", "allowUndeclared: true"),
        override("b", "[{path: /x/y, value: 2}]", "allowUndeclared: true"),
    )
    undeclared = [each for each in plugin_on(fleet, "eu-1").options.values() if each.slot.option is None]
    assert [each.value for each in undeclared] == [2]


@pytest.mark.rule("S18")
def test_a_number_is_a_key_in_a_map_option_that_has_no_value_yet() -> None:
    definition = DEFINITION.replace(", default: {team: none}", "")
    fleet = fleet_with(definition=definition, overrides=override("one", "[{path: /labels/0, value: x}]"))
    assert value_on(fleet, "eu-1", "labels") == {"0": "x"}


# ---- Order and names


PLUGIN = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {{name: {name}, namespace: acme}}
spec: {{clusterName: eu-1, pluginDefinition: {definition}, releaseName: own, optionValues: {{{values}}}}}
"""


@pytest.mark.rule("R0-14")
@pytest.mark.parametrize("what", ["value", "findings", "skipped"])
def test_order_of_keys_in_option_values_changes_nothing(what: str) -> None:
    pairs = ["no-b: 1", "labels: {x: 1}", "labels.x: 2", "no-a: 1"]
    answers = []
    for values in (pairs, pairs[::-1]):
        fleet = fleet_with(plugin=PLUGIN.format(name="by-hand", definition="web", values=", ".join(values)))
        plugin = fleet.decisions.plugins["acme", "eu-1", "by-hand"]
        findings = sorted((each.code, each.message) for each in fleet.findings.all)
        skipped = [each.item.text for each in plugin.skipped]
        answers.append({"value": plugin.options["labels"].value, "findings": findings, "skipped": skipped}[what])
    assert answers[0] == answers[1]


@pytest.mark.rule("B4")
def test_a_plugin_named_as_a_generated_one_is_no_silent_replacement() -> None:
    other = DEFINITION.replace("name: web", "name: other")
    fleet = fleet_with(other=other, plugin=PLUGIN.format(name="web-eu-1", definition="other", values=""))
    assert [each for each in fleet.findings.all if each.severity == "error"]
