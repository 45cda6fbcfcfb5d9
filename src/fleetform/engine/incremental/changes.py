"""What changed between two snapshots.

Objects are compared by identity, which a reader that keeps what it has read makes cheap. One that was read anew and
says the same is taken for the one before: reading a folder again changes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from fleetform.engine.index.differences import changed_keys
from fleetform.model.objects import Object, Ref
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import UNKNOWN, PluginState

_OBJECTS = ("organizations", "clusters", "definitions", "presets", "plugins", "overrides", "others", "retired")
# What earlier passes left behind beside the states of plugins.
_PAST = ("rejected", "announced", "ends", "selected", "recorded", "found")
Key = TypeVar("Key")


class Changes:
    """The objects and states that differ between the snapshot of this pass and the one before."""

    def __init__(self, now: Snapshot, then: Snapshot, due: datetime | None) -> None:
        self.now, self.then = now, then
        self._objects: dict[str, list[Object[Any]]] = {}
        self.time_tells = now.at < then.at or (due is not None and now.at >= due)

    @property
    def nothing(self) -> bool:
        """Whether the answer of the pass before stands, at whatever time it is now."""
        if self.time_tells or any(getattr(self.now, part) is not getattr(self.then, part) for part in _OBJECTS + _PAST):
            return False
        # What only a plan reads may be another: hashes, phases, places in rollouts.
        return self.now.states is self.then.states or not any(True for _ in self.states())

    def objects(self, *parts: str) -> Iterator[Object[Any]]:
        """The objects that are in one of the two and not, as the same object, in the other."""
        for part in parts:
            found = self._objects.get(part)
            if found is None:
                now, then = getattr(self.now, part), getattr(self.then, part)
                changed = changed_keys(now, then)
                found = [side[key] for side in (now, then) for key in changed if key in side]
                self._objects[part] = found
            yield from found

    def states(self) -> Iterator[tuple[Ref, str]]:
        """The plugins of which something else is known that a decision depends on."""
        now, then = self.now.states, self.then.states
        for cluster in changed_keys(now, then):
            here, before = now.get(cluster, {}), then.get(cluster, {})
            for name in changed_keys(here, before):
                if _deciding(here.get(name, UNKNOWN)) != _deciding(before.get(name, UNKNOWN)):
                    yield cluster, name

    def digests(self) -> set[tuple[str, str]]:
        """The definitions of which the bytes of a version are known to be others, by organization and name."""
        found = set()
        for part in ("recorded", "found"):
            now, then = getattr(self.now, part), getattr(self.then, part)
            for key in now.keys() | then.keys() if now is not then else ():
                if now.get(key) != then.get(key):
                    found.add((key[0].organization, key[0].name))
        return found


def _deciding(state: PluginState) -> tuple[Any, ...]:
    """What a decision depends on; hashes, phases and times are for the plan."""
    admitted, healthy = state.admitted, state.last_healthy
    return (
        (admitted.version, admitted.definition) if admitted is not None else None,
        healthy.version if healthy is not None else None,
        # As text: true is not 1.
        msgspec.msgpack.encode(dict(state.observed), order="deterministic") if state.observed else None,
        {name: (each.of, each.digest, each.problem, each.do) for name, each in state.readings.items()},
    )


# ---- Objects that were read anew


def adopted(now: Snapshot, then: Snapshot) -> Snapshot:
    """The snapshot with the objects, and the whole maps, of the one before where they say the same."""
    kept: dict[str, Any] = {}
    for part in _OBJECTS:
        mine, theirs = getattr(now, part), getattr(then, part)
        if mine is not theirs:
            kept[part] = _adopted_objects(mine, theirs)
    for part in (*_PAST, "states", "unreadable"):
        mine, theirs = getattr(now, part), getattr(then, part)
        if mine is not theirs and mine == theirs and (part != "states" or _same_bytes(mine, theirs)):
            kept[part] = theirs
    return replace(now, **kept) if kept else now


def _adopted_objects(mine: Mapping[Key, Object[Any]], theirs: Mapping[Key, Object[Any]]) -> Mapping[Key, Object[Any]]:
    changed = changed_keys(mine, theirs)
    both = [key for key in changed if key in mine and key in theirs]
    same = {key: theirs[key] for key in both if _is_read_again(mine[key], theirs[key])}
    if len(same) == len(changed):
        return theirs
    return {**mine, **same} if same else mine


def _is_read_again(one: Object[Any], other: Object[Any]) -> bool:
    """Whether two objects are one document, read twice: the same content at the same place."""
    here, there = one.origin, other.origin
    return (here.file, here.first_line, here.last_line, here.base) == (
        there.file,
        there.first_line,
        there.last_line,
        there.base,
    ) and say_the_same(one, other)


def say_the_same(one: Object[Any], other: Object[Any]) -> bool:
    """Whether two objects have the same content, wherever they stand."""
    return (
        (one.ref, one.created, one.dialect, one.moved) == (other.ref, other.created, other.dialect, other.moved)
        and one.conventions == other.conventions
        and one.spec == other.spec
        and one.content == other.content
        and _same_bytes((one.metadata, one.spec, one.content), (other.metadata, other.spec, other.content))
    )


def _same_bytes(one: Any, other: Any) -> bool:
    """Equal to the last type: Python takes true for 1, and 1 for 1.0."""
    try:
        return msgspec.msgpack.encode(one) == msgspec.msgpack.encode(other)
    except (OverflowError, TypeError, ValueError):
        # Too large a number to be written down is compared by nobody: it counts as changed.
        return False
