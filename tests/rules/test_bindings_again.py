"""What bindings read changes: who is decided again, and that the answer is that of a fresh pass."""

from __future__ import annotations

import pytest

from fleetform.engine.decide import decide
from fleetform.ports.state import KnownState
from support.bound import (
    HOST,
    config_map,
    definition_of,
    edited,
    everything,
    field_of,
    fleet_and,
    preset,
    secret,
    thing,
)
from support.fleets import CLUSTERS, documents
from support.states import states

SERVICE = "  bindings: [{name: X, objectFieldRef: {kind: Service, name: s, fieldPath: /spec/clusterIP}}]\n"
Files = dict[str, str]


def decided_again(
    before: Files, after: Files, state: KnownState | None = None, later: KnownState | None = None
) -> set[str]:
    """The plugins that a pass after an edit decides again; its answer must be that of a fresh one."""
    first = fleet_and(before, state).snapshot
    second = edited(first, fleet_and(after, later).snapshot)
    earlier = decide(first)
    again = decide(second, earlier)
    assert everything(again) == everything(decide(second))
    assert everything(again) != everything(earlier)
    return {key[2] for key, plugin in again.plugins.items() if plugin is not earlier.plugins.get(key)}


def everywhere(*owners: str) -> set[str]:
    return {f"{owner}-{cluster}" for owner in owners for cluster in ("eu-1", "eu-2", "us-1")}


BYSTANDER = documents(
    preset("[{name: host, value: $(X)}]", field_of("ConfigMap", "other", "/data/k"), name="by"), definition_of("by")
)


ONE, TWO = config_map("c", k="1"), config_map("c", k="2")
KIND = ", {name: KIND, value: Map}]"


@pytest.mark.rule("R3-8", "R0-16")
@pytest.mark.parametrize(
    ("bindings", "before", "after"),
    [
        (field_of("ConfigMap", "c", "/data/k"), ONE, TWO),
        (field_of("ConfigMap", "c", "/data/k"), "", TWO),
        (field_of("ConfigMap", "c", "/data/k"), ONE, ""),
        (field_of("ConfigMap", "$(C)", "/data/k")[:-1] + ", {name: C, value: c}]", ONE, TWO),
        (field_of("Config$(KIND)", "c", "/data/k")[:-1] + KIND, ONE, TWO),
        (field_of("Secret", "s", "/data/k"), secret("s", k="1"), secret("s", k="2")),
        (
            field_of("Machine", "m", "/spec/ip"),
            thing("Machine", "m", "spec: {ip: 1}", version="x.io/v1"),
            thing("Machine", "m", "spec: {ip: 2}", version="x.io/v1"),
        ),
    ],
)
def test_an_object_that_changes_has_those_decided_again_that_read_it(bindings: str, before: str, after: str) -> None:
    base = {"preset": preset(HOST, bindings), "by": BYSTANDER, "other": config_map("other", k="o")}
    assert decided_again({**base, "object": before}, {**base, "object": after}) == everywhere("web")


@pytest.mark.rule("R3-8")
def test_the_hint_at_a_missing_object_follows_those_that_exist() -> None:
    base = {"preset": preset(HOST, field_of("ConfigMap", "c", "/data/k"))}
    assert decided_again(base, {**base, "near": config_map("near", k="1")}) == everywhere("web")


@pytest.mark.rule("R3-8")
def test_a_field_that_nobody_reads_may_change() -> None:
    base = {"preset": preset(HOST, field_of("ConfigMap", "c", "/data/k")), "c": config_map("c", k="1")}
    before = fleet_and(base).snapshot
    after = edited(before, fleet_and({**base, "d": config_map("d", k="1")}).snapshot)
    earlier = decide(before)
    assert all(plugin is earlier.plugins[key] for key, plugin in decide(after, earlier).plugins.items())


@pytest.mark.rule("R3-8", "R0-16")
@pytest.mark.parametrize(
    "bindings",
    [
        "[{name: X, value: $(cluster.labels.tier)}]",
        "[{name: X, clusterFieldRef: {path: /metadata/labels/tier}}]",
        field_of("Cluster", "$(CLUSTER_NAME)", "/metadata/labels/tier"),
    ],
)
def test_a_cluster_that_changes_has_its_own_plugins_decided_again(bindings: str) -> None:
    base = {"preset": preset(HOST, bindings)}
    relabelled = {**base, "clusters": CLUSTERS.replace("tier: dev", "tier: silver")}
    assert decided_again(base, relabelled) == {"web-eu-2"}


@pytest.mark.rule("R3-8")
def test_a_cluster_that_others_read_has_theirs_decided_again() -> None:
    base = {"preset": preset(HOST, field_of("Cluster", "eu-2", "/metadata/labels/tier"))}
    relabelled = {**base, "clusters": CLUSTERS.replace("tier: dev", "tier: silver")}
    assert decided_again(base, relabelled) == everywhere("web")


