"""Whose an object on a cluster is. Pure.

Each object bears the plugin that it was applied for: as a label, by which all of one plugin are found, and in words,
for people who look at it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from fleetform.model.results.decisions import PluginKey

Manifest = dict[str, Any]

PLUGIN = "fleetform.dev/plugin"
OWNER = "fleetform.dev/owner"
# Of which plugin an object was that has none any more, in words.
LEFT_BY = "fleetform.dev/left-by"
MANAGER = "fleetform"
_KEEP = "helm.sh/resource-policy"
# Removing these would take with them what others made: data behind kinds, everything in a namespace (B22).
_NEVER_REMOVED = ("CustomResourceDefinition", "Namespace")


def label_of(key: PluginKey) -> str:
    """A plugin as a label's value: names may be longer than labels."""
    return hashlib.sha256("/".join(key).encode()).hexdigest()[:32]


def marked(manifest: Mapping[str, Any], key: PluginKey) -> Manifest:
    """The object with whose it is."""
    metadata = dict(manifest["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), PLUGIN: label_of(key)}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), OWNER: "/".join(key)}
    return {**manifest, "metadata": metadata}


def is_ours(live: Mapping[str, Any], key: PluginKey) -> bool:
    labels = live["metadata"].get("labels") or {}
    return bool(labels.get(PLUGIN) == label_of(key))


def owner_of(live: Mapping[str, Any]) -> str:
    """Who has an object, in words; "" if nobody says so."""
    metadata = live["metadata"]
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    if labels.get(PLUGIN):
        return f"plugin {annotations.get(OWNER) or labels[PLUGIN]}"
    # Before Helm: what Flux brings by Helm is a release, too.
    flux = labels.get("kustomize.toolkit.fluxcd.io/name") or labels.get("helm.toolkit.fluxcd.io/name")
    if flux:
        return f"Flux ({flux})"
    if annotations.get("meta.helm.sh/release-name"):
        namespace = annotations.get("meta.helm.sh/release-namespace", "")
        return f"the Helm release {namespace}/{annotations['meta.helm.sh/release-name']}"
    if annotations.get("argocd.argoproj.io/tracking-id"):
        return f"Argo CD ({annotations['argocd.argoproj.io/tracking-id'].partition(':')[0]})"
    return ""


def left_by(live: Mapping[str, Any]) -> str:
    """Which plugin left an object that nobody has, in words; "" if none did."""
    name = "" if owner_of(live) else (live["metadata"].get("annotations") or {}).get(LEFT_BY)
    return f"plugin {name}" if name else ""


def was_left_by(live: Mapping[str, Any], key: PluginKey) -> bool:
    """Whether nobody has an object that was a plugin's before: it may have it again."""
    return left_by(live) == f"plugin {'/'.join(key)}"


def without_owner(key: PluginKey, uid: str, version: str) -> Manifest:
    """The patch by which an object is nobody's, if it is still the one that was looked at."""
    metadata = {"labels": {PLUGIN: None}, "annotations": {OWNER: None, LEFT_BY: "/".join(key)}}
    return {"metadata": {"uid": uid, "resourceVersion": version, **metadata}}


def is_another_plugins(live: Mapping[str, Any], key: PluginKey) -> bool:
    return PLUGIN in (live["metadata"].get("labels") or {}) and not is_ours(live, key)


def is_kept(live: Mapping[str, Any]) -> bool:
    """Whether an object stays when its plugin no longer names it; the annotation is read as Helm reads it."""
    annotations = live["metadata"].get("annotations") or {}
    return live["kind"] in _NEVER_REMOVED or annotations.get(_KEEP, "").strip().lower() == "keep"
