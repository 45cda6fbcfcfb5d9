"""What is odd in one place does not take away what stands beside it."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.engine.layers.injected import injected_values, with_injected
from fleetform.engine.transform.apply import as_object
from fleetform.engine.transform.records import TransformError
from fleetform.model.conventions import Conventions, InjectedValues
from fleetform.model.kinds.base import Metadata
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Origin, Ref
from support.fleets import fleet_with, value_on

NAMES = InjectedValues(
    at=("global", "system"),
    organization="org",
    cluster="cluster",
    labels="meta",
    label_prefix="meta/",
    owner="ownedBy",
    owner_label="owner",
    constants={"domain": "example.com"},
)


def injected(owner_labels: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    origin = Origin("a.yaml", 1, 1)
    conventions = Conventions(injected=NAMES)
    ref, metadata = Ref("PluginPreset", "acme", "web"), Metadata("web", "acme", owner_labels)
    owner: Object[Any] = Object(ref, metadata, None, origin, conventions=conventions)
    cluster = Object(Ref("Cluster", "acme", "eu-1"), Metadata("eu-1", "acme", labels), ClusterSpec(), origin)
    return injected_values(owner, cluster)


def test_labels_become_maps_inside_maps_and_one_inside_anothers_value_has_no_place() -> None:
    labels = {"meta/a": "1", "meta/a.b": "2", "meta/c.d": "3", "meta/z": "4", "meta/": "5", "other/x": "6"}
    below = {"org": "acme", "cluster": "eu-1", "domain": "example.com"}
    assert injected({}, labels) == {"global": {"system": {**below, "meta": {"a": "1", "c": {"d": "3"}, "z": "4"}}}}
    assert injected({"owner": "sre"}, {}) == {"global": {"system": {**below, "ownedBy": "sre"}}}
    assert injected({"owner": ""}, {"x": "y"}) == {"global": {"system": below}}


def test_values_of_the_system_go_over_others_key_by_key_and_change_nothing_that_is_given() -> None:
    tree = {"global": {"system": {"org": "mine", "more": 1}, "x": 2}, "y": 3}
    found = with_injected(tree, {"global": {"system": {"org": "acme"}}})
    assert found == {"global": {"system": {"org": "acme", "more": 1}, "x": 2}, "y": 3}
    assert tree["global"] == {"system": {"org": "mine", "more": 1}, "x": 2}
    assert with_injected({"global": "text"}, {"global": {"a": 1}}) == {"global": {"a": 1}}
    assert with_injected({"global": {"a": 1}}, {"global": "text"}) == {"global": "text"}


@pytest.mark.parametrize(
    ("metadata", "missing"),
    [
        ({"name": "a"}, None),
        ({"generateName": "a-"}, None),
        ({"name": "", "generateName": "a-"}, None),
        ({"name": ""}, "metadata.name"),
        ({"generateName": 1}, "metadata.name"),
        ({}, "metadata.name"),
    ],
)
def test_a_patched_object_has_a_name_or_a_beginning_of_one(metadata: dict[str, Any], missing: str | None) -> None:
    tree = {"apiVersion": "v1", "kind": "Job", "metadata": metadata}
    if missing is None:
        assert as_object(tree, "Job a") is tree
        return
    with pytest.raises(TransformError) as raised:
        as_object(tree, "Job a")
    assert (raised.value.message, raised.value.hint) == (f"Job a has no {missing}", "no patch may remove it")


@pytest.mark.parametrize("gone", ["apiVersion", "kind"])
def test_the_first_thing_that_is_missing_is_named(gone: str) -> None:
    tree = {"apiVersion": "v1", "kind": "Job", "metadata": {"generateName": "a-"}}
    with pytest.raises(TransformError, match=f"Job a has no {gone}"):
        as_object({key: each for key, each in tree.items() if key != gone}, "Job a")


def test_a_migration_that_cannot_be_read_does_not_hide_the_one_behind_it() -> None:
    definition = """
    apiVersion: fleetform.dev/v1alpha1
    kind: PluginDefinition
    metadata: {name: web, namespace: acme}
    spec:
      version: 1.0.0
      source: {manifests: {path: ./m}}
      options: [{name: replicas, type: int}, {name: host, type: string}]
      changes: {migrations: [{rename: {from: "a..b", to: host}}, {rename: {from: hostname, to: host}}]}
    """
    preset = """
    apiVersion: fleetform.dev/v1alpha1
    kind: PluginPreset
    metadata: {name: web, namespace: acme}
    spec: {clusterSelector: {}, plugin: {pluginDefinition: web, optionValues: {hostname: here}}}
    """
    assert value_on(fleet_with(definition=definition, preset=preset), "eu-1", "host") == "here"
