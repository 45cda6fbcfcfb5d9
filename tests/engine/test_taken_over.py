"""What one pass takes over from the one before: whatever is remembered, the answer is that of a whole pass."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from datetime import timedelta

from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Ref
from fleetform.model.results.diagnostics import Diagnostic
from support.fleets import NOW, fleet_with, override


def definition(version: str, option: str, more: str = "") -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginDefinition\nmetadata: {name: web, namespace: acme}\n"
        f"spec: {{version: {version}, source: {{manifests: {{path: ./m}}}}, options: [{option}]{more}}}\n"
    )


PRESET = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec: {clusterSelector: {}, plugin: {pluginDefinition: {name: web}}}
"""
COUNT = "{name: count, type: int, default: 1}"
LATEST = definition("1.2.0", COUNT)
BETWEEN = definition("1.1.0", COUNT, ", changes: {migrations: [{rename: {from: replicas, to: count}}]}")


def values(decisions: Decisions) -> dict[tuple[str, str, str], dict[str, object]]:
    return {
        key: {name: each.value for name, each in plugin.options.items()} for key, plugin in decisions.plugins.items()
    }


def test_a_version_before_the_one_that_runs_says_what_an_override_of_an_old_name_means() -> None:
    files = {"preset": PRESET, "definition": LATEST, "more": override("more", "[{path: replicas, value: 7}]")}
    before, after = fleet_with(**files), fleet_with(**files, between=BETWEEN)
    kept = {**after.snapshot.definitions, **before.snapshot.definitions}
    snapshot = replace(before.snapshot, definitions=kept)
    again = decide(snapshot, before.decisions)
    assert values(again) == values(decide(snapshot))
    key = ("acme", "eu-1", "web-eu-1")
    assert (values(before.decisions)[key], values(again)[key]) == ({"count": 1}, {"count": 7})


def test_objects_that_are_as_they_were_are_not_checked_again_after_an_edit_of_an_override() -> None:
    before = fleet_with(more=override("more", "[{path: replicas, value: 7}]"))
    assert not before.findings.errors
    after = fleet_with(more=override("more", "[{path: replicas, value: 8}]"))
    after = replace(after, previous=before.decisions, checked=before.checked)

    def checks() -> list[Diagnostic]:
        raise AssertionError("they are checked again")

    assert after.checked.of(after.decisions, "all but overrides", checks) == ()


def test_what_checks_look_for_is_gathered_again_where_clusters_are_decided_anew() -> None:
    before = fleet_with()
    clusters = {ref: each for ref, each in before.snapshot.clusters.items() if ref.name != "us-1"}
    after = decide(replace(before.snapshot, clusters=clusters), before.decisions)
    checked = CheckedObjects()
    (owner,) = before.snapshot.presets.values()

    def owned(decisions: Decisions) -> list[str]:
        return sorted(checked.gathered(decisions).owned[owner])

    assert owned(before.decisions) == ["eu-1", "eu-2", "us-1"]
    assert checked.gathered(before.decisions) is checked.gathered(before.decisions)
    assert owned(after) == ["eu-1", "eu-2"]
    assert Ref("Cluster", "acme", "us-1") not in checked.gathered(after).clusters


def test_findings_about_overrides_that_were_edited_away_are_forgotten_once_there_are_very_many() -> None:
    fleet = fleet_with(over=override("over", "[{path: replicas, value: 3}]"))
    (there,) = fleet.snapshot.overrides.values()
    (preset,) = fleet.snapshot.presets.values()
    checked, made = CheckedObjects(), list[object]()

    def ask(what: Hashable) -> bool:
        """Whether it had to be looked for."""
        before = len(made)

        def check() -> list[Diagnostic]:
            made.append(what)
            return []

        assert checked.of(fleet.decisions, what, check) == ()
        return len(made) > before

    edited = [replace(there) for _ in range(1010)]
    owner = ("owner", preset)
    asked = [there, owner, *edited[:900]]
    assert all(ask(each) for each in asked)
    assert not any(ask(each) for each in asked)
    for each in edited[900:]:
        ask(each)
    assert not any(ask(each) for each in (there, owner))
    assert all(ask(each) for each in edited[:900])


TAINTED = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-3, namespace: acme}
spec: {taints: [{key: maintenance, effect: NoSelect, timeAdded: '2026-11-01T11:00:00Z'}]}
"""
PLACEMENT = """
apiVersion: fleetform.dev/v1alpha1
kind: Placement
metadata: {name: some, namespace: acme}
spec: {tolerations: [{key: maintenance, tolerationSeconds: 7200}]}
"""
PLACED = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec: {placement: {name: some}, plugin: {pluginDefinition: {name: web}}}
"""


def edited_later(hours: int, **files: str) -> tuple[Decisions, Decisions]:
    """Decisions, and those some hours later with another override that reaches all clusters."""
    before = fleet_with(**files, more=override("more", "[{path: replicas, value: 7}]"))
    after = fleet_with(**files, more=override("more", "[{path: replicas, value: 8}]"))
    return before.decisions, decide(replace(after.snapshot, at=NOW + timedelta(hours=hours)), before.decisions)


def test_time_and_an_override_select_no_other_clusters() -> None:
    before, after = edited_later(2)
    assert after.index.selection("acme") is before.index.selection("acme")
    assert values(after) == values(decide(after.index.snapshot))


def test_a_placement_may_choose_others_in_the_pass_in_which_an_override_is_edited() -> None:
    before, after = edited_later(2, cluster=TAINTED, placement=PLACEMENT, preset=PLACED)
    assert sorted(key[1] for key in before.plugins.keys() - after.plugins.keys()) == ["eu-3"]
    assert values(after) == values(decide(after.index.snapshot))


def test_what_a_placement_chooses_still_is_taken_over_with_an_edit_before_its_time_is_up() -> None:
    before, after = edited_later(0, cluster=TAINTED, placement=PLACEMENT, preset=PLACED)
    assert list(after.plugins) == list(before.plugins)
    assert values(after) == values(decide(after.index.snapshot))
