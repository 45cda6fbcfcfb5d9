"""What one pass takes over from the one before: whatever is remembered, the answer is that of a whole pass."""

from __future__ import annotations

from dataclasses import replace

from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Ref
from support.fleets import fleet_with, override


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
