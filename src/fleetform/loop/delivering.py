"""Delivering: what is admitted and not yet delivered goes to its destination; what nobody wants any more goes away.

Delivery sees only what is admitted (B1), and its bytes come from the store: what is delivered is what was admitted,
whatever the files say by now.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from msgspec import structs

from fleetform.engine.plan.records import Removal, Step
from fleetform.loop.cluster_answers import ClusterAnswers, is_left_behind, is_overwritten, with_refusals
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord, Destination, unpacked
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, PluginState
from fleetform.ports.delivery import UNDER_WAY, Beside, Deliverer, Failure, Note, Parcel
from fleetform.ports.store import Event

_FIRST_RETRY, _LONGEST_RETRY = timedelta(seconds=5), timedelta(minutes=15)


class Deliveries:
    """Brings parcels to destinations. blob gives the bytes of a digest, deliverer what reaches a destination, beside
    what is under way."""

    def __init__(
        self,
        deliverer: Callable[[Destination], Deliverer],
        blob: Callable[[str], bytes | None],
        beside: Beside,
    ) -> None:
        self._deliverer, self._blob, self._beside = deliverer, blob, beside

    def deliver(
        self,
        image: Image,
        keys: Iterable[PluginKey],
        destinations: Mapping[PluginKey, Destination],
        removals: Mapping[PluginKey, str],
        now: datetime,
        extras: Extras,
        predecessors: Mapping[PluginKey, PluginKey] | None = None,
    ) -> Image:
        """The image after what is due of some plugins was delivered; what failed is tried again later.

        removals are plugins that go, each with the one that has its place now, if there is one; predecessors are those
        whose releases plugins have now (B23).
        """
        due = _due(image, keys, destinations, now)
        due = {key: each for key, each in due.items() if not self._is_under_way(image, key)}
        return self._bring(image, due, removals, now, extras, predecessors or {}) if due or removals else image

    def _is_under_way(self, image: Image, key: PluginKey) -> bool:
        state = image.states.get(_admitted_hash(image, key))
        return state is not None and self._beside.is_under_way(key, state.files)

    def _bring(
        self,
        image: Image,
        due: Mapping[PluginKey, Destination],
        removals: Mapping[PluginKey, str],
        now: datetime,
        extras: Extras,
        predecessors: Mapping[PluginKey, PluginKey],
    ) -> Image:
        parcels: dict[Destination, list[Parcel]] = {}
        leaving: dict[Destination, list[PluginKey]] = {}
        records = dict(image.deliveries)
        for key, destination in due.items():
            parcel = self._parcel(image, key)
            if is_overwritten(records.get(key)):
                # Before the first object of another state is written: from then on nobody knows what is there.
                records[key] = structs.replace(records[key], input_hash="")
            elif isinstance(parcel, Failure):
                hash_ = _admitted_hash(image, key)
                records[key] = _failed(records.get(key), destination, parcel, now, hash_)
            else:
                parcel = structs.replace(parcel, predecessor=predecessors.get(key))
                parcels.setdefault(destination, []).append(parcel)
        for key in removals:
            record = records.get(key)
            if record is not None:
                leaving.setdefault(record.destination, []).append(key)
        deleted = [key for key in removals if key not in records]
        answers = ClusterAnswers()
        for destination in sorted({*parcels, *leaving}, key=str):
            sent, removed = parcels.get(destination, []), leaving.get(destination, [])
            failures = self._deliverer(destination).deliver(sent, removed, _note(image, sent, removed))
            answers.note(destination, sent, removed, failures)
            for parcel in sent:
                self._note_parcel(records, destination, parcel, failures.get(parcel.key), now)
            for key in removed:
                failure = failures.get(key)
                if failure is None:
                    deleted.append(key)
                elif failure is not UNDER_WAY:
                    records[key] = _failed(records[key], destination, failure, now)
        for key in deleted:
            extras.events.append(_ended(key, image.plugin(key), now, removals[key]))
            records.pop(key, None)
        image = with_refusals(image, due, records, now, extras)
        image = answers.told(image.with_plugins(dict.fromkeys(deleted)), now)
        return replace(image, deliveries=records) if records != image.deliveries else image

    def _note_parcel(
        self,
        records: dict[PluginKey, DeliveryRecord],
        destination: Destination,
        parcel: Parcel,
        failure: Failure | None,
        now: datetime,
    ) -> None:
        """What became of a parcel; what it leaves behind elsewhere goes once it has arrived."""
        before = records.get(parcel.key)
        if failure is UNDER_WAY:
            return
        if failure is not None:
            records[parcel.key] = _failed(before, destination, failure, now, parcel.input_hash)
            return
        records[parcel.key] = DeliveryRecord(destination, parcel.input_hash, parcel.digest, now)
        if before is not None and before.input_hash and is_left_behind(before.destination, destination):
            self._deliverer(before.destination).deliver([], [parcel.key], Note(f"{parcel.key[2]} moved"))

    def _parcel(self, image: Image, key: PluginKey) -> Parcel | Failure:
        hash_ = _admitted_hash(image, key)
        state = image.states.get(hash_)
        blob = self._blob(state.files) if state is not None else None
        if state is None or blob is None:
            return Failure(f"the bytes of {hash_[:11]} are not stored", "retry the rollout", refused=True)
        return Parcel(key, unpacked(blob), state.files, hash_, state.version)


def _admitted_hash(image: Image, key: PluginKey) -> str:
    admitted = image.plugin(key).admitted
    return (admitted.input_hash if admitted is not None else None) or ""


def gone(image: Image, removals: Iterable[Removal], steps: Iterable[Step]) -> dict[PluginKey, str]:
    """What goes now: plugins that are deleted, and files of those whose successors have arrived (B23).

    Two plugins with the same objects would stand side by side else; on a cluster the successor has taken them over, and
    only what it does not have goes.
    """
    found = {step.key: "" for step in steps if step.action == "delete"}
    for removal in removals:
        record = image.deliveries.get(removal.key)
        if not removal.handed_to or record is None:
            continue
        successor = (*removal.key[:2], removal.handed_to)
        arrived, admitted = image.deliveries.get(successor), image.plugin(successor).admitted
        if arrived is not None and admitted is not None and arrived.input_hash == admitted.input_hash:
            found[removal.key] = removal.handed_to
    return found


def handed_over(removals: Iterable[Removal]) -> dict[PluginKey, PluginKey]:
    """Plugins that have the release of another now, and which that was."""
    return {(*each.key[:2], each.handed_to): each.key for each in removals if each.handed_to}


def let_go(image: Image, removals: Iterable[Removal], clusters: Container[Ref], now: datetime, extras: Extras) -> Image:
    """Plugins that nobody wants and that stay where they are (B22): from now on their files are their owner's alone.

    So do those on clusters that left the fleet, if they were reached themselves: how to reach them left with them.
    """
    records = dict(image.deliveries)
    for removal in removals:
        record = records.get(removal.key)
        left = record is not None and record.destination.kind == "kubernetes"
        left = left and Ref("Cluster", *removal.key[:2]) not in clusters
        if (removal.retain or left) and not removal.handed_to and records.pop(removal.key, None) is not None:
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
        destination = _destination(destinations.get(key), record, admitted)
        if destination is None:
            continue
        if record is not None:
            again = record.tried == admitted.input_hash
            if again and record.refused and state.attempt.phase == "Failed":
                # Its cluster does not take it: it is brought again when it is started again.
                continue
            arrived = record.input_hash == admitted.input_hash and record.destination == destination
            if arrived or (again and record.retry_at is not None and record.retry_at > now):
                continue
        found[key] = destination
    return found


def _destination(wanted: Destination | None, record: DeliveryRecord | None, admitted: Deployed) -> Destination | None:
    """Where an admitted state belongs: where files say now, or where it is if they no longer say.

    To or from a cluster it goes with the next state that is admitted: what runs there is not moved by an edit alone.
    """
    there = record.destination if record is not None else None
    if wanted is None or there is None or "kubernetes" not in (wanted.kind, there.kind):
        found = wanted or there
    else:
        arrived = record is not None and record.input_hash == admitted.input_hash
        found = there if arrived and wanted.kind != there.kind else wanted
    if found is None or found.kind != "kubernetes" or admitted.installer is None:
        return found
    return structs.replace(found, namespace=admitted.installer.release_namespace)


def _failed(
    before: DeliveryRecord | None, destination: Destination, failure: Failure, now: datetime, input_hash: str = ""
) -> DeliveryRecord:
    before = before or DeliveryRecord(destination)
    pause = min(_FIRST_RETRY * (1 << min(before.tries, 16)), _LONGEST_RETRY)
    return structs.replace(
        before,
        failure=failure.message,
        hint=failure.hint,
        tries=before.tries + 1,
        retry_at=now + pause,
        tried=input_hash,
        refused=failure.refused and destination.kind == "kubernetes",
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
