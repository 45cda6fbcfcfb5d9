"""The health of objects by kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
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


def ready_of(*conditions: dict[str, str], **more: Any) -> dict[str, Any]:
    return live("Thing", "example.com/v1", {}, {"conditions": list(conditions), **more}, generation=2)


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
]


def flux(
    kind: str = "HelmRelease", generation: int = 2, seen: int = 2, said: Mapping[str, Any] | None = None, **ready: Any
) -> dict[str, Any]:
    version = "helm.toolkit.fluxcd.io/v2" if kind == "HelmRelease" else "source.toolkit.fluxcd.io/v1"
    conditions = [condition("Ready", **{"observedGeneration": generation, **ready})] if ready else []
    status = {"observedGeneration": seen, "conditions": conditions, **(said or {})}
    return live(kind, version, {}, status, generation=generation)


def asked(object_: dict[str, Any], request: str) -> dict[str, Any]:
    return {**object_, "metadata": {**object_["metadata"], "annotations": {FLUX_REQUEST: request}}}


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


@pytest.mark.parametrize(("object_", "level", "told"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_health_by_kind(object_: dict[str, Any], level: Level, told: str) -> None:
    found = health_of(object_, NOW)
    assert found.level == level
    assert told in found.message
    assert (found.message == "") == (level == "Healthy")
