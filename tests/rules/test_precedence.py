"""Which layer wins."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.engine.decide import decide
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Item
from fleetform.model.snapshot import Snapshot
from fleetform.ports.state import KnownState
from support.fleets import BASE, NOW, codes, documents, fleet_of, fleet_with, override, plugin_on, value_on

EU_1 = "clusterSelector: {clusterNames: [eu-1]}"
WEB = "pluginDefinitionNames: [web]"

LAYERED = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: web}
    optionValues: [{name: replicas, value: 2}]
  groups:
  - name: eu
    clusterSelector: {matchLabels: {region: eu}}
    optionValues: [{name: replicas, value: 3}, {name: host, value: eu}]
  - {name: gold, clusterSelector: {matchLabels: {tier: gold}}, optionValues: [{name: replicas, value: 4}]}
  clusterOptionOverrides:
  - {clusterName: eu-1, overrides: [{name: replicas, value: 5}]}
"""
INSTANCE = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-1, namespace: acme}
spec:
  presetRef: {name: web}
  optionValues: [{name: replicas, value: 6}]
"""


def said_by(item: Item | None) -> tuple[str, str, str]:
    assert item is not None
    return item.layer.name, item.layer.object.ref.name, item.layer.part


def chain(fleet: Fleet, cluster: str, option: str = "replicas") -> list[tuple[str, str, str]]:
    """Who speaks of an option, the winner first."""
    decision = plugin_on(fleet, cluster).options[option]
    return [said_by(item) for item in (decision.winner, *decision.hidden)]


@pytest.mark.rule("B14", "R0-10", "R0-12", "R0-13", "B4")
def test_default_preset_group_cluster_instance_and_overrides_by_rank_in_that_order() -> None:
    overrides = documents(
        override("both", "[{path: replicas, value: 9}]", f"{EU_1}, {WEB}"),
        override("one", "[{path: replicas, value: 8}]", EU_1),
        override("none", "[{path: replicas, value: 7}]"),
    )
    fleet = fleet_with(preset=LAYERED, instance=INSTANCE, overrides=overrides)
    assert codes(fleet) == ["shadowed-override"]
    assert chain(fleet, "eu-1") == [
        ("override", "both", "cluster and definition"),
        ("override", "one", "cluster"),
        ("override", "none", "organization"),
        ("instance", "web-eu-1", ""),
        ("cluster", "web", "eu-1"),
        ("group", "web", "gold"),
        ("group", "web", "eu"),
        ("preset", "web", ""),
        ("default", "web", "1.0.0"),
    ]
    assert plugin_on(fleet, "eu-1").options["replicas"].value == 9


@pytest.mark.rule("R0-10", "S16")
def test_cluster_only_and_definition_only_are_one_rank() -> None:
    overrides = documents(
        override("a", "[{path: replicas, value: 8}]", EU_1, created="2026-01-01"),
        override("b", "[{path: replicas, value: 9}]", WEB, created="2026-02-01"),
    )
    fleet = fleet_with(overrides=overrides)
    decision = plugin_on(fleet, "eu-1").options["replicas"]
    assert [item.layer.rank for item in (decision.winner, decision.hidden[0]) if item] == [2, 2]
    assert decision.value == 9


@pytest.mark.rule("S16")
def test_ranks_are_numbered_from_preset_to_both() -> None:
    overrides = documents(
        override("both", "[{path: replicas, value: 9}]", f"{EU_1}, {WEB}"),
        override("none", "[{path: replicas, value: 7}]"),
    )
    decision = plugin_on(fleet_with(overrides=overrides), "eu-1").options["replicas"]
    assert [item.layer.rank for item in (decision.winner, *decision.hidden) if item] == [3, 1, 0, 0]


@pytest.mark.rule("R0-11")
@pytest.mark.parametrize("names", list(permutations("abc")))
def test_in_a_rank_the_newest_wins_whatever_its_name(names: tuple[str, ...]) -> None:
    texts = [
        override(name, f"[{{path: replicas, value: {month}}}]", created=f"2026-0{month}-01")
        for month, name in enumerate(names, start=1)
    ]
    decision = plugin_on(fleet_with(overrides=documents(*texts)), "eu-1").options["replicas"]
    assert (decision.value, decision.tie) == (3, "created")


@pytest.mark.rule("R0-11", "S16", "B7")
def test_equal_times_are_settled_by_name_and_the_last_name_wins() -> None:
    texts = [override(name, f"[{{path: host, value: {name}}}]", created="2026-01-01") for name in ("b", "c", "a")]
    fleet = fleet_with(overrides=documents(*texts))
    decision = plugin_on(fleet, "eu-1").options["host"]
    assert (decision.value, decision.tie) == ("c", "name")
    assert "tie-undecided" not in codes(fleet)


@pytest.mark.rule("B7")
def test_no_stamp_is_newest_and_a_tie_without_any_stamp_warns() -> None:
    stamped = override("z", "[{path: host, value: z}]", created="2026-10-01")
    bare = [override(name, f"[{{path: host, value: {name}}}]") for name in ("a", "b")]
    assert value_on(fleet_with(overrides=documents(stamped, bare[0])), "eu-1", "host") == "a"
    fleet = fleet_with(overrides=documents(stamped, *bare))
    assert value_on(fleet, "eu-1", "host") == "b"
    assert "tie-undecided" in codes(fleet)


@pytest.mark.rule("B7")
def test_an_undecided_tie_is_an_error_under_strict() -> None:
    texts = documents(*(override(name, f"[{{path: host, value: {name}}}]") for name in ("a", "b")))
    fleet = fleet_of({**BASE, "overrides.yaml": texts}, strict=True)
    assert ("tie-undecided", "error") in [(each.code, each.severity) for each in fleet.findings.all]


@pytest.mark.rule("B7")
def test_the_states_stamp_goes_before_the_annotation_and_that_before_the_timestamp() -> None:
    older = override("a", "[{path: host, value: a}]", created="2026-05-01")
    newer = override("b", "[{path: host, value: b}]", created="2026-06-01")
    timestamp = newer.replace("annotations: {fleetform.dev/created: '2026-06-01'}", "creationTimestamp: '2026-07-01'")
    both = older.replace("annotations:", "creationTimestamp: '2026-12-01', annotations:")
    assert value_on(fleet_with(overrides=documents(older, newer)), "eu-1", "host") == "b"
    assert value_on(fleet_with(overrides=documents(both, timestamp)), "eu-1", "host") == "b"
    state = KnownState(stamps={Ref("PluginOverride", "acme", "a"): "2026-09-01"})
    fleet = fleet_of({**BASE, "overrides.yaml": documents(older, newer)}, state=state)
    assert value_on(fleet, "eu-1", "host") == "a"


def test_a_stamp_that_is_no_time_is_named_at_its_place() -> None:
    fleet = fleet_with(override=override("a", "[{path: host, value: a}]", created="yesterday"))
    assert [(each.code, each.path) for each in fleet.findings.all] == [
        ("bad-stamp", "metadata.annotations.fleetform.dev/created")
    ]


@pytest.mark.rule("R0-12")
def test_an_override_changes_the_plugins_it_reaches_and_no_others() -> None:
    fleet = fleet_with(override=override("o", "[{path: replicas, value: 9}]", EU_1))
    assert [value_on(fleet, cluster, "replicas") for cluster in ("eu-1", "eu-2", "us-1")] == [9, 2, 2]


@pytest.mark.rule("R0-13")
@pytest.mark.parametrize("field", ["clusterOptionOverrides", "clusterOverrides"])
def test_all_blocks_of_a_cluster_apply_in_order(field: str) -> None:
    preset = BASE["preset.yaml"] + (
        f"  {field}:\n"
        "  - {clusterName: eu-1, overrides: [{name: replicas, value: 5}, {name: host, value: first}]}\n"
        "  - {clusterName: eu-1, overrides: [{name: replicas, value: 6}]}\n"
    )
    fleet = fleet_with(preset=preset)
    assert (value_on(fleet, "eu-1", "replicas"), value_on(fleet, "eu-1", "host")) == (6, "first")
    assert value_on(fleet, "eu-2", "replicas") == 2


@pytest.mark.rule("S1")
def test_of_several_groups_that_match_the_last_wins_option_by_option() -> None:
    fleet = fleet_with(preset=LAYERED)
    assert (value_on(fleet, "us-1", "replicas"), value_on(fleet, "eu-2", "replicas")) == (4, 3)
    eu_1 = plugin_on(fleet, "eu-1").options
    assert said_by(eu_1["host"].winner) == ("group", "web", "eu")


@pytest.mark.rule("R0-14", "R0-15")
def test_an_override_added_and_removed_leaves_no_trace() -> None:
    before = fleet_with()
    during = fleet_with(override=override("o", "[{path: replicas, value: 9}]"))
    added = decide(_with_same_objects(before, during), before.decisions)
    assert added.plugins["acme", "eu-1", "web-eu-1"].options["replicas"].value == 9
    removed = decide(before.snapshot, added)
    assert _answers(removed.plugins) == _answers(before.decisions.plugins)


@pytest.mark.rule("R0-15")
def test_deciding_rewrites_nothing_that_a_person_wrote() -> None:
    fleet = fleet_with(preset=LAYERED, override=override("o", "[{path: labels, value: {a: 1}, strategy: Merge}]"))
    written = copy.deepcopy([(each.ref, each.spec) for each in fleet.snapshot.objects])
    assert fleet.decisions.plugins
    assert [(each.ref, each.spec) for each in fleet.snapshot.objects] == written


@pytest.mark.rule("R0-19")
def test_a_second_pass_decides_nothing_anew() -> None:
    fleet = fleet_with(preset=LAYERED, override=override("o", "[{path: replicas, value: 9}]"))
    first = decide(fleet.snapshot)
    second = decide(fleet.snapshot, first)
    assert all(second.plugins[key] is plugin for key, plugin in first.plugins.items())


MINE = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: mine, namespace: acme}
spec: {pluginDefinition: web, clusterName: eu-1, releaseName: mine, optionValues: {replicas: 8}}
"""
BESIDE = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-2, namespace: acme}
spec: {presetRef: {name: web}, optionValues: {replicas: 6}}
"""
POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: LifecyclePolicy
metadata: {name: default, namespace: fleetform-system}
spec: {support: [{definition: web, yanked: [1.0.0]}]}
"""
EVENTS: dict[str, dict[str, str]] = {
    "override created": {"override.yaml": override("o", "[{path: replicas, value: 9}]")},
    "override deleted": {"old.yaml": ""},
    "override updated": {"old.yaml": override("old", "[{path: host, value: other}]")},
    "preset updated": {"preset.yaml": LAYERED},
    "preset deleted": {"preset.yaml": ""},
    "preset created": {"more.yaml": LAYERED.replace("name: web, namespace", "name: more, namespace")},
    "plugin created": {"instance.yaml": INSTANCE},
    "plugin updated": {"mine.yaml": MINE.replace("replicas: 8", "replicas: 7")},
    "plugin deleted": {"mine.yaml": ""},
    "beside a preset updated": {"beside.yaml": BESIDE.replace("replicas: 6", "replicas: 7")},
    "beside a preset deleted": {"beside.yaml": ""},
    "policy created": {"policy.yaml": POLICY},
    "cluster relabelled": {"clusters.yaml": BASE["clusters.yaml"].replace("region: us", "region: eu")},
    "cluster removed": {"clusters.yaml": BASE["clusters.yaml"].rsplit("---", 1)[0]},
    "cluster added": {
        "new.yaml": "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: eu-3, namespace: acme}\n"
    },
    "revision added": {
        "new.yaml": BASE["definition.yaml"].replace("1.0.0", "1.1.0").replace("default: 1,", "default: 7,")
    },
}


