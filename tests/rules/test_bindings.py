"""Bindings: where values are read from."""

from __future__ import annotations

import pytest

from support.bound import (
    HOST,
    bound_fleet,
    bound_on,
    config_map,
    field_of,
    gates_on,
    option_on,
    secret,
    thing,
    two_clusters,
)
from support.fleets import documents

# ---- Sources


@pytest.mark.rule("R3-1")
@pytest.mark.parametrize(
    ("value", "bindings", "expected"),
    [
        ("ingress.$(CLUSTER_NAME).example.com", "[]", ["ingress.eu-1.example.com", "ingress.us-1.example.com"]),
        ("$(ORGANIZATION)/$(cluster.labels.region)", "[]", ["acme/eu", "acme/us"]),
        ("$(X)", "[{name: X, clusterFieldRef: {path: /spec/facts/zone}}]", ["a", "b"]),
        ("$(X)", "[{name: X, clusterFieldRef: {path: metadata.labels.region}}]", ["eu", "us"]),
        ("$(X)", field_of("Cluster", "$(CLUSTER_NAME)", "/spec/facts/zone"), ["a", "b"]),
    ],
)
def test_a_property_of_the_cluster_stands_in_a_value(value: str, bindings: str, expected: list[str]) -> None:
    fleet = bound_fleet(f"[{{name: host, value: '{value}'}}]", bindings, clusters=two_clusters())
    assert [option_on(fleet, cluster=each) for each in ("eu-1", "us-1")] == expected


@pytest.mark.rule("R3-6")
def test_values_in_bulk_come_from_an_object_whose_name_is_computed() -> None:
    bindings = (
        "[{name: ZONE, value: $(cluster.facts.zone)},"
        " {name: X, objectFieldRef: {kind: ConfigMap, name: zone-$(ZONE), fieldPath: /data/registry}}]"
    )
    zones = documents(config_map("zone-a", registry="a.example.com"), config_map("zone-b", registry="b.example.com"))
    fleet = bound_fleet(HOST, bindings, clusters=two_clusters(), zones=zones)
    assert [option_on(fleet, cluster=each) for each in ("eu-1", "us-1")] == ["a.example.com", "b.example.com"]


OBJECTS = documents(
    config_map("c", **{"plain": "from-map", "a.b.conf": "dotted", "sl/ash": "slashed"}),
    secret("s", key="from-secret"),
    thing("Machine", "m", "status: {addresses: [{ip: 10.0.0.7}]}", version="cluster.x-k8s.io/v1beta1"),
    thing("Organization", "acme", "spec: {defaultRolloutPolicy: standard}", version="fleetform.dev/v1alpha1"),
    thing("RolloutPolicy", "standard", "spec: {}", version="fleetform.dev/v1alpha1"),
)


@pytest.mark.rule("R3-7", "R3-13")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("value: literal", "literal"),
        ("objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/plain}", "from-map"),
        ("objectFieldRef: {apiVersion: v1, kind: ConfigMap, name: c, fieldPath: /data/plain}", "from-map"),
        ("objectFieldRef: {kind: ConfigMap, namespace: acme, name: c, fieldPath: data.plain}", "from-map"),
        ("objectFieldRef: {kind: ConfigMap, name: c, fieldPath: data.a.b.conf}", "dotted"),
        ("objectFieldRef: {kind: ConfigMap, name: c, fieldPath: /data/sl~1ash}", "slashed"),
        ("objectFieldRef: {kind: Secret, name: s, fieldPath: /data/key}", "from-secret"),
        ("objectFieldRef: {kind: Machine, name: m, fieldPath: /status/addresses/0/ip}", "10.0.0.7"),
        ("objectFieldRef: {kind: Machine, name: m, fieldPath: 'status.addresses[0].ip'}", "10.0.0.7"),
        ("objectFieldRef: {kind: Cluster, name: us-1, fieldPath: /metadata/labels/region}", "us"),
        ("objectFieldRef: {kind: PluginDefinition, name: web, fieldPath: /spec/version}", "1.0.0"),
        ("objectFieldRef: {kind: Organization, name: acme, fieldPath: /spec/defaultRolloutPolicy}", "standard"),
        ("objectFieldRef: {kind: PluginPreset, name: web, fieldPath: /metadata/namespace}", "acme"),
        ("objectFieldReference: {kind: ConfigMap, name: c, path: .data.plain}", "from-map"),
        ("clusterFieldReference: {path: /metadata/name}", "eu-1"),
    ],
)
def test_any_object_of_the_input_can_be_read(source: str, expected: str) -> None:
    fleet = bound_fleet(HOST, f"[{{name: X, {source}}}]", objects=OBJECTS)
    assert not fleet.findings.errors
    assert option_on(fleet) == expected
    assert gates_on(fleet) == []