@pytest.mark.rule("R3-8", "R3-4")
def test_what_a_producer_reads_reaches_those_that_read_its_outputs() -> None:
    consumer = preset(HOST, "[{name: X, pluginOutputRef: {definition: mid, output: out}}]")
    mid = documents(
        preset("[]", "[{name: X, pluginOutputRef: {definition: ca, output: out}}]", name="mid"),
        definition_of("mid", "[{name: out, value: $(X)}]"),
    )
    ca = documents(
        preset("[]", field_of("ConfigMap", "c", "/data/k"), name="ca"),
        definition_of("ca", "[{name: out, value: $(X)}]"),
    )
    base = {"preset": consumer, "mid": mid, "ca": ca, "by": BYSTANDER, "other": config_map("other", k="o")}
    found = decided_again({**base, "c": config_map("c", k="1")}, {**base, "c": config_map("c", k="2")})
    assert found == everywhere("web", "mid", "ca")


@pytest.mark.rule("R3-8", "R3-4")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (definition_of("ca", "[{name: out, value: 1}]"), definition_of("ca", "[{name: out, value: 2}]")),
        (definition_of("ca", "[{name: out, value: 1}]"), definition_of("ca", "[]")),
        (
            definition_of("ca", "[{name: out, value: 1}]"),
            documents(definition_of("ca", "[]"), definition_of("ca", "[{name: out, value: 3}]", "2.0.0")),
        ),
    ],
)
def test_outputs_that_a_definition_offers_otherwise_reach_those_that_read_them(before: str, after: str) -> None:
    base = {
        "preset": preset(HOST, "[{name: X, pluginOutputRef: {definition: ca, output: out}, as: string}]"),
        "ca": preset("[]", None, name="ca"),
    }
    assert decided_again({**base, "d": before}, {**base, "d": after}) >= everywhere("web")


@pytest.mark.rule("R3-8", "R3-4")
def test_a_producer_that_comes_reaches_those_that_wait_for_it() -> None:
    base = {
        "preset": preset(HOST, "[{name: X, pluginOutputRef: {definition: ca, output: out}}]"),
        "d": definition_of("ca", "[{name: out, value: here}]"),
    }
    assert decided_again(base, {**base, "ca": preset("[]", None, name="ca")}) == everywhere("web", "ca")


def observing(value: object) -> KnownState:
    """A state in which a value was read for X on one cluster."""
    return KnownState(plugins=states(observed={("acme", "eu-1", "web-eu-1"): {"X": value}}))


@pytest.mark.rule("R3-8", "B16")
def test_what_was_read_on_a_cluster_reaches_its_plugins_alone() -> None:
    base = {"preset": preset(HOST, None, SERVICE)}
    one, other = (observing(each) for each in ("10.0.0.1", "10.0.0.2"))
    assert decided_again(base, base, None, one) == {"web-eu-1"}
    assert decided_again(base, base, one, other) == {"web-eu-1"}
    assert decided_again(base, base, one, None) == {"web-eu-1"}


# ---- What is read through others


READS = preset(HOST, "[{name: X, pluginOutputRef: {definition: ca, output: out}}]")


@pytest.mark.rule("R3-8")
@pytest.mark.parametrize("bindings", [None, "[]"])
def test_an_object_that_an_output_reads_reaches_those_that_read_the_output(bindings: str | None) -> None:
    outputs = field_of("ConfigMap", "c", "/data/k").replace("name: X", "name: out")
    base = {"preset": READS, "ca": documents(preset("[]", bindings, name="ca"), definition_of("ca", outputs))}
    found = decided_again({**base, "c": config_map("c", k="1")}, {**base, "c": config_map("c", k="2")})
    assert found >= everywhere("web")


@pytest.mark.rule("R3-8")
def test_a_definition_that_a_binding_reads_reaches_it() -> None:
    base = {"preset": preset(HOST, field_of("PluginDefinition", "other", "/spec/version"))}
    one, other = definition_of("other"), definition_of("other", version="1.2.0")
    assert decided_again({**base, "d": one}, {**base, "d": other}) == everywhere("web")


@pytest.mark.rule("R3-8")
def test_another_systems_cluster_that_bears_the_clusters_name_is_read_again() -> None:
    ref = "{apiVersion: x.io/v1, kind: Cluster, name: $(CLUSTER_NAME), fieldPath: /spec/h}"
    base = {"preset": preset(HOST, f"[{{name: X, objectFieldRef: {ref}, default: d}}]")}
    one, two = (thing("Cluster", "eu-1", f"spec: {{h: {each}}}", version="x.io/v1") for each in "ab")
    assert decided_again({**base, "o": one}, {**base, "o": two}) >= {"web-eu-1"}


@pytest.mark.rule("R3-8", "B17")
def test_outputs_of_the_healthy_version_that_change_reach_those_that_read_them() -> None:
    state = KnownState(plugins=states(healthy={("acme", "eu-1", "ca-eu-1"): "1.0.0"}))
    newer = definition_of("ca", "[{name: out, value: new}]", "2.0.0")
    base = {"preset": READS, "ca": documents(preset("[]", None, name="ca"), newer)}
    old, older = (definition_of("ca", f"[{{name: out, value: {each}}}]") for each in ("old", "older"))
    assert decided_again({**base, "d": old}, {**base, "d": older}, state, state) >= {"web-eu-1"}


@pytest.mark.rule("B16")
def test_true_that_was_one_is_another_observation() -> None:
    one, other = (observing(each) for each in (1, True))
    base = {"preset": preset("[{name: args, value: [$(X)]}]", more=SERVICE)}
    assert decided_again(base, base, one, other) == {"web-eu-1"}
