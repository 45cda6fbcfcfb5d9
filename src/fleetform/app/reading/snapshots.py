"""From objects to a snapshot: each in its place, once, with what earlier passes left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from msgspec import structs

from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.app.reading.namespaces import distinct
from fleetform.app.reading.referred import References
from fleetform.engine.world.contents import content_of
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.kinds.fleet import ClusterSpec, OrganizationSpec
from fleetform.model.kinds.preset import PluginOverrideSpec, PluginPresetSpec, PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic, Severity
from fleetform.model.snapshot import Snapshot, VersionKey
from fleetform.ports.state import KnownState
from fleetform.syntax.versions import VersionError, parse_version

CREATED = "fleetform.dev/created"
_CLUSTER_API = "cluster-api"
_PLACEMENT = "cluster.open-cluster-management.io/placement"


@dataclass(frozen=True)
class _Places:
    """Objects by kind; definitions by version, too, and those of other systems among the others."""

    organizations: dict[Ref, Object[OrganizationSpec]] = field(default_factory=dict)
    clusters: dict[Ref, Object[ClusterSpec]] = field(default_factory=dict)
    definitions: dict[VersionKey, Object[PluginDefinitionSpec]] = field(default_factory=dict)
    presets: dict[Ref, Object[PluginPresetSpec]] = field(default_factory=dict)
    plugins: dict[Ref, Object[PluginSpec]] = field(default_factory=dict)
    overrides: dict[Ref, Object[PluginOverrideSpec]] = field(default_factory=dict)
    others: dict[Ref, Object[object]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> dict[Ref, Object[object]]:
        places: Mapping[str, object] = {
            "Organization": self.organizations,
            "Cluster": self.clusters,
            "PluginPreset": self.presets,
            "Plugin": self.plugins,
            "PluginOverride": self.overrides,
        }
        # A dialect gives each kind the spec that its place holds.
        return cast("dict[Ref, Object[object]]", places.get(kind, self.others))


def assemble(
    objects: Iterable[Object[object]],
    at: datetime,
    state: KnownState,
    diagnostics: list[Diagnostic],
    kept: KeptReadings,
) -> Snapshot:
    """The snapshot of objects at a time; an object written twice, or with an unreadable stamp, is reported."""
    places = _by_kind([stamped(each, state, diagnostics, kept) for each in distinct(list(objects))], diagnostics)
    owners: dict[Ref, Object[object]] = {**places.presets, **places.plugins}
    rejected = rejected_versions(owners, state)
    versions = state.versions
    return Snapshot(
        at,
        places.organizations,
        places.clusters,
        places.definitions,
        places.presets,
        places.plugins,
        places.overrides,
        places.others,
        states=state.plugins,
        rejected=rejected,
        announced={key: each.announced for key, each in versions.items() if each.announced is not None},
        selected={
            **_decisions_of_ocm(places.others.values()),
            **{ref: frozenset(names) for ref, names in state.placements.items()},
        },
        ends={key: each.ends for key, each in versions.items() if each.ends is not None},
        recorded={key: each.digest for key, each in versions.items() if each.digest is not None},
    )


def rejected_versions(owners: Mapping[Ref, Object[object]], state: KnownState) -> dict[Ref, frozenset[str]]:
    """The versions that failed, by their owner. One that was edited since is given another try (B10)."""
    rejected: dict[Ref, frozenset[str]] = {}
    for each in state.rejected:
        owner = owners.get(each.owner)
        if owner is not None and each.content in (None, content_of(owner)):
            rejected[owner.ref] = rejected.get(owner.ref, frozenset()) | {each.version}
    return rejected


def _by_kind(objects: Sequence[Object[object]], diagnostics: list[Diagnostic]) -> _Places:
    """Objects in their places, the first of two that are one object."""
    written = {each.ref for each in objects if each.ref.kind == "Cluster" and each.dialect != _CLUSTER_API}
    places = _Places()
    twice: list[tuple[Object[object], Object[object]]] = []
    references = References(objects)
    order = [(each.ref, each.origin.file, each.origin.first_line, str(each.origin.base)) for each in objects]
    for _, object_ in sorted(zip(order, objects, strict=True), key=lambda pair: pair[0]):
        ref = object_.ref
        # A cluster of Cluster API that is also written by hand is an object to refer to, and no cluster of its own.
        beside = object_.dialect == _CLUSTER_API and ref in written
        native = not beside and not object_.dialect.startswith("foreign:")
        if native and ref.kind == "PluginDefinition":
            definition = cast("Object[PluginDefinitionSpec]", object_)
            earlier: Object[object] = places.definitions.setdefault(version_key(definition), definition)
        elif native:
            earlier = places.of_kind(ref.kind).setdefault(ref, object_)
        else:
            # Objects of two groups may have one kind and name.
            version = object_.content["apiVersion"] if beside else object_.dialect.removeprefix("foreign:")
            kind = f"{ref.kind}.{str(version).partition('/')[0]}"
            earlier = places.others.setdefault(Ref(kind, ref.organization, ref.name), object_)
        # Patches, and what several folders bring along, stand for one object of another kind: it is only unclear what
        # it is if somebody wants to know (S10).
        if earlier is not object_ and (native or (ref.name and references.may_mean(object_))):
            twice.append((object_, earlier))
    diagnostics += _written_twice(twice)
    return places


def _written_twice(pairs: Sequence[tuple[Object[object], Object[object]]]) -> Iterator[Diagnostic]:
    """The finding for each object that is written twice. A document that makes several is the same if all are."""
    differing = {(one.origin, other.origin) for one, other in pairs if _contents(one) != _contents(other)}
    for object_, earlier in pairs:
        ref, same = object_.ref, (object_.origin, earlier.origin) not in differing
        kind = object_.conventions.own_kinds.get(ref.kind, ref.kind)
        spec, unversioned = object_.spec, object_.conventions.unversioned
        number = f" {spec.version}" if isinstance(spec, PluginDefinitionSpec) and not unversioned else ""
        contents = "the same content" if same else "two contents"
        message = f"{kind} {ref.name}{number} is written twice, with {contents}"
        severity: Severity = "warning" if same else "error"
        at, related = object_.at("metadata", "name"), (earlier.at("metadata", "name"),)
        yield Diagnostic("duplicate-object", message, "keep one of them", severity, ref, at, related)


def _contents(object_: Object[object]) -> tuple[object, object, object]:
    """What makes two objects of one name the same; two spellings of a version are one (S61)."""
    spec = object_.spec
    if isinstance(spec, PluginDefinitionSpec):
        spec = structs.replace(spec, version=version_key(cast("Object[PluginDefinitionSpec]", object_))[1])
    return spec, object_.content, object_.metadata


def _decisions_of_ocm(others: Iterable[Object[object]]) -> dict[Ref, frozenset[str]]:
    """What placements had chosen, as the decisions of Open Cluster Management among the objects say."""
    found: dict[Ref, set[str]] = {}
    for each in others:
        if each.ref.kind != "PlacementDecision" or not isinstance(each.content, dict):
            continue
        metadata, decisions = _map(each.content.get("metadata")), _map(each.content.get("status")).get("decisions")
        name = _map(metadata.get("labels")).get(_PLACEMENT)
        namespace = metadata.get("namespace", "default")
        # One without the label is nobody's: it counts where clusters are balanced, and chose for no placement.
        is_placements = isinstance(name, str) and bool(name)
        ref = Ref("Placement", each.ref.organization, f"{namespace}/{name}") if is_placements else each.ref
        clusters = [_map(one).get("clusterName") for one in (decisions if isinstance(decisions, list) else ())]
        found.setdefault(ref, set()).update(one for one in clusters if isinstance(one, str))
    return {ref: frozenset(names) for ref, names in found.items()}


def _map(tree: Json) -> JsonMap:
    return tree if isinstance(tree, dict) else {}


def stamped(
    object_: Object[object], state: KnownState, diagnostics: list[Diagnostic], kept: KeptReadings
) -> Object[object]:
    """With its time of creation: the state's stamp, else the annotation, else creationTimestamp, else none (B7)."""
    annotation = (object_.metadata.annotations or {}).get(CREATED)
    known = state.stamps.get(object_.ref)
    stamp = known or annotation or object_.metadata.creation_timestamp
    if stamp is None:
        return object_
    try:
        return kept.stamped(object_, stamp)
    except ValueError:
        path = ("annotations", CREATED) if annotation else ("creationTimestamp",)
        where = " in the state" if known else ""
        hint = "write a time such as 2026-03-01T12:00:00Z"
        at = object_.at("metadata", *(path if not known else ("name",)))
        diagnostics.append(Diagnostic("bad-stamp", f"{stamp} is not a time{where}", hint, object=object_.ref, at=at))
        return object_


def version_key(object_: Object[PluginDefinitionSpec]) -> VersionKey:
    """A definition's name and version; a version that cannot be read is kept as it is, and reported by checks."""
    try:
        return object_.ref, str(parse_version(object_.spec.version))
    except VersionError:
        return object_.ref, object_.spec.version
