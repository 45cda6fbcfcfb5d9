"""Drifting: delivered files that somebody changed or deleted are found, shown, and brought back or not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from msgspec import structs

from fleetform.engine.index.differences import changed_keys
from fleetform.loop.destinations import drift_of
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.loop.standing import Standing
from fleetform.model.kinds.base import Drift as Mode
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from fleetform.outside.errors import OutsideError
from fleetform.ports.delivery import Deliverer, Drift
from fleetform.ports.store import Event

# So many plugins in folders are looked at in one go: each of their files is read from a disk, or over a network.
_MOST = 500
_FIRST_KEY: PluginKey = ("", "", "")


class DriftSearch:
    """Goes over what was delivered: folders some plugins at a time, most of them in one go, branches as a whole."""

    def __init__(self, standing: Standing, most: int = _MOST) -> None:
        self._standing, self._most = standing, most
        self._folders_to = _FIRST_KEY

    def run(self, everything: bool) -> bool:
        """Looks at some of what was delivered, or at all of it; whether something is another than was known."""
        standing, around = self._standing, self._standing.around
        now, version = around.clock.now(), around.store.version()
        fleet = standing.decide(now)
        if fleet is None:
            return False
        keys = delivered_keys(standing.image, "directory")
        if not everything:
            keys = next_in_turn(keys, self._folders_to, self._most)
            self._folders_to = keys[-1] if keys else _FIRST_KEY
        # Branches and clusters are looked at beside the loop: all of them can be asked what is known.
        for kind in ("git", "kubernetes"):
            keys = keys + delivered_keys(standing.image, kind)
        extras = Extras()
        image = find_drift(standing.image, keys, around.deliverer, partial(drift_of, fleet), now, extras)
        standing.commit(image, extras, now)
        return around.store.version() != version


def delivered_keys(image: Image, kind: str) -> list[PluginKey]:
    """The plugins that are where they should be, by destinations of a kind, in order."""
    found = []
    for key, record in image.deliveries.items():
        admitted = image.plugin(key).admitted
        arrived = admitted is not None and record.since is not None and record.input_hash == admitted.input_hash
        if arrived and record.destination.kind == kind:
            found.append(key)
    return sorted(found)


def next_in_turn(keys: Sequence[PluginKey], behind: PluginKey, most: int) -> list[PluginKey]:
    """The next of some keys behind one, and from the first on where they end; none of them twice."""
    first = bisect_right(keys, behind)
    return [*keys[first:], *keys[:first]][:most]


def find_drift(
    image: Image,
    keys: Sequence[PluginKey],
    deliverer: Callable[[Destination], Deliverer],
    mode_of: Callable[[PluginKey], Mode],
    now: datetime,
    extras: Extras,
) -> Image:
    """The image with what differs from what was delivered. What is to be corrected is due for delivery from then on."""
    states: dict[PluginKey, PluginState | None] = {}
    records = dict(image.deliveries)
    for key, drifts in _looked_at(image, keys, deliverer).items():
        state, files = image.plugin(key), tuple(each.file for each in drifts)
        if files == state.drift:
            continue
        states[key] = structs.replace(state, drift=files)
        extras.events.append(_event(key, state, drifts, now))
        if files and mode_of(key) == "Correct":
            # As if it had not arrived: it is brought there again.
            records[key] = structs.replace(records[key], input_hash="")
    if not states:
        return image
    return replace(image.with_plugins(states), deliveries=records)


def corrected(image: Image, before: Mapping[PluginKey, DeliveryRecord], now: datetime, extras: Extras) -> Image:
    """After a delivery: what was brought there again has no drift any more."""
    states: dict[PluginKey, PluginState | None] = {}
    for key in changed_keys(image.deliveries, before):
        record, state = image.deliveries.get(key), image.plugin(key)
        if record is not None and record.input_hash and not record.failing and state.drift:
            states[key] = structs.replace(state, drift=())
            extras.events.append(_event(key, state, (), now))
    return image.with_plugins(states)


def _looked_at(
    image: Image, keys: Sequence[PluginKey], deliverer: Callable[[Destination], Deliverer]
) -> dict[PluginKey, list[Drift]]:
    """What each plugin's destination says; those whose destination cannot be looked at are left out."""
    by_destination: dict[Destination, list[PluginKey]] = {}
    for key in keys:
        by_destination.setdefault(image.deliveries[key].destination, []).append(key)
    beside: dict[str, set[str]] = {}
    for destination in by_destination:
        beside.setdefault(destination.path, set()).add(destination.namespace)
    found: dict[PluginKey, list[Drift]] = {}
    for destination, here in by_destination.items():
        try:
            drifts = deliverer(destination).drift(here, sorted(beside[destination.path]))
        except (OutsideError, OSError):
            continue
        found.update((key, []) for key in here)
        for each in drifts:
            found[each.key].append(each)
    return found


def _event(key: PluginKey, state: PluginState, drifts: Sequence[Drift], now: datetime) -> Event:
    said = [f"{each.file} {'is missing' if each.missing else 'was changed'}" for each in drifts]
    more = f" and {len(said) - 3:,} more" if len(said) > 3 else ""
    version = state.admitted.version if state.admitted is not None else None
    event, reason = ("Drifted", ", ".join(said[:3]) + more) if said else ("DriftEnded", "as it was delivered again")
    return Event(now, *key, event=event, version=version, reason=reason)
