"""What is known from earlier passes, as records of a store: a record for each plugin, rollout, approval, stamp…

Records are the parts of a state export, so that a database and an export say the same things in the same words. Only
what differs is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from fleetform.app.stored_state.reading import known_state
from fleetform.app.stored_state.writing import plugin_document, state_document
from fleetform.engine.index.differences import changed_keys
from fleetform.engine.world.stored import NOTHING_STORED
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginStates, Trouble
from fleetform.model.state_document import (
    AdmittedObjectsDocument,
    ApprovalDocument,
    ClusterDocument,
    PlacementDocument,
    PluginDocument,
    RejectionDocument,
    RequestDocument,
    RolloutDocument,
    StampDocument,
    StateDocument,
    VersionDocument,
)
from fleetform.ports.state import KeptDocument, KnownState
from fleetform.ports.store import Changes, Delete, Put, Record, StoreReader, plugin_key, plugin_ref

PLUGIN_STATE = "PluginState"
# What a control plane stores beside: of these only what is amiss is for those who ask.
DELIVERY, STATE = "Delivery", "AdmittedState"
# Starts that could not be rendered a moment ago. An export has none: whether a source answers is not for others to say.
UNRENDERED = "Unrendered"


class _Section(NamedTuple):
    """A part of an export: the kind of its records, the field that holds them, and how one is told from another."""

    kind: str
    field: str
    type: type[Any]
    reference: Callable[[Any], tuple[str, str]]


_SECTIONS = (
    _Section("Stamp", "stamps", StampDocument, lambda each: (each.organization, f"{each.kind}/{each.name}")),
    _Section(
        PLUGIN_STATE,
        "plugins",
        PluginDocument,
        lambda each: plugin_ref(PLUGIN_STATE, (each.organization, each.cluster, each.plugin))[1:],
    ),
    _Section(
        "Version", "announced", VersionDocument, lambda each: (each.organization, f"{each.definition}/{each.version}")
    ),
    _Section(
        "Rejection",
        "rejected",
        RejectionDocument,
        lambda each: (each.organization, f"{each.kind}/{each.name}/{each.version}"),
    ),
    _Section("PlacementDecision", "placements", PlacementDocument, lambda each: (each.organization, each.name)),
    _Section("Silence", "clusters", ClusterDocument, lambda each: (each.organization, each.name)),
    _Section("Rollout", "rollouts", RolloutDocument, lambda each: (each.owner.organization, each.name)),
    _Section(
        "Approval",
        "approvals",
        ApprovalDocument,
        lambda each: (each.organization, f"{each.rollout}/{each.stage}/{each.change_id}/{each.policy}/{each.user}"),
    ),
    _Section(
        "AdmittedObjects",
        "admitted_objects",
        AdmittedObjectsDocument,
        lambda each: (each.owner.organization, f"{each.owner.kind}/{each.owner.name}"),
    ),
    _Section(
        "Request",
        "requests",
        RequestDocument,
        lambda each: (each.owner.organization, f"{each.owner.kind}/{each.owner.name}"),
    ),
)
# Documents as people wrote them: a database has them beside the files, an export has not, for secrets may be in them.
KEPT = "KeptObject"
# What digests of secrets are made with: it is of one database, and goes nowhere else.
SECRET_KEY = "SecretKey"
_SECRET_KEY_REF = Ref(SECRET_KEY, "", "digests")
KINDS = frozenset({KEPT, SECRET_KEY, UNRENDERED, *(section.kind for section in _SECTIONS)})
# What becomes of sections: fields of what is known, and of what is stored about rollouts.
_KNOWN_AS = {
    "Stamp": "stamps",
    "Version": "versions",
    "Rejection": "rejected",
    "PlacementDecision": "placements",
    KEPT: "kept",
    SECRET_KEY: "secret_key",
    UNRENDERED: "unrendered",
}
_STORED_AS = {
    "Silence": ("silent_since", "silent_because"),
    "Rollout": ("rollouts",),
    "Approval": ("approvals",),
    "AdmittedObjects": ("admitted",),
    "Request": ("requests",),
}


class _Delivery(Struct, rename="camel"):
    trouble: Trouble | None = None


class _State(Struct, rename="camel"):
    changed: str = ""


_plugin = msgspec.json.Decoder(PluginDocument)
_delivery, _state = msgspec.json.Decoder(_Delivery), msgspec.json.Decoder(_State)
_trouble = msgspec.json.Decoder(Trouble)
_kept = msgspec.json.Decoder(KeptDocument)


def read_known_state(store: StoreReader, name: str, version: int | None = None) -> KnownState:
    """All that is stored, now or at a version; name is how messages call the store."""
    return _read(store, KINDS, name, version)


def read_with_troubles(store: StoreReader, name: str, version: int | None = None) -> KnownState:
    """The same with what is amiss about what was delivered, for those who ask about plugins."""
    known = read_known_state(store, name, version)
    deliveries = store.list(DELIVERY, version=version).records
    states = store.list(STATE, version=version).records
    return replace(
        known,
        troubles=_with_troubles({}, deliveries, ()),
        altered=_with_altered(frozenset(), states, ()),
    )


def _with_troubles(
    before: Mapping[PluginKey, Trouble], now: Iterable[Record], gone: Iterable[Ref]
) -> Mapping[PluginKey, Trouble]:
    found = dict(before)
    for record in now:
        trouble = _delivery.decode(record.body).trouble
        if trouble is not None:
            found[plugin_key(record.ref)] = trouble
        else:
            found.pop(plugin_key(record.ref), None)
    for ref in gone:
        found.pop(plugin_key(ref), None)
    return found


def _with_altered(before: frozenset[str], now: Iterable[Record], gone: Iterable[Ref]) -> frozenset[str]:
    changed = {record.ref.name: bool(_state.decode(record.body).changed) for record in now}
    changed |= {ref.name: False for ref in gone}
    return (before - changed.keys()) | {hash_ for hash_, is_another in changed.items() if is_another}


# What is amiss: the kind of the records, the field, and how it follows them.
_AMISS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (DELIVERY, "troubles", _with_troubles),
    (STATE, "altered", _with_altered),
)


def followed(before: KnownState, changes: Changes, store: StoreReader, name: str) -> KnownState:
    """What is known after changes. Plugins that did not change keep their records: there are many of them.

    Of everything else there is little: a kind of which something changed is read anew, as it is at that version.
    """
    plugins = [each for each in changes.records if each.ref.kind == PLUGIN_STATE]
    gone = [ref for ref, _ in changes.removed if ref.kind == PLUGIN_STATE]
    refs = (*(each.ref for each in changes.records), *(ref for ref, _ in changes.removed))
    kinds = {ref.kind for ref in refs} & (KINDS - {PLUGIN_STATE})
    found = _read(store, kinds, name, changes.version)
    stored = {field for kind in kinds for field in _STORED_AS.get(kind, ())}
    rollouts = structs.replace(before.rollouts, **{each: getattr(found.rollouts, each) for each in stored})
    known = {each: getattr(found, each) for each in (_KNOWN_AS[kind] for kind in kinds if kind in _KNOWN_AS)}
    if stored:
        known["rollouts"] = rollouts
    if plugins or gone:
        documents = [_plugin.decode(each.body) for each in plugins]
        now = known_state(StateDocument(stamps=[], plugins=documents), name).plugins
        known["plugins"] = _with_plugins(before.plugins, now, gone)
    for kind, field, changed in _AMISS:
        records = [each for each in changes.records if each.ref.kind == kind]
        lost = [ref for ref, _ in changes.removed if ref.kind == kind]
        if records or lost:
            known[field] = changed(getattr(before, field), records, lost)
    return replace(before, **known) if known else before


def _with_plugins(before: PluginStates, now: PluginStates, gone: Iterable[Ref]) -> PluginStates:
    found = {**before, **{cluster: {**before.get(cluster, {}), **here} for cluster, here in now.items()}}
    for ref in gone:
        organization, name, plugin = plugin_key(ref)
        cluster = Ref("Cluster", organization, name)
        here = {each: state for each, state in found.get(cluster, {}).items() if each != plugin}
        if here:
            found[cluster] = here
        else:
            found.pop(cluster, None)
    return found


def _read(store: StoreReader, kinds: Collection[str], name: str, version: int | None) -> KnownState:
    sections: dict[str, Any] = {"stamps": []}
    for section in _SECTIONS:
        if section.kind in kinds:
            decoder = msgspec.json.Decoder(section.type)
            records = store.list(section.kind, version=version).records
            sections[section.field] = [decoder.decode(record.body) for record in records]
    known = known_state(StateDocument(**sections), name)
    if SECRET_KEY in kinds:
        keys = store.list(SECRET_KEY, version=version).records
        known = replace(known, secret_key=keys[0].body.decode() if keys else "")
    if UNRENDERED in kinds:
        records = store.list(UNRENDERED, version=version).records
        known = replace(known, unrendered={plugin_key(each.ref): _trouble.decode(each.body) for each in records})
    if KEPT not in kinds:
        return known
    kept = [_kept.decode(record.body) for record in store.list(KEPT, version=version).records]
    return replace(known, kept={(each.identity, each.hash): each for each in kept})


def writes_between(before: KnownState, after: KnownState) -> list[Put | Delete]:
    """What must be written so that a store which says one says the other."""
    then, now = _documents_beside_plugins(before, after)
    found: list[Put | Delete] = [Put(ref, body) for ref, body in now.items() if then.get(ref) != body]
    found += [Delete(ref) for ref in then if ref not in now]
    found += [
        Put(_kept_ref(key), msgspec.json.encode(each)) for key, each in after.kept.items() if key not in before.kept
    ]
    found += [Delete(_kept_ref(key)) for key in before.kept if key not in after.kept]
    if after.secret_key != before.secret_key and after.secret_key:
        found.append(Put(_SECRET_KEY_REF, after.secret_key.encode()))
    found += _unrendered_writes(before.unrendered, after.unrendered)
    return [*found, *_plugin_writes(before.plugins, after.plugins)]


def _kept_ref(key: tuple[str, str]) -> Ref:
    return Ref(KEPT, "", f"{key[0]}={key[1]}")


def _unrendered_writes(
    before: Mapping[PluginKey, Trouble], after: Mapping[PluginKey, Trouble]
) -> Iterator[Put | Delete]:
    for key in sorted(changed_keys(after, before)):
        ref = plugin_ref(UNRENDERED, key)
        if key not in after:
            yield Delete(ref)
        elif after[key] != before.get(key):
            yield Put(ref, msgspec.json.encode(after[key]))


def _plugin_writes(before: PluginStates, after: PluginStates) -> Iterator[Put | Delete]:
    """Records of clusters and plugins that are the same objects are not looked into."""
    for cluster in sorted(changed_keys(after, before)):
        then, now = before.get(cluster, {}), after.get(cluster, {})
        for plugin in sorted(changed_keys(now, then)):
            was, is_ = then.get(plugin), now.get(plugin)
            if was == is_:
                continue
            ref = plugin_ref(PLUGIN_STATE, (cluster.organization, cluster.name, plugin))
            if is_ is None:
                yield Delete(ref)
            else:
                yield Put(ref, msgspec.json.encode(plugin_document(cluster, plugin, is_)))


def _documents_beside_plugins(before: KnownState, after: KnownState) -> tuple[Mapping[Ref, bytes], Mapping[Ref, bytes]]:
    """Both sides by record, without what is the same object on both."""
    then, now = replace(before, plugins={}), replace(after, plugins={})
    for field in ("stamps", "versions", "rejected", "placements"):
        if getattr(then, field) is getattr(now, field):
            empty: Any = () if field == "rejected" else {}
            then, now = replace(then, **{field: empty}), replace(now, **{field: empty})
    if then.rollouts is now.rollouts:
        then, now = replace(then, rollouts=NOTHING_STORED), replace(now, rollouts=NOTHING_STORED)
    return _records(state_document(then)), _records(state_document(now))


def _records(document: StateDocument) -> dict[Ref, bytes]:
    found: dict[Ref, bytes] = {}
    for section in _SECTIONS:
        for each in getattr(document, section.field):
            found[Ref(section.kind, *section.reference(each))] = msgspec.json.encode(each)
    return found
