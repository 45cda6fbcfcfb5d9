"""From objects to a snapshot: each in its place, once, with what earlier passes left behind."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from fleetform.app.answering.manifests import content_of
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.snapshot import Snapshot, VersionKey
from fleetform.ports.state import KnownState
from fleetform.syntax.times import parse_time
from fleetform.syntax.versions import VersionError, parse_version

CREATED = "fleetform.dev/created"
_PLACES = {
    "Organization": "organizations",
    "Cluster": "clusters",
    "PluginPreset": "presets",
    "Plugin": "plugins",
    "PluginOverride": "overrides",
}


def assemble(
    objects: Iterable[Object[Any]], at: datetime, state: KnownState, diagnostics: list[Diagnostic]
) -> Snapshot:
    """The snapshot of objects at a time; what stands in it twice, or bears no readable stamp, is reported."""
    stamped = [_stamped(each, state, diagnostics) for each in objects]
    fields = _by_kind(stamped, diagnostics)
    owners = {**fields["presets"], **fields["plugins"]}
    versions = state.versions
    return Snapshot(
        at,
        fields["organizations"],
        fields["clusters"],
        fields["definitions"],
        fields["presets"],
        fields["plugins"],
        fields["overrides"],
        fields["others"],
        states=state.plugins,
        rejected=_rejected(state, owners),
        announced={key: each.announced for key, each in versions.items() if each.announced is not None},
        selected=_selected(state, fields["others"].values()),
        ends={key: each.ends for key, each in versions.items() if each.ends is not None},
        recorded={key: each.digest for key, each in versions.items() if each.digest is not None},
    )


def _by_kind(objects: Sequence[Object[Any]], diagnostics: list[Diagnostic]) -> dict[str, dict[Any, Object[Any]]]:
    objects_by_hand = {each.ref for each in objects if each.ref.kind == "Cluster" and each.dialect != _CLUSTER_API}
    fields: dict[str, dict[Any, Object[Any]]] = {name: {} for name in (*_PLACES.values(), "definitions", "others")}
    for object_ in sorted(objects, key=_object_order):
        native = not object_.dialect.startswith("foreign:") and not _stands_beside(object_, objects_by_hand)
        field = _PLACES.get(object_.ref.kind, "others") if native else "others"
        key: Any = object_.ref
        if native and object_.ref.kind == "PluginDefinition":
            field, key = "definitions", version_key(object_)
        elif not native:
            # Foreign kinds are told apart by their group, too.
            key = Ref(f"{object_.ref.kind}.{_group_of(object_)}", *object_.ref[1:])
        earlier = fields[field].setdefault(key, object_)
        if earlier is not object_ and (native or object_.ref.name):
            diagnostics.append(_twice(earlier, object_))
    return fields


_CLUSTER_API = "cluster-api"


def _stands_beside(object_: Object[Any], written: Container[Ref]) -> bool:
    """A cluster of Cluster API of which somebody says more here is an object to refer to, and no cluster of its own."""
    return object_.dialect == _CLUSTER_API and object_.ref in written


def _group_of(object_: Object[Any]) -> str:
    version = (
        object_.dialect.removeprefix("foreign:") if object_.dialect != _CLUSTER_API else object_.content["apiVersion"]
    )
    return str(version).partition("/")[0]


_PLACEMENT = "cluster.open-cluster-management.io/placement"


def _selected(state: KnownState, others: Iterable[Object[Any]]) -> dict[Ref, frozenset[str]]:
    """What placements had chosen: as the decisions of Open Cluster Management among the objects say, or a state."""
    found: dict[Ref, set[str]] = {}
    for each in others:
        if each.ref.kind != "PlacementDecision" or not isinstance(each.content, dict):
            continue
        metadata, decisions = _map(each.content.get("metadata")), _map(each.content.get("status")).get("decisions")
        name = _map(metadata.get("labels")).get(_PLACEMENT)
        ref = Ref("Placement", each.ref.organization, f"{metadata.get('namespace', 'default')}/{name}")
        clusters = [_map(one).get("clusterName") for one in (decisions if isinstance(decisions, list) else ())]
        found.setdefault(ref, set()).update(one for one in clusters if isinstance(one, str))
    chosen = {ref: frozenset(names) for ref, names in found.items()}
    return {**chosen, **{ref: frozenset(names) for ref, names in state.placements.items()}}


def _map(tree: Any) -> dict[str, Any]:
    return tree if isinstance(tree, dict) else {}


def _rejected(state: KnownState, owners: dict[Ref, Object[Any]]) -> dict[Ref, frozenset[str]]:
    """The versions that failed, by owner; one that was edited since is given another try (B10)."""
    rejected: dict[Ref, frozenset[str]] = {}
    for each in state.rejected:
        owner = owners.get(each.owner)
        if owner is not None and each.content in (None, content_of(owner)):
            rejected[owner.ref] = rejected.get(owner.ref, frozenset()) | {each.version}
    return rejected


def _stamped(object_: Object[Any], state: KnownState, diagnostics: list[Diagnostic]) -> Object[Any]:
    """With its time of creation: the state's stamp, else the annotation, else creationTimestamp, else none (B7)."""
    annotation = (object_.metadata.annotations or {}).get(CREATED)
    known = state.stamps.get(object_.ref)
    stamp = known or annotation or object_.metadata.creation_timestamp
    if stamp is None:
        return object_
    try:
        return replace(object_, created=parse_time(stamp))
    except ValueError:
        path = ("annotations", CREATED) if annotation else ("creationTimestamp",)
        where = " in the state" if known else ""
        hint = "write a time such as 2026-03-01T12:00:00Z"
        at = object_.at("metadata", *(path if not known else ("name",)))
        diagnostics.append(Diagnostic("bad-stamp", f"{stamp} is not a time{where}", hint, object=object_.ref, at=at))
        return object_


def _object_order(object_: Object[Any]) -> tuple[Any, ...]:
    return (object_.ref, object_.origin.file, object_.origin.first_line, str(object_.origin.base))


def version_key(object_: Object[PluginDefinitionSpec]) -> VersionKey:
    """A definition's name and version; one that is no version stands for itself, and is reported elsewhere."""
    try:
        return object_.ref, str(parse_version(object_.spec.version))
    except VersionError:
        return object_.ref, object_.spec.version


def _twice(earlier: Object[Any], later: Object[Any]) -> Diagnostic:
    ref = later.ref
    same = earlier.spec == later.spec and earlier.content == later.content and earlier.metadata == later.metadata
    version = f" {later.spec.version}" if ref.kind == "PluginDefinition" else ""
    what = f"{ref.kind} {ref.name}{version}"
    message = f"{what} is written twice" + (", with the same content" if same else ", with two contents")
    severity: Severity = "warning" if same else "error"
    return Diagnostic(
        "duplicate-object", message, "keep one of them", severity, ref, later.at("metadata", "name"),
        (earlier.at("metadata", "name"),),
    )  # fmt: skip
