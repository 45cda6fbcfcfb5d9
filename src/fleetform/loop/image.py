"""Everything stored, in memory. A step works on it and commits what differs; what is in memory is then what is stored.

If a commit fails in whatever way, nobody knows whether it took place: the image is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import TypeVar

import msgspec
from msgspec import structs

from fleetform.engine.index.differences import changed_keys
from fleetform.loop.records import (
    FILE,
    NO_SOURCE,
    SOURCE_REF,
    AdmittedState,
    DeliveryRecord,
    SourceRecord,
    file_ref,
    state_ref,
)
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState
from fleetform.ports.state import KnownState
from fleetform.ports.store import Commit, Deed, Delete, Event, Message, Put, Store, StoreReader, plugin_key, plugin_ref
from fleetform.store.known_state import DELIVERY, STATE, read_known_state, writes_between

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_delivery = msgspec.json.Decoder(DeliveryRecord)
_source = msgspec.json.Decoder(SourceRecord)
_state = msgspec.json.Decoder(AdmittedState)


@dataclass(frozen=True)
class Image:
    """What is stored. Maps are never changed in place: a step makes another image."""

    known: KnownState
    files: Mapping[str, bytes]
    deliveries: Mapping[PluginKey, DeliveryRecord]
    states: Mapping[str, AdmittedState]
    source: SourceRecord = NO_SOURCE

    @cached_property
    def open_rollouts(self) -> frozenset[str]:
        """The names of those that run."""
        every = (each for of_owner in self.known.rollouts.rollouts.values() for each in of_owner)
        return frozenset(each.name for each in every if each.is_open)

    @cached_property
    def heard(self) -> frozenset[Ref]:
        """Clusters that have answered at least once: something has arrived there, was seen healthy, or was read."""
        places = (each.destination for each in self.deliveries.values() if each.since is not None)
        found = {Ref("Cluster", *each.cluster) for each in places if each.kind == "kubernetes"}
        for ref, here in self.known.plugins.items():
            if any(state.last_healthy is not None or _was_read(state) for state in here.values()):
                found.add(ref)
        return frozenset(found)

    @cached_property
    def change_ids(self) -> Mapping[tuple[str, str], str]:
        """The change of each rollout, by its organization and name."""
        every = (each for of_owner in self.known.rollouts.rollouts.values() for each in of_owner)
        return {(each.owner.organization, each.name): each.change_id for each in every}

    def plugin(self, key: PluginKey) -> PluginState:
        organization, cluster, name = key
        return self.known.plugin(Ref("Cluster", organization, cluster), name)

    def with_plugins(self, changed: Mapping[PluginKey, PluginState | None]) -> Image:
        """With other states of some plugins; None: nothing is known of it any more."""
        plugins = dict(self.known.plugins)
        for (organization, cluster, name), state in changed.items():
            ref = Ref("Cluster", organization, cluster)
            here = dict(plugins.get(ref, {}))
            if state is None or state == UNKNOWN:
                here.pop(name, None)
            else:
                here[name] = state
            plugins[ref] = here
            if not here:
                del plugins[ref]
        return replace(self, known=replace(self.known, plugins=plugins)) if changed else self


@dataclass
class Extras:
    """What a commit stores beside the image: what happened, what somebody did, what is to be told, and bytes.

    writes are records that no step reads.
    """

    events: list[Event] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    blobs: list[tuple[str, bytes]] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    writes: list[Put | Delete] = field(default_factory=list)


def read_image(store: StoreReader, name: str) -> Image:
    source = store.get(SOURCE_REF)
    return Image(
        _with_known_attempts(read_known_state(store, name)),
        {each.ref.name: each.body for each in store.list(FILE).records},
        {plugin_key(each.ref): _delivery.decode(each.body) for each in store.list(DELIVERY).records},
        {each.ref.name: _state.decode(each.body) for each in store.list(STATE).records},
        _source.decode(source.body) if source is not None else NO_SOURCE,
    )


def _was_read(state: PluginState) -> bool:
    return any(not each.problem for each in state.readings.values())


def _with_known_attempts(known: KnownState) -> KnownState:
    """Without attempts of which nobody knows what they bring: the hash of that is not stored (B30), so nothing of it is
    ever delivered or seen. They would be under way for ever."""
    lost = {
        (ref.organization, ref.name, name): structs.replace(state, attempt=None)
        for ref, here in known.plugins.items()
        for name, state in here.items()
        if state.in_flight and state.admitted is not None and state.admitted.input_hash is None
    }
    return Image(known, {}, {}, {}).with_plugins(lost).known


def commit_image(store: Store, before: Image, after: Image, extras: Extras, now: datetime) -> bool:
    """Stores what differs, in one step; whether anything does."""
    writes: list[Put | Delete] = [*extras.writes]
    if after.known is not before.known:
        writes += writes_between(before.known, after.known)
    writes += [
        *_writes(before.files, after.files, file_ref, lambda body: body),
        *_writes(before.deliveries, after.deliveries, partial(plugin_ref, DELIVERY), msgspec.json.encode),
        *_writes(before.states, after.states, state_ref, msgspec.json.encode),
    ]
    if after.source != before.source:
        writes.append(Put(SOURCE_REF, msgspec.json.encode(after.source)))
    commit = Commit(writes, extras.events, extras.deeds, messages=extras.messages, blobs=extras.blobs)
    if commit.is_empty:
        return False
    store.commit(commit, now)
    return True


def _writes(
    before: Mapping[_Key, _Value],
    after: Mapping[_Key, _Value],
    ref_of: Callable[[_Key], Ref],
    body_of: Callable[[_Value], bytes],
) -> Sequence[Put | Delete]:
    changed = [key for key in changed_keys(after, before) if before.get(key) != after.get(key)]
    return [Put(ref_of(key), body_of(after[key])) if key in after else Delete(ref_of(key)) for key in changed]
