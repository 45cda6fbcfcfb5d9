"""Server-side apply to a real API server: order, ownership, inventory, removal."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from fleetform.clusters.inventory import Entry, Inventory, Known, ObjectRef
from fleetform.clusters.ownership import OWNER, PLUGIN
from fleetform.deliver.kubernetes.apply import ClusterApply
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from support.targets import KEY, OTHER, Stopping, Target, config, custom
from support.waiting import finished


def ref(name: str, target: Target) -> ObjectRef:
    return ObjectRef("", "ConfigMap", target.namespace, name)


def test_objects_are_applied_into_the_releases_namespace_and_say_whose_they_are(target: Target) -> None:
    assert target.apply(config(x="1")) == []
    live = target.get("ConfigMap", "web")
    assert live is not None
    assert live["data"] == {"x": "1"}
    assert live["metadata"]["annotations"][OWNER] == "acme/eu-1/web-eu-1"
    assert len(live["metadata"]["labels"][PLUGIN]) == 32
    assert target.known() == {ref("web", target)}


def test_what_a_plugin_no_longer_has_leaves_fields_and_objects_alike(target: Target) -> None:
    target.apply(config(x="1", y="1"), config("old"))
    assert target.apply(config(x="1")) == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "1"}
    assert target.get("ConfigMap", "old") is None
    assert target.known() == {ref("web", target)}


def test_a_release_that_moves_to_another_namespace_leaves_nothing_behind(target: Target) -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": target.namespace}}
    assert target.apply(config(), role) == []
    first = target.namespace
    target.namespace = f"{first}-new"
    assert target.apply(config(), role) == []
    assert target.known() == {ref("web", target), ObjectRef("rbac.authorization.k8s.io", "ClusterRole", "", first)}
    assert target.get("ConfigMap", "web") is not None
    assert target.get("ConfigMap", "web", namespace=first) is None
    assert list(target.client.items(target.client.resource("v1", "ConfigMap"), first, labels=PLUGIN)) == []


def test_a_kind_is_there_before_its_objects(target: Target) -> None:
    kind, thing = custom(f"{uuid4().hex[:8]}.example.com")
    assert target.apply(thing, kind, config()) == []
    live = target.get("Thing", "one", thing["apiVersion"])
    assert live is not None
    assert live["metadata"]["namespace"] == target.namespace


@pytest.mark.rule("B22")
def test_kinds_namespaces_and_what_asks_to_be_kept_stay(target: Target) -> None:
    kind, thing = custom(f"{uuid4().hex[:8]}.example.com")
    extra: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{target.namespace}-extra"}}
    kept = config("kept")
    kept["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    assert target.apply(kind, thing, extra, kept, config()) == []
    assert target.remove() == []
    assert target.get("ConfigMap", "web") is None
    assert target.get("Thing", "one", thing["apiVersion"]) is None
    assert target.get("ConfigMap", "kept") is not None
    assert target.get("Namespace", extra["metadata"]["name"], namespace="") is not None
    assert target.get("CustomResourceDefinition", kind["metadata"]["name"], "apiextensions.k8s.io/v1", "") is not None
    assert target.known() == set()


@pytest.mark.rule("B22")
@pytest.mark.parametrize(("written", "stays"), [("Keep", True), (" KEEP\n", True), ("keep it", False), ("", False)])
def test_the_annotation_that_keeps_is_read_as_helm_reads_it(target: Target, written: str, stays: bool) -> None:
    kept = config("kept")
    kept["metadata"]["annotations"] = {"helm.sh/resource-policy": written}
    assert target.apply(kept, config()) == []
    assert target.apply(config()) == []
    assert (target.get("ConfigMap", "kept") is not None) == stays


def test_an_object_of_another_plugin_is_never_taken(target: Target) -> None:
    target.apply(config(x="1"), key=OTHER)
    (problem,) = target.apply(config(x="2"), adopt=True)
    assert problem.refused
    assert "acme/eu-1/db-eu-1" in problem.message
    assert target.remove() == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "1"}


def test_what_was_handed_to_another_plugin_is_not_removed_by_the_first(target: Target) -> None:
    target.apply(config(x="1"))
    maps = target.client.resource("v1", "ConfigMap")
    target.client.merge(maps, target.namespace, "web", {"metadata": {"labels": {PLUGIN: "another"}}})
    assert target.remove() == []
    assert target.get("ConfigMap", "web") is not None


def test_fields_that_others_changed_are_corrected_or_reported(target: Target) -> None:
    target.apply(config(x="1"))
    maps = target.client.resource("v1", "ConfigMap")
    somebody = Client(target.client.access, "somebody")
    somebody.merge(maps, target.namespace, "web", {"data": {"x": "changed"}})
    (problem,) = target.apply(config(x="1"), drift="Report")
    assert ".data.x" in problem.message
    assert '"somebody"' in problem.message
    assert target.apply(config(x="1")) == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "1"}


def test_a_secrets_text_that_is_left_out_later_leaves(target: Target) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "1", "b": "2"}}
    target.apply(secret)
    assert target.apply({**secret, "stringData": {"a": "1"}}) == []
    assert (target.get("Secret", "s") or {})["data"] == {"a": "MQ=="}


def test_an_object_that_is_refused_names_itself_and_removes_nothing(target: Target) -> None:
    target.apply(config("old"), config())
    bad = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": []}}
    (problem,) = target.apply(config(), bad)
    assert problem.refused
    assert "Service" in str(problem)
    assert target.get("ConfigMap", "old") is not None
    assert ref("old", target) in target.known()
    assert target.apply(config()) == []
    assert target.get("ConfigMap", "old") is None


@pytest.mark.rule("B25")
def test_a_webhook_that_is_down_holds_up_what_it_is_asked_about_alone(target: Target) -> None:
    name = target.namespace
    hook = {
        "name": f"{name}.example.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "matchConditions": [{"name": "one", "expression": "object.metadata.name == 'held'"}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    target.client.apply({**kind, "metadata": {"name": name}, "webhooks": [hook]})
    try:
        # A server asks webhooks a moment after they were written.
        for _ in range(50):
            problems = target.apply(config("held"), config())
            if problems:
                break
            target.remove()
        assert [(each.ref, each.refused) for each in problems] == [(ref("held", target), False)]
        assert "failed calling webhook" in problems[0].message
        assert target.get("ConfigMap", "web") is not None
    finally:
        target.client.delete(target.client.resource(kind["apiVersion"], kind["kind"]), "", name)


def test_a_kind_that_the_cluster_does_not_have_may_come_later(target: Target) -> None:
    _, thing = custom("nowhere.example.com")
    (problem,) = target.apply(thing)
    assert not problem.refused
    assert "Thing" in problem.message


@pytest.mark.rule("B22")
@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_an_object_whose_kind_came_later_stays_once_it_is_there(target: Target, scope: str) -> None:
    """Until then nobody knows whether it is in a namespace: what was noted of it as if it were is no other object."""
    group = f"{uuid4().hex[:8]}.example.com"
    kind, thing = custom(group, scope)
    assert [each.refused for each in target.apply(config(), thing)] == [False]
    target.client.apply(kind)
    target.kubectl("wait", "--for=condition=Established", f"crd/things.{group}")
    namespace = target.namespace if scope == "Namespaced" else ""
    for _ in range(2):
        assert target.apply(config(), thing) == []
        assert target.get("Thing", "one", thing["apiVersion"], namespace) is not None
        assert target.known() == {ref("web", target), ObjectRef(group, "Thing", namespace, "one")}


def test_stopped_at_any_write_and_applied_again_it_ends_the_same_and_forgets_nothing(target: Target) -> None:
    """Whatever is on the cluster is in the inventory at every moment."""
    for writes in range(12):
        target.remove()
        target.apply(config("a", x="1"), config("b", x="1"))
        stopping = ClusterApply(Stopping(target.client, writes))
        objects = [config("b", x="2"), config("c", x="2")]
        try:
            finished(stopping.apply(KEY, target.namespace, objects))
            ended = True
        except OutsideError:
            ended = False
        there = {name for name in "abc" if target.get("ConfigMap", name) is not None}
        assert {ref(name, target) for name in there} <= target.known()
        assert target.apply(*objects) == []
        found = {name: (target.get("ConfigMap", name) or {}).get("data") for name in "abc"}
        assert found == {"a": None, "b": {"x": "2"}, "c": {"x": "2"}}
        assert target.known() == {ref("b", target), ref("c", target)}
        if ended:
            return
    raise AssertionError("it never came to its end")


def test_an_inventory_of_many_objects_has_parts(target: Target) -> None:
    target.apply(config())
    many = {ObjectRef("", "ConfigMap", target.namespace, f"n{index}"): Entry("v1") for index in range(1001)}
    inventory = Inventory(target.client, KEY, target.namespace)
    inventory.write(Known(many, applied="sha256:1"))
    assert inventory.read() == Known(many, applied="sha256:1")
    inventory.write(Known({ref("web", target): Entry("v1")}))
    assert target.known() == {ref("web", target)}
