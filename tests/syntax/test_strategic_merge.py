"""Merge patches: JSON's own, held to what Go answers, and Kubernetes' strategic ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.syntax.json_merge import merge_patch
from fleetform.syntax.strategic_merge import StrategicMergeError, merge_into_object
from fleetform.syntax.yaml_in import read_one

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, finalizers: [a/one, a/two]}
spec:
  replicas: 1
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    spec:
      tolerations: [{key: a}]
      containers:
        - name: web
          image: web:1
          args: [--a, --b]
          env: [{name: A, value: "1"}, {name: B, value: "2"}]
          ports: [{containerPort: 80, name: http}, {containerPort: 443, name: https}]
        - {name: sidecar, image: sidecar:1}
      volumes: [{name: tmp, emptyDir: {}}]
"""


def merged(patch: str, tree: str = DEPLOYMENT) -> Any:
    before = read_one(tree)
    kept = copy.deepcopy(before)
    found = merge_into_object(before, read_one(patch))
    assert before == kept
    return found


def pod(tree: Any) -> Any:
    return tree["spec"]["template"]["spec"]


@pytest.mark.parametrize("row", rows_of("jsonmerge", without={"jsonmerge-016"}))
def test_a_json_merge_patch_gives_what_it_gives_there(row: Row) -> None:
    assert merge_patch(json.loads(row.given["doc"]), json.loads(row.given["patch"])) == json.loads(row.answer["result"])


@pytest.mark.parametrize("row", rows_named("jsonmerge", ["jsonmerge-016"]))
def test_no_text_is_no_patch(row: Row) -> None:
    assert "error" in row.answer
    with pytest.raises(ValueError):
        json.loads(row.given["patch"])


def test_containers_are_merged_by_name_and_new_ones_come_last() -> None:
    patch = """
      spec:
        template:
          spec:
            containers:
              - {name: sidecar, image: "sidecar:2"}
              - {name: extra, image: "extra:1"}
    """
    found = pod(merged(patch))["containers"]
    assert [(each["name"], each["image"]) for each in found] == [
        ("web", "web:1"), ("sidecar", "sidecar:2"), ("extra", "extra:1"),
    ]  # fmt: skip
    assert found[0]["args"] == ["--a", "--b"]


def test_lists_inside_containers_have_keys_of_their_own_and_others_are_replaced() -> None:
    patch = """
      spec: {template: {spec: {tolerations: [{operator: Exists}], containers: [
        {name: web, args: [--c], env: [{name: B, value: "3"}], ports: [{containerPort: 443, name: tls}]}]}}}
    """
    found = pod(merged(patch))
    web = found["containers"][0]
    assert found["tolerations"] == [{"operator": "Exists"}]
    assert web["args"] == ["--c"]
    assert web["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert [each["name"] for each in web["ports"]] == ["http", "tls"]


def test_directives_delete_and_replace() -> None:
    deleted = pod(merged("spec: {template: {spec: {containers: [{name: sidecar, $patch: delete}]}}}"))
    assert [each["name"] for each in deleted["containers"]] == ["web"]
    replaced = pod(merged("spec: {template: {spec: {containers: [{$patch: replace}, {name: new, image: 'n:1'}]}}}"))
    assert replaced["containers"] == [{"name": "new", "image": "n:1"}]
    assert merged("spec: {strategy: {$patch: replace, type: Recreate}}")["spec"]["strategy"] == {"type": "Recreate"}
    assert "strategy" not in merged("spec: {strategy: {$patch: delete}}")["spec"]
    assert merged("spec: {strategy: {$retainKeys: [type], type: Recreate}}")["spec"]["strategy"] == {"type": "Recreate"}
    assert merged("$patch: delete") is None


def test_values_are_merged_and_deleted_and_an_order_is_tolerated() -> None:
    patch = """
      metadata: {$deleteFromPrimitiveList/finalizers: [a/one], finalizers: [a/three]}
      spec: {template: {spec: {$setElementOrder/containers: [{name: sidecar}, {name: web}]}}}
    """
    found = merged(patch)
    assert found["metadata"]["finalizers"] == ["a/two", "a/three"]
    assert [each["name"] for each in pod(found)["containers"]] == ["web", "sidecar"]


def test_null_removes() -> None:
    found = merged("metadata: {labels: null}\nspec: {template: {spec: {containers: [{name: web, args: null}]}}}")
    assert "labels" not in found["metadata"]
    assert "args" not in pod(found)["containers"][0]


def test_a_services_ports_are_told_apart_by_port() -> None:
    service = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 443}]}}"
    found = merged("spec: {ports: [{port: 443, targetPort: 8443}]}", service)
    assert found["spec"]["ports"] == [{"port": 80}, {"port": 443, "targetPort": 8443}]


@pytest.mark.parametrize("group", ["example.com", "gateway.networking.k8s.io"])
def test_a_custom_kind_takes_a_json_merge_patch(group: str) -> None:
    tree = f"{{apiVersion: {group}/v1, kind: Pods, spec: {{containers: [{{name: a}}], x: {{y: 1, z: 2}}}}}}"
    found = merged("spec: {containers: [{name: b}], x: {y: null}}", tree)
    assert found["spec"] == {"containers": [{"name": "b"}], "x": {"z": 2}}


@pytest.mark.parametrize(
    "patch",
    [
        "spec: {template: {spec: {containers: [{image: 'a:1'}]}}}",
        "spec: {strategy: {$patch: remove}}",
        "metadata: {$deleteFromPrimitiveList/finalizers: a}",
    ],
)
def test_what_cannot_be_read_is_an_error(patch: str) -> None:
    with pytest.raises(StrategicMergeError):
        merged(patch)
