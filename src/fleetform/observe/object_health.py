"""The health of one object, by the rules of its kind, from what its controller wrote into its status. Pure.

A status counts only for the generation that its controller has seen: one that is about an older one says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from fleetform.clusters.ownership import MANAGER
from fleetform.syntax.times import parse_time

Manifest = Mapping[str, Any]
Level = Literal["Healthy", "Progressing", "Failed"]

# Kinds that have nothing to wait for: they are healthy once they are there. By group: others name kinds as they like.
WITHOUT_STATUS = frozenset(
    {
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("", "ConfigMap"),
        ("", "LimitRange"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("node.k8s.io", "RuntimeClass"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("storage.k8s.io", "StorageClass"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    }
)
# Kubernetes' own groups, whose controllers run before anything else does; those of CRDs have a dot, too.
_OWN_GROUPS = frozenset(
    f"{each}.k8s.io"
    for each in (
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    )
)
# So long a controller may take until it says something of an object that is new or was changed. Many never write a
# status: what they get must not wait for ever.
_UNSEEN = timedelta(minutes=1)
# A pod may stay unschedulable for a moment while nodes are added.
_UNSCHEDULABLE = timedelta(seconds=15)
_CRASHING = ("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError")

# By this Flux is asked to reconcile at once; what it says is in the status once it has.
FLUX_REQUEST = "reconcile.fluxcd.io/requestedAt"
_FLUX_SOURCES = ("GitRepository", "HelmRepository", "OCIRepository")


class ObjectHealth(NamedTuple):
    """How an object is doing, and why it is not healthy."""

    level: Level
    message: str = ""


HEALTHY = ObjectHealth("Healthy")


def health_of(live: Manifest, now: datetime, has_status: bool = False) -> ObjectHealth:
    """The health of an object as it is on the cluster; has_status: its kind has a status that controllers write."""
    metadata = live.get("metadata", {})
    if metadata.get("deletionTimestamp"):
        return _progressing("it is being deleted")
    group = live.get("apiVersion", "").rpartition("/")[0]
    judge = _BY_KIND.get((group, live.get("kind", "")))
    if judge is not None:
        return judge(live, now)
    if has_status and _is_custom(group) and _says_nothing(live) and _newer(_written(live), _UNSEEN, now):
        return _progressing("its controller has not said anything of it yet")
    return _by_conditions(live)


def _is_custom(group: str) -> bool:
    return "." in group and group not in _OWN_GROUPS


def _says_nothing(live: Manifest) -> bool:
    """Whether its status is empty; one that has only names of lists is, too."""
    return all(each in (None, "", [], {}) for each in _status(live).values())


def _written(live: Manifest) -> str:
    """When an object was made, or changed by our last apply: what others write beside would put that off for ever."""
    metadata = live.get("metadata", {})
    ours = [
        str(each.get("time", ""))
        for each in metadata.get("managedFields") or ()
        if (each.get("manager"), each.get("operation"), each.get("subresource")) == (MANAGER, "Apply", None)
    ]
    # Both as the server writes times, which are in order as texts are.
    return max([str(metadata.get("creationTimestamp", "")), *ours])


def _progressing(message: str) -> ObjectHealth:
    return ObjectHealth("Progressing", message)


def _failed(message: str) -> ObjectHealth:
    return ObjectHealth("Failed", message)


_UNSEEN_BY_FLUX = _progressing("Flux has not seen it yet")


def _status(live: Manifest) -> Manifest:
    found = live.get("status")
    return found if isinstance(found, Mapping) else {}


def _spec(live: Manifest) -> Manifest:
    found = live.get("spec")
    return found if isinstance(found, Mapping) else {}


def _condition(live: Manifest, type_: str) -> Manifest:
    # A CRD that is new has null for its conditions.
    for each in _status(live).get("conditions") or ():
        if isinstance(each, Mapping) and each.get("type") == type_:
            return each
    return {}


def _is(live: Manifest, type_: str, status: str) -> bool:
    return _condition(live, type_).get("status") == status


def _told(condition: Manifest) -> str:
    return str(condition.get("message") or condition.get("reason") or condition.get("type") or "")


def _not_seen(live: Manifest) -> ObjectHealth | None:
    """What is to be said of an object whose controller has not seen its newest form."""
    generation, observed = live.get("metadata", {}).get("generation"), _status(live).get("observedGeneration")
    if generation is not None and observed is not None and observed < generation:
        return _progressing("its controller has not seen it yet")
    return None


def _by_conditions(live: Manifest) -> ObjectHealth:
    """Any other kind: by the conditions that most controllers write."""
    unseen = _not_seen(live)
    if unseen is not None:
        return unseen
    stalled, reconciling, ready = (_condition(live, each) for each in ("Stalled", "Reconciling", "Ready"))
    if stalled.get("status") == "True":
        return _failed(_told(stalled))
    if reconciling.get("status") == "True":
        return _progressing(_told(reconciling))
    if ready and ready.get("status") != "True":
        return _progressing(_told(ready))
    return HEALTHY


def _flux(live: Manifest, _: datetime) -> ObjectHealth:
    """Flux's objects: done once Flux says so of this generation, after it has handled what was asked of it last.

    What Flux installs may change without the generation: a Secret that values are in, a source. So each delivery asks
    it to reconcile, and it answers with what it was asked. What it retries has failed for now.
    """
    if live.get("kind") == "HelmRepository" and _spec(live).get("type") == "oci":
        # Nothing reconciles it: releases read it.
        return HEALTHY
    metadata, status = live.get("metadata", {}), _status(live)
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    asked = (metadata.get("annotations") or {}).get(FLUX_REQUEST)
    if asked is not None and status.get("lastHandledReconcileAt") != asked:
        return _UNSEEN_BY_FLUX
    stalled, ready = _condition(live, "Stalled"), _condition(live, "Ready")
    if stalled.get("status") == "True" and stalled.get("observedGeneration", observed) == generation:
        return _failed(_told(stalled))
    # Of a generation that has failed some controllers tell in the condition alone.
    if not ready or ready.get("observedGeneration", observed) != generation:
        return _UNSEEN_BY_FLUX
    if ready.get("status") == "True":
        return HEALTHY if observed == generation and _has_these_values(status) else _UNSEEN_BY_FLUX
    reason = str(ready.get("reason", ""))
    # A source may be out of reach for a while, also of what runs. Others wait for theirs, or for what they depend on.
    waits = live.get("kind") in _FLUX_SOURCES or reason in ("ArtifactFailed", "DependencyNotReady")
    if ready.get("status") == "False" and reason.endswith("Failed") and not waits:
        return _failed(_told(ready))
    return _progressing(_told(ready))


def _has_these_values(status: Manifest) -> bool:
    """Whether the values that were tried last are those that are installed, of a release of Helm."""
    history, tried = status.get("history"), status.get("lastAttemptedConfigDigest")
    if not tried or not isinstance(history, list) or not history:
        return True
    return bool(history[0].get("configDigest", tried) == tried)


def _deployment(live: Manifest, _: datetime) -> ObjectHealth:
    spec, status = _spec(live), _status(live)
    unseen = _workload_not_seen(live)
    if unseen is not None:
        return unseen
    if spec.get("paused"):
        return _progressing("it is paused")
    progressing = _condition(live, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return _failed(_told(progressing))
    wanted = spec.get("replicas", 1)
    total, updated = status.get("replicas", 0), status.get("updatedReplicas", 0)
    ready, available = status.get("readyReplicas", 0), status.get("availableReplicas", 0)
    if updated < wanted:
        return _progressing(f"{updated} of {wanted} replicas are updated")
    if total > updated:
        return _progressing(f"{total - updated} old replicas are still there")
    if available < wanted or ready < wanted:
        return _progressing(f"{min(available, ready)} of {wanted} replicas are available")
    if wanted and not _is(live, "Available", "True"):
        return _progressing(_told(_condition(live, "Available")) or "it is not available yet")
    return HEALTHY


def _workload_not_seen(live: Manifest) -> ObjectHealth | None:
    """Workloads have an observed generation as soon as their controller has seen them at all."""
    if _status(live).get("observedGeneration") is None:
        return _progressing("its controller has not seen it yet")
    return _not_seen(live)


def _stateful_set(live: Manifest, _: datetime) -> ObjectHealth:
    spec, status = _spec(live), _status(live)
    unseen = _workload_not_seen(live)
    if unseen is not None:
        return unseen
    strategy = spec.get("updateStrategy") or {}
    wanted, ready = spec.get("replicas", 1), status.get("readyReplicas", 0)
    if ready < wanted:
        return _progressing(f"{ready} of {wanted} replicas are ready")
    if strategy.get("type") == "OnDelete":
        return HEALTHY
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    updated = status.get("updatedReplicas", 0)
    if partition:
        due = max(wanted - partition, 0)
        return HEALTHY if updated >= due else _progressing(f"{updated} of {due} replicas are updated")
    if status.get("currentRevision") != status.get("updateRevision"):
        return _progressing(f"{updated} of {wanted} replicas are updated")
    return HEALTHY


def _daemon_set(live: Manifest, _: datetime) -> ObjectHealth:
    unseen = _workload_not_seen(live)
    if unseen is not None:
        return unseen
    status = _status(live)
    wanted = status.get("desiredNumberScheduled", 0)
    updated, available = status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0)
    if (_spec(live).get("updateStrategy") or {}).get("type") == "OnDelete":
        updated = wanted
    if updated < wanted:
        return _progressing(f"{updated} of {wanted} nodes are updated")
    return HEALTHY if available >= wanted else _progressing(f"{available} of {wanted} nodes have it available")


def _job(live: Manifest, _: datetime) -> ObjectHealth:
    failed = _condition(live, "Failed")
    if failed.get("status") == "True":
        return _failed(_told(failed))
    if _is(live, "Complete", "True") or _spec(live).get("suspend"):
        return HEALTHY
    return _progressing("it has not completed yet")


def _crd(live: Manifest, _: datetime) -> ObjectHealth:
    names = _condition(live, "NamesAccepted")
    if names.get("status") == "False":
        return _failed(_told(names))
    if _is(live, "Established", "True") and names.get("status") == "True":
        return HEALTHY
    return _progressing("it is not established yet")


def _api_service(live: Manifest, _: datetime) -> ObjectHealth:
    available = _condition(live, "Available")
    return HEALTHY if available.get("status") == "True" else _progressing(_told(available) or "it is not available yet")


def _claim(live: Manifest, _: datetime) -> ObjectHealth:
    phase = _status(live).get("phase")
    if phase == "Lost":
        return _failed("its volume is lost")
    # A claim of a class that waits for its first consumer is pending until somebody uses it.
    return HEALTHY if phase in ("Bound", "Pending") else _progressing("it is not bound yet")


def _service(live: Manifest, _: datetime) -> ObjectHealth:
    if _spec(live).get("type") != "LoadBalancer" or (_status(live).get("loadBalancer") or {}).get("ingress"):
        return HEALTHY
    return _progressing("it has no address yet")


def _ingress(live: Manifest, _: datetime) -> ObjectHealth:
    if (_status(live).get("loadBalancer") or {}).get("ingress"):
        return HEALTHY
    return _progressing("it has no address yet")


def _pod(live: Manifest, now: datetime) -> ObjectHealth:
    status = _status(live)
    if status.get("phase") == "Succeeded" or _is(live, "Ready", "True"):
        return HEALTHY
    if status.get("phase") == "Failed":
        return _failed(str(status.get("message") or status.get("reason") or "it failed"))
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for each in containers:
        waiting = (each.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _CRASHING:
            return _failed(f"container {each.get('name')}: {waiting['reason']}")
    scheduled = _condition(live, "PodScheduled")
    if scheduled.get("reason") == "Unschedulable" and _older(scheduled.get("lastTransitionTime"), _UNSCHEDULABLE, now):
        return _failed(_told(scheduled))
    return _progressing("it is not ready yet")


def _older(time: object, than: timedelta, now: datetime) -> bool:
    try:
        return parse_time(str(time)) + than <= now
    except ValueError:
        return False


def _newer(time: str, than: timedelta, now: datetime) -> bool:
    try:
        return parse_time(time) + than > now
    except ValueError:
        return False


def _autoscaler(live: Manifest, _: datetime) -> ObjectHealth:
    able, active = _condition(live, "AbleToScale"), _condition(live, "ScalingActive")
    for each, reasons in ((able, ("FailedGetScale", "FailedUpdateScale")), (active, ("FailedGetResourceMetric",))):
        if each.get("status") == "False" and each.get("reason") in reasons:
            return _failed(_told(each))
    return HEALTHY if able.get("status") == "True" else _progressing("it has not been looked at yet")


def _namespace(live: Manifest, _: datetime) -> ObjectHealth:
    return HEALTHY if _status(live).get("phase", "Active") == "Active" else _progressing("it is being deleted")


_BY_KIND: dict[tuple[str, str], Callable[[Manifest, datetime], ObjectHealth]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("", "Pod"): _pod,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("", "Namespace"): _namespace,
    ("helm.toolkit.fluxcd.io", "HelmRelease"): _flux,
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): _flux,
    ("source.toolkit.fluxcd.io", "GitRepository"): _flux,
    ("source.toolkit.fluxcd.io", "HelmRepository"): _flux,
    ("source.toolkit.fluxcd.io", "OCIRepository"): _flux,
}
