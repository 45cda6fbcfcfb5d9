"""Small print: what only shows where two things meet."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.plan import plan_answer
from fleetform.app.scope import Scope
from fleetform.app.telling.plans import _causes
from fleetform.engine.decide import decide
from fleetform.engine.desired import values_tree
from fleetform.engine.placement.spread import SpreadCounts
from fleetform.engine.plan.records import Step
from fleetform.engine.world.opening import Openings
from fleetform.model.kinds.placement import SpreadConstraint
from fleetform.model.state import UNKNOWN
from fleetform.syntax.envsubst import substitute
from fleetform.syntax.hashing import input_hash
from fleetform.syntax.ranges import parse_range
from fleetform.syntax.times import time_text
from support.fleets import BASE, NOW, PRESET, documents, fleet_of, fleet_with, override, plugin_on
from support.plane import Files, Plane
from support.worlds import Folder, manifest, policy, preset

API = "apiVersion: fleetform.dev/v1alpha1\n"
NESTED = (
    f"{API}kind: PluginDefinition\nmetadata: {{name: web, namespace: acme}}\n"
    "spec: {version: 1.0.0, source: {manifests: {path: ./m}}, options: ["
    "{name: tls, type: map, default: {other: 0}}, {name: tls.key, type: string, default: d}]}\n"
)


@pytest.mark.rule("S55")
def test_below_a_map_that_was_replaced_only_those_are_hidden_who_speak_of_the_option() -> None:
    fleet = fleet_with(
        definition=NESTED,
        preset=PRESET.replace("name: replicas, value: 2", "name: tls.key, value: p"),
        part=override("part", "[{path: tls.other, value: 1}]", created="2026-01-01T00:00:00Z"),
        whole=override("whole", "[{path: tls, value: {key: k, other: 2}}]", created="2026-02-01T00:00:00Z"),
    )
    options = plugin_on(fleet, "eu-1").options
    hidden = {name: [item.layer.object.ref.name for item in each.hidden] for name, each in options.items()}
    assert {name: each.value for name, each in options.items()} == {"tls": {"key": "k", "other": 2}, "tls.key": "k"}
    assert hidden == {"tls": ["part", "web", "web", "web"], "tls.key": ["web", "web"]}


def test_an_option_without_a_value_and_one_inside_another_take_no_others_away() -> None:
    options = plugin_on(fleet_with(), "eu-1").options
    assert list(options) == ["args", "host", "labels", "replicas", "token"]
    assert values_tree(options) == {"args": ["a", "b"], "labels": {"team": "none"}, "replicas": 2}
    # A text has no place for what lies inside it; the text stays, and so do all after it.
    text = structs.replace(options["args"], value="text")
    inside = structs.replace(text, value=1, slot=structs.replace(text.slot, steps=("args", "x")))
    assert values_tree({"args": text, "args.x": inside, "replicas": options["replicas"]}) == {
        "args": "text",
        "replicas": 2,
    }


@pytest.mark.rule("B3")
@pytest.mark.parametrize("value", ["{ratio: 1e21, n: 1}", "{ratio: 2.0}", "{n: 1}", "{s: '2.0'}"])
def test_numbers_are_hashed_as_they_are_written_everywhere(value: str) -> None:
    fleet = fleet_with(o=override("o", f"[{{path: labels, value: {value}}}]"))
    plugin = plugin_on(fleet, "eu-1")
    values = values_tree(plugin.options)
    assert fleet.inputs.hash(plugin) == input_hash({**fleet.inputs.parts(plugin), "values": values})


def test_lengths_beyond_64_bits_are_no_numbers() -> None:
    found = substitute("${A:0:-9223372036854775808}|${A:0:-9223372036854775809}", {"A": "alpha"})
    assert found == "|alpha"


@pytest.mark.rule("B18")
def test_the_key_of_digests_has_256_bits() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {k: v}\n"
    plane = Plane(Files({**BASE, "secret.yaml": secret}))
    plane.settle()
    assert len(bytes.fromhex(plane.control.image.known.secret_key)) == 32


@pytest.mark.rule("B9")
def test_of_a_secret_nothing_is_told_in_what_a_change_consists_of() -> None:
    options = "{version: 1.0.0, options: [{name: token, type: secret}, {name: host, type: string}]}"
    folder = Folder(policy=policy(more="trigger: [values]"), certs=manifest("PluginDefinition", "certs", options))
    found = []
    for token in ("hush", "quiet"):
        folder.edit(preset=preset(values=f"[{{name: token, value: {token}}}, {{name: host, value: a}}]"))
        found += [each.wanted.parts for each in folder.fleet.world.changes[0].candidates]
    folder.edit(preset=preset(values="[{name: token, value: hush}, {name: host, value: b}]"))
    (other,) = {each.wanted.parts for each in folder.fleet.world.changes[0].candidates}
    assert len(set(found)) == 1
    assert other not in found


@pytest.mark.rule("S52")
def test_when_to_look_again_is_told_of_what_one_may_see() -> None:
    def of(organization: str) -> dict[str, str]:
        return {f"{organization}-{name}": text.replace("acme", organization) for name, text in BASE.items()}

    fleet = fleet_of({**of("acme"), **of("beta")})
    ours, theirs = NOW + timedelta(hours=2), NOW + timedelta(hours=1)
    times = {"acme": ours, "beta": theirs}
    owners = tuple(structs.replace(each, next_look=times[each.change.owner.organization]) for each in fleet.plan.owners)
    fleet = fleet.planned_as(structs.replace(fleet.plan, owners=owners, next_look=theirs), fleet.state)

    def next_look(visible: frozenset[str] | None) -> str | None:
        return plan_answer(fleet, Scope(None, visible=visible)).next_look_at

    assert next_look(None) == time_text(theirs)
    assert next_look(frozenset({"acme"})) == time_text(ours)


def test_causes_beyond_a_few_are_counted() -> None:
    steps = {f"m{number}": [Step(("acme", f"c{number}", "web"), "block", "Blocked", UNKNOWN)] for number in range(7)}
    told = _causes(steps)
    assert [each.message for each in told] == ["m0", "m1", "m2", "m3", "m4", "2 more messages"]


@pytest.mark.rule("R1-13")
def test_a_placement_of_our_own_chooses_from_sets_by_their_label_alone() -> None:
    labelled = "".join(
        f"---\n{API}kind: Cluster\nmetadata: {{name: {name}, namespace: acme,"
        f" labels: {{cluster.open-cluster-management.io/clusterset: {of}}}}}\n"
        for name, of in (("a", "prod"), ("b", "qa"))
    )
    chosen = {}
    for sets in ("{clusterSets: [prod]}", "{}"):
        placed = f"{API}kind: Placement\nmetadata: {{name: p, namespace: acme}}\nspec: {sets}\n"
        web = PRESET.replace("clusterSelector: {}", "placement: {name: p}")
        fleet = fleet_with(clusters=documents(placed) + labelled, preset=web)
        chosen[sets] = sorted(key[1] for key in fleet.decisions.plugins)
    assert chosen == {"{clusterSets: [prod]}": ["a"], "{}": ["a", "b"]}


@pytest.mark.rule("R1-13", "R0-14")
def test_where_a_placement_chooses_others_plugins_come_and_go() -> None:
    def fleet(region: str) -> Fleet:
        chosen = f"[{{requiredClusterSelector: {{labelSelector: {{matchLabels: {{region: {region}}}}}}}}}]"
        placed = f"{API}kind: Placement\nmetadata: {{name: p, namespace: acme}}\nspec: {{predicates: {chosen}}}\n"
        return fleet_with(placement=placed, preset=PRESET.replace("clusterSelector: {}", "placement: {name: p}"))

    before, after = fleet("eu"), fleet("us")
    others = replace(before.snapshot, others=after.snapshot.others)
    assert [key[1] for key in before.decisions.plugins] == ["eu-1", "eu-2"]
    assert [key[1] for key in decide(others, before.decisions).plugins] == ["us-1"]


def test_the_fewest_of_a_spread_rise_again_and_again() -> None:
    clusters = fleet_with().snapshot.clusters.values()
    counts = SpreadCounts([SpreadConstraint("region", "Label")], clusters)
    assert [counts.add(name) for name in ("eu-1", "us-1", "eu-2", "us-1", "us-1")] == [False, True, False, True, False]


@pytest.mark.rule("R2-41")
def test_below_the_first_minor_version_a_caret_is_one_patch() -> None:
    versions = ["0.0.2", "0.0.3", "0.0.4", "0.1.3", "1.0.3"]
    assert [each for each in versions if parse_range("^0.0.3").admits(each)] == ["0.0.3"]


@pytest.mark.rule("B13")
def test_a_window_of_one_definition_holds_no_other() -> None:
    window = (
        f"{API}kind: UpdateWindow\nmetadata: {{name: nights, namespace: acme}}\n"
        'spec: {type: Allow, schedule: "0 22 * * *", duration: 4h, timeZone: UTC, pluginDefinitionNames: [web]}\n'
    )
    named = PRESET.replace("clusterSelector: {}", "clusterSelector: {}\n  updateWindows: [nights]")
    snapshot = fleet_with(window=window, preset=named).snapshot
    (owner,), cluster = snapshot.presets.values(), next(iter(snapshot.clusters.values()))
    openings = Openings(snapshot, "acme")
    assert openings.of(owner, "web").on(cluster) != openings.of(owner, "db").on(cluster)
    assert openings.of(owner, "db").on(cluster) == openings.of(owner, "cache").on(cluster)


@pytest.mark.rule("S55")
def test_what_a_cluster_says_of_an_option_inside_another_is_in_both() -> None:
    own = "\n  clusterOptionOverrides: [{clusterName: eu-1, overrides: [{name: tls.key, value: own}]}]"
    fleet = fleet_with(
        definition=NESTED,
        preset=PRESET.replace("name: replicas, value: 2", "name: tls.key, value: p") + own.lstrip("\n") + "\n",
    )
    values = {name: each.value for name, each in plugin_on(fleet, "eu-1").options.items()}
    assert values == {"tls": {"other": 0, "key": "own"}, "tls.key": "own"}


@pytest.mark.rule("S55")
def test_what_a_cluster_says_beside_an_option_inside_another_is_in_the_outer_one_alone() -> None:
    maps = NESTED.replace("{name: tls.key, type: string, default: d}", "{name: tls.key, type: map, default: {d: 0}}")
    own = "  clusterOptionOverrides: [{clusterName: eu-1, overrides: [{name: tls.more, value: own}]}]\n"
    fleet = fleet_with(
        definition=maps, preset=PRESET.replace("name: replicas, value: 2", "name: tls.a, value: 1") + own
    )
    values = {name: each.value for name, each in plugin_on(fleet, "eu-1").options.items()}
    assert values == {"tls": {"other": 0, "a": 1, "more": "own", "key": {"d": 0}}, "tls.key": {"d": 0}}


@pytest.mark.parametrize(("length", "valid"), [(53, True), (54, False)])
def test_a_release_has_as_many_characters_as_helm_allows(length: int, valid: bool) -> None:
    named = PRESET.replace("    pluginDefinition:", f"    releaseName: {'r' * length}\n    pluginDefinition:")
    assert ([each.code for each in fleet_with(preset=named).findings.all if each.severity == "error"] == []) is valid
