"""Open Cluster Management's objects as native ones, and what a native file cannot say of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.model.kinds import KINDS
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.names import generated_name

Tree = dict[str, Any]


def is_native_kind(object_: Object[Any]) -> bool:
    return object_.ref.kind in KINDS


def native_name(ref: Ref) -> str:
    """A name without the namespace that is part of it there."""
    return ref.name.replace("/", "-")


def as_native(fleet: Fleet, object_: Object[Any], tree: Tree) -> Tree:
    """The tree with names that a native file can bear, and a preset's clusters written down as they are now."""
    name = native_name(object_.ref)
    if object_.ref.kind == "Plugin":
        # Beside a preset it bears the name that the preset gives it.
        name = generated_name(object_.spec.preset_ref.name, object_.spec.cluster_name)
    tree["metadata"] |= {"name": name, "namespace": object_.ref.organization}
    if object_.ref.kind != "PluginPreset":
        return tree
    spec = tree["spec"]
    clusters = sorted(
        plugin.cluster.ref.name for plugin in fleet.decisions.plugins.values() if plugin.target.owner is object_
    )
    tree["spec"] = {"clusterSelector": {"clusterNames": clusters} if clusters else nothing(), **spec}
    for group in spec.get("groups", ()):
        group["name"] = group["name"].replace("/", "-")
        group["placement"]["name"] = group["placement"]["name"].replace("/", "-")
    return tree


def nothing() -> Tree:
    """A selector of no cluster: one without names would select them all."""
    return {"labelSelector": {"matchLabels": {"fleetform.dev/selected": "true"}}}


def ocm_losses(fleet: Fleet) -> Iterator[Diagnostic]:
    """What means something else in native files, object by object."""
    for object_ in fleet.snapshot.objects:
        if object_.dialect != "ocm":
            continue
        if not is_native_kind(object_):
            message = f"{object_.ref.kind} {object_.ref.name} has no native counterpart"
            yield _lost(object_, message, "placements keep the names of their sets, which labels on clusters give")
        elif object_.ref.kind == "PluginPreset":
            message = "its clusters are written by name, as its placements choose them now"
            yield _lost(object_, message, "name one placement in spec.placement to have it follow")
        namespaces = sorted(_config_namespaces(object_) - {object_.ref.organization, ""})
        if namespaces:
            message = (
                f"its configs lie in {', '.join(namespaces)}, which native manifests of another namespace cannot name"
            )
            yield _lost(object_, message, f"move them to {object_.ref.organization}")


def _lost(object_: Object[Any], message: str, hint: str) -> Diagnostic:
    return Diagnostic("foreign-note", message, hint, "info", object_.ref, object_.at())


def _config_namespaces(object_: Object[Any]) -> set[str]:
    spec = object_.spec
    lists = [getattr(spec, "configs", None), *(each.configs for each in getattr(spec, "groups", None) or ())]
    named = [each for listed in lists for each in listed or ()]
    found = {getattr(each, "namespace", None) for each in named}
    found |= {each.default.namespace for each in named if getattr(each, "default", None) is not None}
    return {each for each in found if each}