@pytest.mark.rule("R0-16")
@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_decided_again_as_if_for_the_first_time(event: str) -> None:
    old = override("old", "[{path: host, value: old}]", "clusterSelector: {matchLabels: {region: us}}")
    start = {**BASE, "old.yaml": old, "mine.yaml": MINE, "beside.yaml": BESIDE}
    first = fleet_of(start)
    then = fleet_of({**start, **EVENTS[event]})
    again = decide(_with_same_objects(first, then), first.decisions)
    anew = decide(then.snapshot)
    assert _answers(again.plugins) == _answers(anew.plugins)
    assert _answers(anew.plugins) != _answers(first.decisions.plugins)


def _with_same_objects(first: Fleet, then: Fleet) -> Snapshot:
    """The later snapshot, holding the earlier one's objects where nothing changed, as a store's cache would."""
    fields: dict[str, Any] = {}
    for name in ("organizations", "clusters", "definitions", "presets", "plugins", "overrides", "others"):
        old, new = getattr(first.snapshot, name), getattr(then.snapshot, name)
        fields[name] = {key: old[key] if key in old and _same(old[key], each) else each for key, each in new.items()}
    return replace(then.snapshot, at=NOW, **fields)


def _same(one: object, other: object) -> bool:
    parts = ("spec", "metadata")
    return all(getattr(one, part) == getattr(other, part) for part in parts)


