"""The order in which objects are applied, in waves: all of a wave are there before the next one begins. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

Manifest = TypeVar("Manifest", bound=Mapping[str, Any])

# What others need to exist before they are accepted: kinds, the namespaces they are in, rights that are aggregated.
_FIRST = ("CustomResourceDefinition", "Namespace", "ClusterRole")
# Within the last wave but one, as people would do it by hand; what is not named comes between.
_EARLY = (
    "ResourceQuota",
    "LimitRange",
    "PriorityClass",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "Service",
)
_LATE = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler", "Ingress", "APIService")
# They hold up every request that they match until what they call answers.
_LAST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def waves(objects: Iterable[Manifest]) -> Sequence[Sequence[Manifest]]:
    """CRDs, namespaces and cluster roles; classes; everything else by kind; webhook configurations."""
    found: list[list[Manifest]] = [[], [], [], []]
    for each in objects:
        found[_wave(each["kind"])].append(each)
    return [sorted(wave, key=_place) for wave in found if wave]


def removal_order(objects: Iterable[Manifest]) -> Sequence[Manifest]:
    """What is applied last goes first."""
    return [each for wave in reversed(waves(objects)) for each in reversed(wave)]


def _wave(kind: str) -> int:
    if kind in _FIRST:
        return 0
    if kind in _LAST:
        return 3
    return 1 if kind.endswith("Class") and kind != "PriorityClass" else 2


def _place(each: Mapping[str, Any]) -> tuple[int, int, str, str, str]:
    kind, metadata = each["kind"], each["metadata"]
    for place, kinds in enumerate((_FIRST, _EARLY, None, _LATE)):
        if kinds is not None and kind in kinds:
            return place, kinds.index(kind), kind, metadata.get("namespace", ""), metadata["name"]
    return 2, 0, kind, metadata.get("namespace", ""), metadata["name"]
