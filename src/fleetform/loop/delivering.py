"""Delivering: what is admitted and not yet delivered goes to its destination; what nobody wants any more goes away.

Delivery sees only what is admitted (B1), and its bytes come from the store: what is delivered is what was admitted,
whatever the files say by now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from msgspec import structs

from fleetform.engine.plan.records import Removal, Step
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord, Destination, unpacked
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from fleetform.ports.delivery import Deliverer, Failure, Note, Parcel
from fleetform.ports.store import Event

_FIRST_RETRY, _LONGEST_RETRY = timedelta(seconds=5), timedelta(minutes=15)


class Deliveries:
    """Brings parcels to destinations. blob gives the bytes of a digest, deliverer what reaches a destination."""

    def __init__(self, deliverer: Callable[[Destination], Deliverer], blob: Callable[[str], bytes | None]) -> None:
        self._deliverer, self._blob = deliverer, blob

    def deliver(
        self,
        image: Image,
        keys: Iterable[PluginKey],
        destinations: Mapping[PluginKey, Destination],
        removals: Mapping[PluginKey, str],
        now: datetime,
        extras: Extras,
    ) -> Image:
        """The image after what is due of some plugins was delivered; what failed is tried again later.

        removals are plugins that go, each with the one that has its place now, if there is one.
        """
        due = _due(image, keys, destinations, now)
        return self._bring(image, due, removals, now, extras) if due or removals else image

    def _bring(
        self,
        image: Image,
        due: Mapping[PluginKey, Destination],
        removals: Mapping[PluginKey, str],
        now: datetime,
        extras: Extras,
    ) -> Image:
        parcels: dict[Destination, list[Parcel]] = {}
        leaving: dict[Destination, list[PluginKey]] = {}
        records = dict(image.deliveries)
        for key, destination in due.items():
            parcel = self._parcel(image, key)
            if isinstance(parcel, Failure):
                records[key] = _failed(records.get(key), destination, parcel, now)
            else:
                parcels.setdefault(destination, []).append(parcel)
        for key in removals:
            record = records.get(key)
            if record is not None:
                leaving.setdefault(record.destination, []).append(key)
        deleted = [key for key in removals if key not in records]
        for destination in sorted({*parcels, *leaving}, key=str):
            sent, removed = parcels.get(destination, []), leaving.get(destination, [])
            failures = self._deliverer(destination).deliver(sent, removed, _note(image, sent, removed))
            for parcel in sent:
                failure = failures.get(parcel.key)
                before = records.get(parcel.key)
                if failure is not None:
                    records[parcel.key] = _failed(before, destination, failure, now)
                    continue
                records[parcel.key] = DeliveryRecord(destination, parcel.input_hash, parcel.digest, now)
                if before is not None and not before.destination.is_at(destination) and before.input_hash:
                    self._deliverer(before.destination).deliver([], [parcel.key], Note(f"{parcel.key[2]} moved"))
            for key in removed:
                failure = failures.get(key)
                if failure is not None:
                    records[key] = _failed(records[key], destination, failure, now)
                else:
                    deleted.append(key)
        for key in deleted:
            extras.events.append(_ended(key, image.plugin(key), now, removals[key]))
            records.pop(key, None)
        image = image.with_plugins(dict.fromkeys(deleted))
        return replace(image, deliveries=records) if records != image.deliveries else image

    def _parcel(self, image: Image, key: PluginKey) -> Parcel | Failure:
        admitted = image.plugin(key).admitted
        hash_ = (admitted.input_hash if admitted is not None else None) or ""
        state = image.states.get(hash_)
        blob = self._blob(state.files) if state is not None else None
        if state is None or blob is None:
            return Failure(f"the bytes of {hash_[:11]} are not stored", "retry the rollout", refused=True)
        return Parcel(key, unpacked(blob), state.files, hash_, state.version)


def gone(image: Image, removals: Iterable[Removal], steps: Iterable[Step]) -> dict[PluginKey, str]:
    """What goes now: plugins that are deleted, and files of those whose successors have arrived (B23).

    In a folder or a branch two plugins with the same objects would stand side by side; on a cluster the successor has
    them already.
    """
    found = {step.key: "" for step in steps if step.action == "delete"}
    for removal in removals:
        record = image.deliveries.get(removal.key)
        if not removal.handed_to or record is None or record.destination.kind not in ("directory", "git"):
            continue
        successor = (*removal.key[:2], removal.handed_to)
        arrived, admitted = image.deliveries.get(successor), image.plugin(successor).admitted
        if arrived is not None and admitted is not None and arrived.input_hash == admitted.input_hash:
            found[removal.key] = removal.handed_to
    return found


def let_go(image: Image, removals: Iterable[Removal], now: datetime, extras: Extras) -> Image:
    """Plugins that nobody wants and that stay where they are (B22): from now on their files are their owner's alone."""
    records = dict(image.deliveries)
    for removal in removals:
        if removal.retain and not removal.handed_to and records.pop(removal.key, None) is not None:
            event = _ended(removal.key, image.plugin(removal.key), now)
            extras.events.append(structs.replace(event, event="Retained"))
    return replace(image, deliveries=records) if len(records) != len(image.deliveries) else image


def _due(
    image: Image, keys: Iterable[PluginKey], destinations: Mapping[PluginKey, Destination], now: datetime
) -> dict[PluginKey, Destination]:
    """Those of some plugins whose admitted state is not where it should be."""
    found: dict[PluginKey, Destination] = {}
    for key in sorted(keys):
        state, record = image.plugin(key), image.deliveries.get(key)
        admitted = state.admitted
        if admitted is None or admitted.input_hash is None or state.attempt is None:
            continue
        destination = destinations.get(key) or (record.destination if record is not None else None)
        if destination is None:
            continue
        if record is not None:
            arrived = record.input_hash == admitted.input_hash and record.destination == destination
            if arrived or (record.retry_at is not None and record.retry_at > now):
                continue
        found[key] = destination
    return found


def _failed(before: DeliveryRecord | None, destination: Destination, failure: Failure, now: datetime) -> DeliveryRecord:
    before = before or DeliveryRecord(destination)
    pause = min(_FIRST_RETRY * (1 << min(before.tries, 16)), _LONGEST_RETRY)
    return structs.replace(
        before, failure=failure.message, hint=failure.hint, tries=before.tries + 1, retry_at=now + pause
    )


def _note(image: Image, parcels: Sequence[Parcel], removals: Sequence[PluginKey]) -> Note:
    """What a delivery brings, for those who read it where it arrives: a line for each plugin and why."""
    lines = []
    for parcel in parcels:
        state = image.plugin(parcel.key)
        place, before = state.enrolment, state.last_healthy
        version = f"{before.version} → {parcel.version}" if before is not None else f"{parcel.version}"
        why = f"{place.rollout}, stage {place.stage}" if place is not None and place.stage else "rollout"
        back = " (rolled back)" if state.attempt is not None and state.attempt.back else ""
        lines.append(f"{parcel.key[1]}  {parcel.key[2]}  {version}  {why}{back}")
    lines += [f"{key[1]}  {key[2]}  removed" for key in removals]
    count = len(lines)
    return Note(lines[0] if count == 1 else f"{count:,} plugins", lines if count > 1 else ())


def _ended(key: PluginKey, state: PluginState, now: datetime, successor: str = "") -> Event:
    version = state.admitted.version if state.admitted is not None else None
    if successor:
        return Event(now, *key, event="HandedOver", version=version, reason=f"{successor} has its release now")
    return Event(now, *key, event="Deleted", version=version)
