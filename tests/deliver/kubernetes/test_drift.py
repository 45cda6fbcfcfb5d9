"""Which changes on a real API server are drift, and who is said to have made them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fleetform.clusters.ownership import label_of
from fleetform.clusters.work import Clusters
from fleetform.deliver.kubernetes.apply import ApplyOptions
from fleetform.deliver.kubernetes.delivery import KubernetesDeliveries
from fleetform.deliver.kubernetes.drift import look_for_drift
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.applied import _judged
from fleetform.observe.object_health import FLUX_REQUEST
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.delivery import Drift
from fleetform.ports.observing import Applied
from support.targets import FLUX_HELM, KEY, OTHER, Target, config, flux_kind
from support.waiting import finished, until

LABELS = {"app": "web"}


def deployment(replicas: int = 2, image: str = "web:1") -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def _drift(target: Target) -> list[str]:
    return [each.text for each in finished(look_for_drift(target.client, [target.namespace])).found[label_of(KEY)]]


def _scale(target: Target, manager: str, replicas: int) -> None:
    deployments = target.client.resource("apps/v1", "Deployment")
    by = Client(target.client.access, manager)
    by.merge(deployments, target.namespace, "web", {"spec": {"replicas": replicas}}, subresource="scale")


def _replicas(target: Target) -> int:
    found: int = (target.get("Deployment", "web", "apps/v1") or {})["spec"]["replicas"]
    return found


def test_what_others_add_beside_is_no_drift(target: Target) -> None:
    target.apply(config(x="1"), deployment(), digest="one")
    target.kubectl("annotate", "deployment", "web", "others=note")
    target.kubectl("set", "env", "deployment/web", "ADDED=1")
    maps = target.client.resource("v1", "ConfigMap")
    Client(target.client.access, "injector").merge(maps, target.namespace, "web", {"data": {"injected": "1"}})
    assert _drift(target) == []
    assert target.apply(config(x="1"), deployment(), drift="Report", digest="one") == []
    assert (target.get("ConfigMap", "web") or {})["data"] == {"x": "1", "injected": "1"}


def test_a_person_who_scales_is_named_and_corrected(target: Target) -> None:
    target.apply(deployment(replicas=2), digest="one")
    _scale(target, "kubectl", 5)
    assert _drift(target) == [f"Deployment {target.namespace}/web: .spec.replicas (kubectl)"]
    (problem,) = target.apply(deployment(replicas=2), drift="Report", digest="one")
    assert 'conflict with "kubectl" with subresource "scale"' in problem.message
    assert ".spec.replicas" in problem.message
    assert target.apply(deployment(replicas=2), digest="one") == []
    assert _replicas(target) == 2


def test_replicas_that_an_autoscaler_set_are_left_to_it(target: Target) -> None:
    target.apply(deployment(replicas=2), digest="one")
    _scale(target, "kube-controller-manager", 7)
    assert _drift(target) == []
    assert target.apply(deployment(replicas=3, image="web:2"), drift="Report", digest="two") == []
    assert _replicas(target) == 7
    assert _drift(target) == []
    _scale(target, "kube-controller-manager", 4)
    assert _drift(target) == []


def test_an_empty_bundle_is_left_to_whoever_fills_it(target: Target) -> None:
    hook: dict[str, Any] = {
        "name": "web.example.com",
        "clientConfig": {"service": {"name": "web", "namespace": target.namespace}, "caBundle": "Cg=="},
        "rules": [{"apiGroups": ["web.example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    version, kind = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
    webhook = {"apiVersion": version, "kind": kind, "metadata": {"name": target.namespace}, "webhooks": [hook]}
    assert target.apply(webhook, digest="one") == []
    patch = {"webhooks": [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": "LS0t"}}]}
    injector = Client(target.client.access, "cainjector")
    injector.merge(target.client.resource(version, kind), "", target.namespace, patch)
    assert _drift(target) == []
    assert target.apply(webhook, drift="Report", digest="one") == []
    live = target.get(kind, target.namespace, version, "") or {}
    assert live["webhooks"][0]["clientConfig"]["caBundle"] == "LS0t"


def test_asking_flux_to_reconcile_is_no_drift(target: Target) -> None:
    flux_kind(target, "helmreleases")
    spec = {"interval": "1m", "chartRef": {"kind": "OCIRepository", "name": "shop"}}
    release = {"apiVersion": FLUX_HELM, "kind": "HelmRelease", "metadata": {"name": "shop"}, "spec": spec}
    assert target.apply(release, digest="one") == []
    person = Client(target.client.access, "flux")
    patch = {"metadata": {"annotations": {FLUX_REQUEST: "now"}}}
    person.merge(target.client.resource(FLUX_HELM, "HelmRelease"), target.namespace, "shop", patch)
    assert _drift(target) == []
    assert target.apply(release, digest="two", drift="Report") == []
    live = target.get("HelmRelease", "shop", FLUX_HELM) or {}
    assert live["metadata"]["annotations"][FLUX_REQUEST] == "two"


def test_a_plugin_whose_inventory_is_gone_is_missing_as_a_whole(target: Target) -> None:
    target.apply(config(x="1"), digest="one")
    clusters = Clusters()
    delivery = KubernetesDeliveries(clusters).to(KEY[:2], target.client.access, target.namespace, ApplyOptions())

    def looked(keys: list[PluginKey]) -> list[Drift]:
        found: list[Drift] = []

        def is_over() -> bool:
            with suppress(OutsideError):
                found[:] = delivery.drift(keys)
                return True
            return False

        until(is_over)
        return found

    try:
        assert looked([KEY, OTHER]) == [Drift(OTHER, "its inventory", missing=True)]
    finally:
        clusters.close()


def test_the_last_object_of_a_kind_that_is_deleted_is_missing(target: Target) -> None:
    target.apply(deployment(), digest="one")
    target.kubectl("delete", "deployment", "web")
    found = finished(look_for_drift(target.client, [target.namespace])).found[label_of(KEY)]
    assert [(each.text, each.missing) for each in found] == [(f"Deployment {target.namespace}/web", True)]


def test_what_an_account_may_look_at_in_some_namespaces_is_told_and_nothing_of_the_others(target: Target) -> None:
    """An object in a namespace that it may not look at says nothing of those that it may."""
    first, second = target.namespace, f"{target.namespace}-second"
    elsewhere = config("far")
    elsewhere["metadata"]["namespace"] = second
    assert target.apply(config(), config("gone"), digest="one") == []
    target.namespace = second
    assert target.apply(config("db"), digest="one", key=OTHER) == []
    target.namespace = first
    assert target.apply(config(), config("gone"), elsewhere, digest="two") == []
    target.kubectl("delete", "configmap", "gone")
    maps = target.client.resource("v1", "ConfigMap")
    target.client.delete(maps, second, "far")
    client = target.as_account_of(first)
    look = finished(look_for_drift(client, [first, second]))
    assert [each.text for each in look.found[label_of(KEY)]] == [f"ConfigMap {first}/gone"]
    assert label_of(OTHER) not in look.found
    assert list(look.untold) == [second]
    where = ("acme", "eu-1")
    verdicts = finished(_judged({KEY: Applied(first, where), OTHER: Applied(second, where)}, client))
    assert verdicts[KEY].message.startswith(f"ConfigMap {second}/far: ")
    assert verdicts[OTHER].health == "Unknown"
    assert "cannot list" in verdicts[OTHER].message
    assert verdicts[OTHER].hint
    client.close()