def _answers(plugins: object) -> dict[object, object]:
    assert isinstance(plugins, Mapping)
    return {
        key: (
            plugin.version,
            [
                (name, each.value, said_by(each.winner) if each.winner else None)
                for name, each in plugin.options.items()
            ],
        )
        for key, plugin in plugins.items()
    }


@pytest.mark.rule("R0-17")
def test_hand_made_and_preset_made_plugins_with_the_same_inputs_get_the_same_values() -> None:
    by_hand = """
    apiVersion: fleetform.dev/v1alpha1
    kind: Plugin
    metadata: {name: mine, namespace: acme}
    spec:
      pluginDefinition: {name: web}
      clusterName: eu-1
      releaseName: mine
      optionValues: [{name: replicas, value: 2}]
    """
    fleet = fleet_with(plugin=by_hand, override=override("o", "[{path: host, value: x}]", WEB))
    plugins = fleet.decisions.plugins
    values = [
        {name: option.value for name, option in plugins["acme", "eu-1", plugin].options.items()}
        for plugin in ("mine", "web-eu-1")
    ]
    assert values[0] == values[1]
    assert values[0]["host"] == "x"


@pytest.mark.rule("R0-20")
def test_an_override_that_matches_nothing_changes_nothing() -> None:
    without = fleet_with()
    with_one = fleet_with(
        override=override("o", "[{path: replicas, value: 9}]", "clusterSelector: {clusterNames: [no]}")
    )
    assert _answers(with_one.decisions.plugins) == _answers(without.decisions.plugins)


@pytest.mark.rule("B5")
def test_an_override_edits_values_only_never_bindings_or_transforms() -> None:
    preset = (
        BASE["preset.yaml"] + "  controlPlaneBindings: [{name: HOST, value: a}]\n  transforms: [{plugin: mirror}]\n"
    )
    items = "[{path: controlPlaneBindings, value: []}, {path: transforms, value: []}, {path: replicas, value: 9}]"
    fleet = fleet_with(preset=preset, override=override("o", items))
    plugin = plugin_on(fleet, "eu-1")
    assert [skipped.item.text for skipped in plugin.skipped] == ["controlPlaneBindings", "transforms"]
    spec = plugin.target.owner.spec
    bindings, transforms = spec.control_plane_bindings or [], spec.transforms or []
    assert (bindings[0].value, transforms[0].plugin) == (
        "a",
        "mirror",
    )
