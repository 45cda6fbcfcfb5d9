"""The health of objects by kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleetform.observe.object_health import FLUX_REQUEST, Level, health_of

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def live(kind: str, version: str = "v1", spec: Any = None, status: Any = None, **metadata: Any) -> dict[str, Any]:
    found = {"apiVersion": version, "kind": kind, "metadata": {"name": "web", **metadata}}
    return {
        **found,
        **({"spec": spec} if spec is not None else {}),
        **({"status": status} if status is not None else {}),
    }


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, **more}


def deployment(spec: Any = None, generation: int = 2, **status: Any) -> dict[str, Any]:
    fine = {
        "observedGeneration": 2,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "conditions": [condition("Available")],
    }
    return live("Deployment", "apps/v1", {"replicas": 3, **(spec or {})}, {**fine, **status}, generation=generation)


def stateful(spec: Any = None, **status: Any) -> dict[str, Any]:
    fine = {
        "observedGeneration": 1,
        "readyReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": "b",
        "updateRevision": "b",
    }
    return live("StatefulSet", "apps/v1", {"replicas": 3, **(spec or {})}, {**fine, **status}, generation=1)


def daemon(spec: Any = None, **status: Any) -> dict[str, Any]:
    fine = {
        "observedGeneration": 1,
        "desiredNumberScheduled": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
    }
    return live("DaemonSet", "apps/v1", spec or {}, {**fine, **status}, generation=1)


def pod(**status: Any) -> dict[str, Any]:
    return live("Pod", status=status)


def crashing(reason: str) -> dict[str, Any]:
    return pod(phase="Pending", containerStatuses=[{"name": "main", "state": {"waiting": {"reason": reason}}}])


def unschedulable(since: str) -> dict[str, Any]:
    told = condition("PodScheduled", "False", reason="Unschedulable", message="no nodes", lastTransitionTime=since)
    return pod(phase="Pending", conditions=[told])


def ready_of(*conditions: Any, **more: Any) -> dict[str, Any]:
    return live("Thing", "example.com/v1", {}, {"conditions": list(conditions), **more}, generation=2)


def deployment_of_default(replicas: int) -> dict[str, Any]:
    """Without a number of replicas; of none the status says nothing."""
    counted = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas") if replicas else ()
    status = {"observedGeneration": 1, "conditions": [condition("Available")], **dict.fromkeys(counted, replicas)}
    return live("Deployment", "apps/v1", {}, status, generation=1)


def deployment_without(count: str) -> dict[str, Any]:
    counted = {"updatedReplicas": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    del counted[count]
    status = {"observedGeneration": 1, "conditions": [condition("Available")], **counted}
    return live("Deployment", "apps/v1", {"replicas": 1}, status, generation=1)


def stateful_of_default(replicas: int) -> dict[str, Any]:
    status = {"observedGeneration": 1, **({"readyReplicas": replicas} if replicas else {})}
    return live("StatefulSet", "apps/v1", {}, status, generation=1)


def crd(*conditions: dict[str, Any]) -> dict[str, Any]:
    return live("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, {"conditions": list(conditions)})


def autoscaler(*conditions: dict[str, Any]) -> dict[str, Any]:
    return live("HorizontalPodAutoscaler", "autoscaling/v2", {}, {"conditions": list(conditions)})


CASES: list[tuple[str, dict[str, Any], Level, str]] = [
    ("being deleted", live("ConfigMap", deletionTimestamp="2026-03-02T11:00:00Z"), "Progressing", "deleted"),
    ("nothing to wait for", live("ConfigMap"), "Healthy", ""),
    ("no status yet", live("Thing", "example.com/v1", {}), "Healthy", ""),
    ("ready", ready_of(condition("Ready")), "Healthy", ""),
    ("not ready", ready_of(condition("Ready", "False", message="no token")), "Progressing", "no token"),
    ("ready unknown", ready_of(condition("Ready", "Unknown", reason="Checking")), "Progressing", "Checking"),
    ("stalled", ready_of(condition("Stalled", message="bad spec"), condition("Ready")), "Failed", "bad spec"),
    ("reconciling", ready_of(condition("Reconciling", reason="Busy"), condition("Ready")), "Progressing", "Busy"),
    ("of an older generation", ready_of(condition("Ready"), observedGeneration=1), "Progressing", "not seen"),
    ("of this generation", ready_of(condition("Ready"), observedGeneration=2), "Healthy", ""),
    ("deployment", deployment(), "Healthy", ""),
    ("deployment not seen", deployment(generation=3), "Progressing", "not seen"),
    ("deployment never seen", live("Deployment", "apps/v1", {}, generation=1), "Progressing", "not seen"),
    ("deployment not updated", deployment(updatedReplicas=1), "Progressing", "1 of 3 replicas are updated"),
    ("deployment with old ones", deployment(replicas=4), "Progressing", "1 old"),
    ("deployment not available", deployment(availableReplicas=2), "Progressing", "2 of 3"),
    ("deployment not ready", deployment(readyReplicas=2), "Progressing", "2 of 3"),
    ("deployment without Available", deployment(conditions=[]), "Progressing", "not available"),
    ("deployment of none", deployment({"replicas": 0}, replicas=0, updatedReplicas=0, conditions=[]), "Healthy", ""),
    ("deployment paused", deployment({"paused": True}), "Progressing", "paused"),
    (
        "deployment past its deadline",
        deployment(
            conditions=[condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out")]
        ),
        "Failed",
        "timed out",
    ),
    ("stateful set", stateful(), "Healthy", ""),
    ("stateful set not ready", stateful(readyReplicas=2), "Progressing", "2 of 3"),
    ("stateful set of an old revision", stateful(currentRevision="a", updatedReplicas=1), "Progressing", "1 of 3"),
    (
        "stateful set with a partition",
        stateful({"updateStrategy": {"rollingUpdate": {"partition": 2}}}, currentRevision="a", updatedReplicas=1),
        "Healthy",
        "",
    ),
    (
        "stateful set below its partition",
        stateful({"updateStrategy": {"rollingUpdate": {"partition": 1}}}, currentRevision="a", updatedReplicas=1),
        "Progressing",
        "1 of 2",
    ),
    (
        "stateful set on delete",
        stateful({"updateStrategy": {"type": "OnDelete"}}, currentRevision="a", updatedReplicas=0),
        "Healthy",
        "",
    ),
    ("stateful set never seen", live("StatefulSet", "apps/v1", {}), "Progressing", "not seen"),
    ("daemon set", daemon(), "Healthy", ""),
    ("daemon set not updated", daemon(updatedNumberScheduled=1), "Progressing", "1 of 2"),
    ("daemon set not available", daemon(numberAvailable=1), "Progressing", "1 of 2"),
    ("daemon set on delete", daemon({"updateStrategy": {"type": "OnDelete"}}, updatedNumberScheduled=0), "Healthy", ""),
    ("daemon set never seen", live("DaemonSet", "apps/v1", {}), "Progressing", "not seen"),
    ("job running", live("Job", "batch/v1", {}, {"active": 1}), "Progressing", "completed"),
    ("job complete", live("Job", "batch/v1", {}, {"conditions": [condition("Complete")]}), "Healthy", ""),
    ("job failed", live("Job", "batch/v1", {}, {"conditions": [condition("Failed", reason="Late")]}), "Failed", "Late"),
    ("job suspended", live("Job", "batch/v1", {"suspend": True}), "Healthy", ""),
    (
        "crd",
        live(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            {},
            {"conditions": [condition("Established"), condition("NamesAccepted")]},
        ),
        "Healthy",
        "",
    ),
    (
        "crd that is new",
        live("CustomResourceDefinition", "apiextensions.k8s.io/v1", {}, {"conditions": None}),
        "Progressing",
        "established",
    ),
    (
        "crd whose names are taken",
        live(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            {},
            {"conditions": [condition("NamesAccepted", "False", message="taken")]},
        ),
        "Failed",
        "taken",
    ),
    ("api service", live("APIService", "apiregistration.k8s.io/v1", {}, {}), "Progressing", "available"),
    (
        "api service available",
        live("APIService", "apiregistration.k8s.io/v1", {}, {"conditions": [condition("Available")]}),
        "Healthy",
        "",
    ),
    ("claim bound", live("PersistentVolumeClaim", status={"phase": "Bound"}), "Healthy", ""),
    ("claim that waits for its user", live("PersistentVolumeClaim", status={"phase": "Pending"}), "Healthy", ""),
    ("claim lost", live("PersistentVolumeClaim", status={"phase": "Lost"}), "Failed", "lost"),
    ("service", live("Service", spec={"type": "ClusterIP"}), "Healthy", ""),
    (
        "load balancer",
        live("Service", spec={"type": "LoadBalancer"}, status={"loadBalancer": {}}),
        "Progressing",
        "address",
    ),
    (
        "load balancer with an address",
        live("Service", spec={"type": "LoadBalancer"}, status={"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}),
        "Healthy",
        "",
    ),
    ("ingress", live("Ingress", "networking.k8s.io/v1", {}, {}), "Progressing", "address"),
    ("pod ready", pod(phase="Running", conditions=[condition("Ready")]), "Healthy", ""),
    ("pod done", pod(phase="Succeeded"), "Healthy", ""),
    ("pod failed", pod(phase="Failed", reason="Evicted"), "Failed", "Evicted"),
    ("pod starting", pod(phase="Pending"), "Progressing", "ready"),
    ("pod crashing", crashing("CrashLoopBackOff"), "Failed", "CrashLoopBackOff"),
    ("pod creating", crashing("ContainerCreating"), "Progressing", "ready"),
    ("pod unschedulable for long", unschedulable("2026-03-02T11:59:45Z"), "Failed", "no nodes"),
    ("pod unschedulable for a moment", unschedulable("2026-03-02T11:59:46Z"), "Progressing", "ready"),
    (
        "autoscaler",
        live("HorizontalPodAutoscaler", "autoscaling/v2", {}, {"conditions": [condition("AbleToScale")]}),
        "Healthy",
        "",
    ),
    (
        "autoscaler without metrics",
        live(
            "HorizontalPodAutoscaler",
            "autoscaling/v2",
            {},
            {
                "conditions": [
                    condition("AbleToScale"),
                    condition("ScalingActive", "False", reason="FailedGetResourceMetric", message="no metrics"),
                ]
            },
        ),
        "Failed",
        "no metrics",
    ),
    ("namespace", live("Namespace", status={"phase": "Active"}), "Healthy", ""),
    ("namespace that goes", live("Namespace", status={"phase": "Terminating"}), "Progressing", "deleted"),
    ("a kind of the same name elsewhere", live("Deployment", "example.com/v1", {}), "Healthy", ""),
    ("no metadata at all", {"apiVersion": "v1", "kind": "ConfigMap"}, "Healthy", ""),
    ("nothing at all", {}, "Healthy", ""),
    ("a status that is none", live("Thing", "example.com/v1", "x", "x", generation=2), "Healthy", ""),
    ("conditions that are none", ready_of("Ready", condition("Ready", "False")), "Progressing", "Ready"),
    ("not stalled", ready_of(condition("Stalled", "False"), condition("Ready")), "Healthy", ""),
    ("not reconciling", ready_of(condition("Reconciling", "False"), condition("Ready")), "Healthy", ""),
    ("said by the message first", ready_of(condition("Ready", "False", message="m", reason="r")), "Progressing", "m"),
    ("of a generation to come", ready_of(condition("Ready"), observedGeneration=3), "Healthy", ""),
    (
        "seen, without a generation",
        live("Thing", "example.com/v1", {}, {"observedGeneration": 1, "conditions": [condition("Ready")]}),
        "Healthy",
        "",
    ),
    ("deployment of one by default", deployment_of_default(1), "Healthy", ""),
    (
        "deployment of one by default, none there",
        deployment_of_default(0),
        "Progressing",
        "0 of 1 replicas are updated",
    ),
    (
        "deployment updated, none counted",
        deployment(replicas=3, readyReplicas=0),
        "Progressing",
        "0 of 3 replicas are available",
    ),
    (
        "deployment available, fewer ready",
        deployment(availableReplicas=2, readyReplicas=1),
        "Progressing",
        "1 of 3 replicas are available",
    ),
    (
        "deployment ready, fewer available",
        deployment(availableReplicas=1, readyReplicas=2),
        "Progressing",
        "1 of 3 replicas are available",
    ),
    (
        "deployment of none, none counted",
        live("Deployment", "apps/v1", {"replicas": 0}, {"observedGeneration": 1}),
        "Healthy",
        "",
    ),
    (
        "deployment ready, none available",
        deployment_without("availableReplicas"),
        "Progressing",
        "0 of 1 replicas are available",
    ),
    (
        "deployment available, none ready",
        deployment_without("readyReplicas"),
        "Progressing",
        "0 of 1 replicas are available",
    ),
    ("deployment with more than it wants", deployment({"replicas": 2}), "Healthy", ""),
    (
        "deployment that says why it is not available",
        deployment(conditions=[condition("Available", "False", message="too few")]),
        "Progressing",
        "too few",
    ),
    (
        "deployment on its way",
        deployment(conditions=[condition("Available"), condition("Progressing", reason="New")]),
        "Healthy",
        "",
    ),
    ("stateful set of one by default", stateful_of_default(1), "Healthy", ""),
    ("stateful set of one by default, none there", stateful_of_default(0), "Progressing", "0 of 1 replicas are ready"),
    (
        "stateful set with a partition beyond its replicas",
        stateful({"updateStrategy": {"rollingUpdate": {"partition": 5}}}, currentRevision="a", updatedReplicas=0),
        "Healthy",
        "",
    ),
    (
        "stateful set with a partition, none counted",
        live(
            "StatefulSet",
            "apps/v1",
            {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
            {"observedGeneration": 1, "readyReplicas": 2},
            generation=1,
        ),
        "Progressing",
        "0 of 1 replicas are updated",
    ),
    (
        "stateful set whose update strategy is null",
        stateful({"updateStrategy": {"rollingUpdate": None}}, currentRevision="a", updatedReplicas=2),
        "Progressing",
        "2 of 3 replicas are updated",
    ),
    (
        "stateful set of an old revision, none counted",
        live(
            "StatefulSet", "apps/v1", {"replicas": 0}, {"observedGeneration": 1, "currentRevision": "a"}, generation=1
        ),
        "Progressing",
        "0 of 0 replicas are updated",
    ),
    (
        "daemon set for no node",
        live("DaemonSet", "apps/v1", {}, {"observedGeneration": 1}, generation=1),
        "Healthy",
        "",
    ),
    (
        "daemon set, none counted",
        live("DaemonSet", "apps/v1", {}, {"observedGeneration": 1, "desiredNumberScheduled": 1}, generation=1),
        "Progressing",
        "0 of 1 nodes are updated",
    ),
    (
        "daemon set updated, none available",
        live(
            "DaemonSet",
            "apps/v1",
            {},
            {"observedGeneration": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1},
            generation=1,
        ),
        "Progressing",
        "0 of 1 nodes have it available",
    ),
    ("daemon set with more than it wants", daemon(updatedNumberScheduled=3, numberAvailable=3), "Healthy", ""),
    ("crd not established", crd(condition("NamesAccepted")), "Progressing", "established"),
    ("crd whose names nobody has judged", crd(condition("Established")), "Progressing", "established"),
    (
        "crd whose names are unknown",
        crd(condition("Established"), condition("NamesAccepted", "Unknown")),
        "Progressing",
        "",
    ),
    (
        "api service that says why",
        live(
            "APIService",
            "apiregistration.k8s.io/v1",
            {},
            {"conditions": [condition("Available", "False", reason="Gone")]},
        ),
        "Progressing",
        "Gone",
    ),
    ("claim without a phase", live("PersistentVolumeClaim"), "Progressing", "bound"),
    ("service without a spec", live("Service"), "Healthy", ""),
    ("load balancer without a status", live("Service", spec={"type": "LoadBalancer"}), "Progressing", "address"),
    (
        "ingress with an address",
        live("Ingress", "networking.k8s.io/v1", {}, {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}),
        "Healthy",
        "",
    ),
    (
        "pod running and not ready",
        pod(phase="Running", conditions=[condition("Ready", "False")]),
        "Progressing",
        "ready",
    ),
    ("pod failed, with a message", pod(phase="Failed", reason="Evicted", message="no disk"), "Failed", "no disk"),
    ("pod failed, without a word", pod(phase="Failed"), "Failed", "it failed"),
    (
        "pod that runs",
        pod(phase="Running", containerStatuses=[{"name": "a", "state": {"running": {}}}, {"name": "b"}]),
        "Progressing",
        "ready",
    ),
    (
        "pod whose first containers crash",
        pod(
            initContainerStatuses=[{"name": "init", "state": {"waiting": {"reason": "ErrImagePull"}}}],
            containerStatuses=[{"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
        ),
        "Failed",
        "container init: ErrImagePull",
    ),
    ("pod unschedulable since nobody knows when", unschedulable("soon"), "Progressing", "ready"),
    (
        "pod scheduled long ago",
        pod(conditions=[condition("PodScheduled", reason="Scheduled", lastTransitionTime="2026-03-02T11:00:00Z")]),
        "Progressing",
        "ready",
    ),
    ("autoscaler that is new", autoscaler(), "Progressing", "looked at"),
    (
        "autoscaler that cannot scale",
        autoscaler(condition("AbleToScale", "False", reason="FailedGetScale")),
        "Failed",
        "FailedGetScale",
    ),
    (
        "autoscaler that backs off",
        autoscaler(condition("AbleToScale", "False", reason="BackoffBoth")),
        "Progressing",
        "looked at",
    ),
    (
        "autoscaler of none",
        autoscaler(condition("AbleToScale"), condition("ScalingActive", "False", reason="ScalingDisabled")),
        "Healthy",
        "",
    ),
    (
        "autoscaler that had no metrics once",
        autoscaler(condition("AbleToScale"), condition("ScalingActive", reason="FailedGetResourceMetric")),
        "Healthy",
        "",
    ),
    ("namespace without a status", live("Namespace"), "Healthy", ""),
]


def flux(
    kind: str = "HelmRelease", generation: int = 2, seen: int = 2, said: Mapping[str, Any] | None = None, **ready: Any
) -> dict[str, Any]:
    version = "helm.toolkit.fluxcd.io/v2" if kind == "HelmRelease" else "source.toolkit.fluxcd.io/v1"
    conditions = [condition("Ready", **{"observedGeneration": generation, **ready})] if ready else []
    status = {"observedGeneration": seen, "conditions": conditions, **(said or {})}
    return live(kind, version, {}, status, generation=generation)


def stalled(seen: int, status: str = "True") -> dict[str, Any]:
    conditions = [condition("Stalled", status), condition("Ready")]
    told = {"observedGeneration": seen, "conditions": conditions}
    return live("HelmRelease", "helm.toolkit.fluxcd.io/v2", {}, told, generation=2)


def asked(object_: dict[str, Any], request: str) -> dict[str, Any]:
    return {**object_, "metadata": {**object_["metadata"], "annotations": {FLUX_REQUEST: request}}}


def written(seconds_ago: int, by: str = "fleetform", **entry: str) -> dict[str, Any]:
    """An entry of managedFields of that age."""
    time = (NOW - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"manager": by, "operation": "Apply", "time": time, **entry}


OLD, NEW = "2026-03-01T12:00:00Z", "2026-03-02T11:59:01Z"


@pytest.mark.parametrize(
    ("metadata", "status", "level"),
    [
        ({"creationTimestamp": NEW}, None, "Progressing"),
        ({"creationTimestamp": NEW}, {}, "Progressing"),
        ({"creationTimestamp": NEW}, {"conditions": None, "items": []}, "Progressing"),
        ({"creationTimestamp": NEW}, {"replicas": 0}, "Healthy"),
        ({"creationTimestamp": NEW}, {"phase": "Bound"}, "Healthy"),
        ({"creationTimestamp": NEW}, {"conditions": [condition("Ready", "False")]}, "Progressing"),
        ({"creationTimestamp": "2026-03-02T11:59:00Z"}, None, "Healthy"),
        ({"creationTimestamp": OLD}, None, "Healthy"),
        ({"creationTimestamp": OLD, "managedFields": [written(59)]}, None, "Progressing"),
        ({"creationTimestamp": OLD, "managedFields": [written(60)]}, None, "Healthy"),
        # What others write all the time puts nothing off.
        ({"creationTimestamp": OLD, "managedFields": [written(5, "manager"), written(90)]}, None, "Healthy"),
        ({"creationTimestamp": OLD, "managedFields": [written(5, operation="Update"), written(90)]}, None, "Healthy"),
        ({}, None, "Healthy"),
    ],
)
def test_a_custom_object_of_which_its_controller_says_nothing_is_waited_for_for_a_minute(
    metadata: dict[str, Any], status: Any, level: Level
) -> None:
    object_ = live("Thing", "example.com/v1", {}, status, **metadata)
    assert health_of(object_, NOW, True).level == level
    if not status:
        assert health_of(object_, NOW).level == "Healthy", "its kind has no status"


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ("v1", "Healthy"),
        ("batch/v1", "Healthy"),
        ("networking.k8s.io/v1", "Healthy"),
        ("snapshot.storage.k8s.io/v1", "Progressing"),
    ],
)
def test_kubernetes_own_kinds_are_not_waited_for_if_they_say_nothing(version: str, level: Level) -> None:
    """A CronJob has nothing to say before it first runs."""
    assert health_of(live("CronJob", version, {}, {}, creationTimestamp=NEW), NOW, True).level == level


TRUE: dict[str, Any] = {"status": "True"}
FAILED: dict[str, Any] = {"status": "False", "reason": "UpgradeFailed"}
INSTALLED = {"lastAttemptedConfigDigest": "sha256:2", "history": [{"configDigest": "sha256:2"}]}
NOT_YET = {"lastAttemptedConfigDigest": "sha256:2", "history": [{"configDigest": "sha256:1"}]}
STALLED = {"conditions": [condition("Stalled", status="True", reason="Failed", observedGeneration=1)]}


@pytest.mark.parametrize(
    ("object_", "level"),
    [
        (live("HelmRelease", "helm.toolkit.fluxcd.io/v2", {}, None, generation=1), "Progressing"),
        (flux(seen=1, **TRUE), "Progressing"),
        (flux(**TRUE, observedGeneration=1), "Progressing"),
        (flux(**TRUE), "Healthy"),
        (flux(**FAILED), "Failed"),
        # Kustomizations tell of a generation that failed in the condition alone.
        (flux(seen=1, **FAILED), "Failed"),
        (flux(**FAILED, observedGeneration=1), "Progressing"),
        (flux(said=STALLED, seen=1), "Progressing"),
        (flux(said=STALLED, generation=1, seen=1), "Failed"),
        (flux(status="False", reason="DependencyNotReady"), "Progressing"),
        (flux(status="False", reason="ArtifactFailed"), "Progressing"),
        (flux(status="Unknown", reason="Progressing"), "Progressing"),
        (flux(), "Progressing"),
        # A registry that is away for a while says nothing of what runs.
        (flux("OCIRepository", status="False", reason="OCIArtifactPullFailed"), "Progressing"),
        (live("HelmRepository", "source.toolkit.fluxcd.io/v1", {"type": "oci"}, None, generation=1), "Healthy"),
        (live("HelmRepository", "source.toolkit.fluxcd.io/v1", {"type": "default"}, None, generation=1), "Progressing"),
        (live("OCIRepository", "source.toolkit.fluxcd.io/v1", {"type": "oci"}, None, generation=1), "Progressing"),
        # What is stalled has failed, whatever else is said; that an earlier generation was says nothing of this one.
        (stalled(seen=1), "Progressing"),
        (stalled(seen=2), "Failed"),
        (stalled(seen=2, status="False"), "Healthy"),
        (flux(status="True", reason="UpgradeFailed"), "Healthy"),
        (flux(status="Unknown", reason="UpgradeFailed"), "Progressing"),
        (flux(status="False", reason="Upgrading"), "Progressing"),
        (flux(status="False"), "Progressing"),
        (flux(said=INSTALLED, **TRUE), "Healthy"),
        (flux(said=NOT_YET, **TRUE), "Progressing"),
        (asked(flux(**TRUE), "b"), "Progressing"),
        (asked(flux(said={"lastHandledReconcileAt": "a"}, **TRUE), "b"), "Progressing"),
        (asked(flux(said={"lastHandledReconcileAt": "a"}, **FAILED), "b"), "Progressing"),
        (asked(flux(said={"lastHandledReconcileAt": "b"}, **TRUE), "b"), "Healthy"),
        (asked(flux(said={"lastHandledReconcileAt": "b"}, **FAILED), "b"), "Failed"),
    ],
)
def test_objects_of_flux_are_done_when_flux_says_so_of_what_was_asked_last(
    object_: dict[str, Any], level: Level
) -> None:
    assert health_of(object_, NOW).level == level


def test_what_flux_says_of_an_object_is_told() -> None:
    told = flux(status="False", reason="DependencyNotReady", message="certs is not ready")
    assert health_of(told, NOW).message == "certs is not ready"
    assert health_of(flux(), NOW).message == "Flux has not seen it yet"


@pytest.mark.parametrize(("object_", "level", "told"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_health_by_kind(object_: dict[str, Any], level: Level, told: str) -> None:
    found = health_of(object_, NOW)
    assert found.level == level
    assert told in found.message
    assert (found.message == "") == (level == "Healthy")