@pytest.mark.rule("R3-7")
def test_a_binding_names_the_object_that_it_was_read_from() -> None:
    bindings = field_of("ConfigMap", "c", "/data/plain")[:-1] + ", {name: Z, value: here}]"
    found = bound_on(bound_fleet(HOST, bindings, objects=OBJECTS))
    source = found["X"].source
    assert source is not None
    assert str(source.ref) == "ConfigMap/acme/c"
    assert found["Z"].source is None


@pytest.mark.rule("R3-7")
def test_of_two_objects_that_only_their_groups_tell_apart_the_api_version_chooses() -> None:
    pair = documents(*(thing("Zone", "z", f"spec: {{at: {each}}}", version=f"{each}.io/v1") for each in ("a", "b")))
    assert gates_on(bound_fleet(HOST, field_of("Zone", "z", "/spec/at"), pair=pair)) == ["config-missing"]
    chosen = "[{name: X, objectFieldRef: {apiVersion: b.io/v2, kind: Zone, name: z, fieldPath: /spec/at}}]"
    assert option_on(bound_fleet(HOST, chosen, pair=pair)) == "b"


@pytest.mark.rule("R3-10")
def test_a_name_is_bound_once_and_used_in_values_variables_and_other_bindings() -> None:
    values = "[{name: host, value: $(X)}, {name: labels, value: {at: $(Z)}}, {name: args, value: [--to, $(X)]}]"
    bindings = "[{name: X, value: foo.svc}, {name: PORT, value: 3030}, {name: Z, value: '$(X):$(PORT)'}]"
    fleet = bound_fleet(values, bindings, "  substitute: {ADDRESS: $(Z), PORT: $(PORT)}\n")
    options = [option_on(fleet, name) for name in ("host", "labels", "args")]
    assert options == ["foo.svc", {"at": "foo.svc:3030"}, ["--to", "foo.svc"]]
    plugin = fleet.decisions.plugins["acme", "eu-1", "web-eu-1"]
    assert fleet.inputs.substituted(plugin) == {"ADDRESS": "foo.svc:3030", "PORT": 3030}


@pytest.mark.rule("R3-17")
@pytest.mark.parametrize(
    ("names", "reference"),
    [
        ("{name: A, value: Map}", "{kind: Config$(A), name: c, fieldPath: /data/plain}"),
        ("{name: A, value: c}", "{kind: ConfigMap, name: $(A), fieldPath: /data/plain}"),
        ("{name: A, value: plain}", "{kind: ConfigMap, name: c, fieldPath: /data/$(A)}"),
        ("{name: A, value: acme}", "{kind: ConfigMap, namespace: $(A), name: c, fieldPath: /data/plain}"),
        ("{name: A, value: v1}", "{apiVersion: $(A), kind: ConfigMap, name: c, fieldPath: /data/plain}"),
        ("{name: A, value: $(B)}, {name: B, value: c}", "{kind: ConfigMap, name: $(A), fieldPath: /data/plain}"),
    ],
)
def test_every_part_of_a_reference_may_mention_names(names: str, reference: str) -> None:
    fleet = bound_fleet(HOST, f"[{names}, {{name: X, objectFieldRef: {reference}}}]", objects=OBJECTS)
    assert option_on(fleet) == "from-map"
