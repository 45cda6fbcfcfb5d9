"""The whole control plane on a real API server, with accounts that may not do everything there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import UnauthorizedError
from support.waiting import until
from support.workloads import MANIFESTS, Started, Workloads, document

ALL: list[dict[str, Any]] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def an_account(fleet: Workloads, rules: list[dict[str, Any]] | None = None) -> str:
    """The kubeconfig of a ServiceAccount of c1 that may do this, or everything."""
    kubeconfig = an_account_without_rights(fleet)
    grant(fleet, rules or ALL)
    return kubeconfig


def an_account_without_rights(fleet: Workloads) -> str:
    """The kubeconfig of a ServiceAccount of c1; its token is the API server's own."""
    client, name = fleet.clients["c1"], f"{fleet.namespace}-account"
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, force=True)
    client.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "it", "namespace": name}}, force=True
    )
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    path = f"/api/v1/namespaces/{name}/serviceaccounts/it/token"
    token = json.loads(client.raw("POST", path, json.dumps(asked).encode()))["status"]["token"]
    return fleet.servers[0].kubeconfig().replace("the-administrator", token)


def is_let_in(kubeconfig: str) -> bool:
    """An API server believes what it knows of a token for some seconds more."""
    client = Client(access_from_kubeconfig(kubeconfig))
    try:
        client.raw("GET", "/version")
    except UnauthorizedError:
        return False
    finally:
        client.close()
    return True


def grant(fleet: Workloads, rules: list[dict[str, Any]], *namespaces: str) -> None:
    """In these namespaces, or everywhere."""
    client, name, group = fleet.clients["c1"], f"{fleet.namespace}-account", "rbac.authorization.k8s.io"
    bound = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "it", "namespace": name}],
    }
    objects: list[dict[str, Any]] = [{"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}]
    for each in namespaces:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}}, force=True)
        objects.append({"kind": "RoleBinding", "metadata": {"name": name, "namespace": each}, **bound})
    if not namespaces:
        objects.append({"kind": "ClusterRoleBinding", "metadata": {"name": name}, **bound})
    for each_ in objects:
        client.apply({"apiVersion": f"{group}/v1", **each_}, force=True)


@pytest.mark.rule("B25")
def test_a_token_that_is_revoked_during_a_rollout_sets_its_cluster_aside_until_there_is_another(start: Started) -> None:
    fleet = start(2)
    fleet.write_preset(rolloutPolicy=None, rollout={"stages": [{"name": "all", "remainder": True}]})
    kubeconfig = an_account(fleet)
    fleet.reach_by("c1", kubeconfig)
    fleet.installed()
    fleet.offer("1.1.0")
    fleet.settle()
    assert fleet.versions() == {"c1": "1.1.0", "c2": "1.1.0"}
    client = fleet.clients["c1"]
    client.delete(client.resource("v1", "ServiceAccount"), f"{fleet.namespace}-account", "it")
    until(lambda: not is_let_in(kubeconfig))
    for each in fleet.clients:
        fleet.become(each)
    fleet.wait(40)
    assert fleet.state("c2").is_healthy
    assert fleet.state("c1").in_flight
    assert [ref.name for ref in fleet.opened().control.image.known.rollouts.silent_since] == ["c1"]
    fleet.wait(16 * 60)
    assert fleet.state("c1").attempt.phase == "SetAside"
    fleet.reach_by("c1", an_account(fleet))
    fleet.wait(40)
    fleet.wait()
    assert fleet.state("c1").is_healthy
    assert not fleet.opened().control.image.known.rollouts.silent_since


def test_an_account_that_may_not_list_is_told_and_asked_less_and_less(start: Started) -> None:
    fleet = start()
    fleet.installed()
    no_lists = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "create", "patch", "delete"]}]
    fleet.reach_by("c1", an_account(fleet, no_lists))
    fleet.offer("1.1.0")
    fleet.settle()
    assert fleet.versions() == {"c1": "1.0.0"}
    assert "cannot list" in fleet.trouble("c1").message
    assert fleet.trouble("c1").hint == "grant it by RBAC, or use another account"
    grant(fleet, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    fleet.wait(70)
    assert fleet.versions() == {"c1": "1.1.0"}
    grant(fleet, no_lists)
    fleet.become("c1")
    fleet.wait()
    assert fleet.state("c1").in_flight
    assert fleet.trouble("c1").of == "health"
    assert "cannot list" in fleet.trouble("c1").message
    grant(fleet, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
    fleet.wait(70)
    assert fleet.state("c1").is_healthy
    assert fleet.trouble("c1") is None


def test_plugins_of_namespaces_that_an_account_may_look_at_one_by_one_are_no_drift_for_each_other(
    start: Started,
) -> None:
    fleet = start()
    second = f"{fleet.namespace}-second"
    kubeconfig = an_account_without_rights(fleet)
    grant(fleet, ALL, fleet.namespace, second)
    fleet.reach_by("c1", kubeconfig)
    (fleet.folder / "sources" / "maps").mkdir()
    (fleet.folder / "sources" / "maps" / "web.yaml").write_text(MANIFESTS.partition("---")[2], encoding="utf-8")
    made = {"version": "1.0.0", "source": {"manifests": {"path": "../sources/maps"}}}
    fleet.write("maps.yaml", document("PluginDefinition", "maps", made))
    plugin = {"pluginDefinition": {"name": "maps"}, "releaseNamespace": second}
    spec = {"clusterSelector": {}, "plugin": plugin, "delivery": {"kubernetes": {}}}
    fleet.write("second.yaml", document("PluginPreset", "second", spec))
    fleet.settle()
    fleet.wait()
    fleet.installed()
    assert all(each.input_hash for each in fleet.opened().control.image.deliveries.values())
    assert len(fleet.opened().control.image.deliveries) == 2
    fleet.look_for_drift()
    assert fleet.said_of_drift() == []
    # In both of them it is still found, and brought back.
    client = fleet.clients["c1"]
    maps = client.resource("v1", "ConfigMap")
    for namespace in (fleet.namespace, second):
        client.delete(maps, namespace, "web")
        # Another process looks at once.
        fleet.restart()
        fleet.look_for_drift()
        assert fleet.said_of_drift()[0] == f"ConfigMap {namespace}/web is missing"
        fleet.settle()
        assert client.get(maps, namespace, "web") is not None
    # Where the account may look no longer nothing is told, and of the other namespace everything is.
    binding = client.resource("rbac.authorization.k8s.io/v1", "RoleBinding")
    client.delete(binding, second, f"{fleet.namespace}-account")
    client.delete(maps, fleet.namespace, "web")
    client.delete(maps, second, "web")
    told = len(fleet.said_of_drift())
    fleet.restart()
    fleet.look_for_drift()
    assert fleet.said_of_drift()[:-told] == [f"ConfigMap {fleet.namespace}/web is missing"]
