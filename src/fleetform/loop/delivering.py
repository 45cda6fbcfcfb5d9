"""Delivering: what is admitted and not yet delivered goes to its destination; what nobody wants any more goes away.

Delivery sees only what is admitted (B1), and its bytes come from the store: what is delivered is what was admitted,
whatever the files say by now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.progress import Patience
from fleetform.loop.cluster_answers import (
    ClusterAnswers,
    is_cleared,
    is_overwritten,
    is_refused,
    with_refusals,
    without_hope,
)
from fleetform.loop.delivery_outcomes import (
    LONGEST_RETRY,
    arrived_at,
    failed_at,
    left_behind,
    not_taken,
    places_left,
    tried_at,
)
from fleetform.loop.image import Extras, Image
from fleetform.loop.leaving import ended
from fleetform.loop.records import DeliveryRecord, Destination, unpacked
from fleetform.loop.sealing import Unsealing
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, PluginState
from fleetform.ports.delivery import UNDER_WAY, Beside, Deliverer, Failure, Note, NothingBeside, Parcel

# For so long it is tried to remove files from where a plugin was delivered to earlier.
_GIVEN_UP = timedelta(days=1)


class _Attempt(NamedTuple):
    """What a delivery depends on: where to, what ("" if it is to go away), what lets in there, and the Secrets that it
    is filled in with."""

    destination: Destination
    input_hash: str
    login: object
    secrets: tuple[object, ...] = ()


class Deliveries:
    """Brings parcels to destinations. blob gives the bytes of a digest, deliverer what reaches a destination, beside
    what is under way."""

    def __init__(
        self,
        deliverer: Callable[[Destination], Deliverer],
        blob: Callable[[str], bytes | None],
        beside: Beside | None = None,
        unsealing: Unsealing | None = None,
    ) -> None:
        self._deliverer, self._blob, self._unsealing = deliverer, blob, unsealing
        self._beside: Beside = beside or NothingBeside()
        # What was tried last. A pause ends where that is another by now; after a restart all is tried once.
        self._tried: dict[PluginKey, _Attempt] = {}
        # What could not be filled in, with the Secrets that were there then.
        self._lacking: dict[PluginKey, tuple[object, ...]] = {}
        # What was known of plugins before they were on their way to where they had not been.
        self._before: dict[PluginKey, DeliveryRecord | None] = {}

    def deliver(
        self,
        image: Image,
        keys: Iterable[PluginKey],
        destinations: Mapping[PluginKey, Destination],
        removals: Mapping[PluginKey, str],
        login: Callable[[Destination], object],
        now: datetime,
        extras: Extras,
        predecessors: Mapping[PluginKey, PluginKey] | None = None,
        retained: Container[PluginKey] = (),
        left: Container[PluginKey] = (),
        patience: Callable[[str], Patience] = lambda organization: Patience(),
    ) -> Image:
        """The image after what is due of some plugins was delivered; what failed is tried again later.

        removals are plugins that go, each with the one that has its place now, if there is one. login is what lets in
        to a destination, only to be compared. predecessors are plugins whose releases others have now (B23). retained
        are those among the removals of which everything stays, and is nobody's from then on; left those on clusters
        that left the fleet: of these nothing is deleted that was let go, or never was anywhere. patience is that of an
        organization.
        """
        image = self._with_secrets_that_came(image, patience, now)
        attempts = _attempts(image, keys, destinations, removals, login, self._secrets, retained)
        due = {key: each for key, each in attempts.items() if not self._rests(key, each, image, now)}
        due = {key: each for key, each in due.items() if not self._beside.is_under_way(key, each.input_hash)}
        if not due and all(key in image.deliveries for key in removals):
            return image
        self._tried = {key: self._tried[key] for key in attempts.keys() & self._tried.keys()} | due
        records = dict(image.deliveries)
        deleted = [key for key in removals if key not in records]
        stays = {key for key in deleted if key in left}
        answers = ClusterAnswers()
        deleted += self._bring(image, due, records, now, predecessors or {}, answers)
        self._clear(due, records, now, extras)
        deleted = [key for key in deleted if key not in records or not records[key].leaves]
        for key in deleted:
            if key not in stays:
                event = ended(key, image.plugin(key), now, removals[key])
                extras.events.append(structs.replace(event, event="Retained") if key in retained else event)
            records.pop(key, None)
            self._before.pop(key, None)
        records.update(without_hope(image, due, records, answers, patience, now))
        image = with_refusals(image, due, records, now, extras)
        forgotten = [key for key in deleted if key not in retained]
        image = answers.told(image.with_plugins(dict.fromkeys(forgotten)), now)
        return replace(image, deliveries=records) if records != image.deliveries else image

    def _with_secrets_that_came(self, image: Image, patience: Callable[[str], Patience], now: datetime) -> Image:
        """With retries due at once of what failed for want of Secrets, where these are others by now."""
        found: dict[PluginKey, PluginState | None] = {}
        for key, then in list(self._lacking.items()):
            record, state = image.deliveries.get(key), image.plugin(key)
            if record is None or state.attempt is None or not is_refused(record, state):
                del self._lacking[key]
            elif self._secrets(image, key, record.refused) != then:
                del self._lacking[key]
                found[key] = structs.replace(state, attempt=patience(key[0]).due_at_once(state.attempt, now))
        return image.with_plugins(found)

    def _rests(self, key: PluginKey, attempt: _Attempt, image: Image, now: datetime) -> bool:
        """Whether it failed a while ago, and nothing that it depends on has changed."""
        record = image.deliveries.get(key)
        failing = record.failing if record is not None else None
        if failing is None or failing.retry_at is None or self._tried.get(key) != attempt:
            return False
        # Further away it can only be if a clock was turned back.
        return timedelta(0) < failing.retry_at - now <= LONGEST_RETRY

    def _bring(
        self,
        image: Image,
        due: Mapping[PluginKey, _Attempt],
        records: dict[PluginKey, DeliveryRecord],
        now: datetime,
        predecessors: Mapping[PluginKey, PluginKey],
        answers: ClusterAnswers,
    ) -> list[PluginKey]:
        """Delivers what is to be at a destination, and removes there what is not; which plugins were removed."""
        parcels, leaving = self._sorted(image, due, records, now, predecessors)
        removed = []
        for destination in sorted({*parcels, *leaving}, key=str):
            sent, gone = parcels.get(destination, []), leaving.get(destination, [])
            began = time.monotonic()
            failures = self._deliverer(destination).deliver(sent, gone, _note(image, sent, gone))
            answers.note(destination, sent, gone, failures)
            tried = tried_at(now, began)
            for parcel in sent:
                key = parcel.key
                after = self._after(records.get(key), destination, parcel, failures.get(key), now, tried)
                if after is not None:
                    records[key] = after
            self._forget_tries(failures)
            for key in gone:
                failure = failures.get(key)
                if failure is None:
                    removed.append(key)
                elif failure is not UNDER_WAY:
                    records[key] = failed_at(records[key], "removal", destination, failure, tried)
        return removed

    def _sorted(
        self,
        image: Image,
        due: Mapping[PluginKey, _Attempt],
        records: dict[PluginKey, DeliveryRecord],
        now: datetime,
        predecessors: Mapping[PluginKey, PluginKey],
    ) -> tuple[Mapping[Destination, list[Parcel]], Mapping[Destination, list[PluginKey]]]:
        """What is to be brought to each destination, and what is to go from there."""
        parcels: dict[Destination, list[Parcel]] = {}
        leaving: dict[Destination, list[PluginKey]] = {}
        for key, attempt in due.items():
            destination, input_hash, record = attempt.destination, attempt.input_hash, records.get(key)
            if not input_hash:
                leaving.setdefault(destination, []).append(key)
            elif record is not None and is_overwritten(record, input_hash):
                # Before the first object of another state is written: from then on nobody knows what is there.
                records[key] = structs.replace(record, input_hash="")
            elif record is None or record.input_hash != input_hash or record.destination != destination:
                parcel = self._parcel(image, key)
                if isinstance(parcel, Failure):
                    records[key] = self._not_filled_in(image, key, attempt, parcel, now)
                else:
                    parcel = structs.replace(parcel, predecessor=predecessors.get(key))
                    if record is not None and record.refused:
                        # It was started again: what its cluster said of the time before is over.
                        records[key] = structs.replace(record, refused="", trouble=None)
                    parcels.setdefault(destination, []).append(parcel)
        return parcels, leaving

    def _forget_tries(self, failures: Mapping[PluginKey, Failure]) -> None:
        """What comes of those that are under way is taken as soon as it is there, whatever failed before."""
        for key, failure in failures.items():
            if failure is UNDER_WAY:
                self._tried.pop(key, None)

    def _after(
        self,
        record: DeliveryRecord | None,
        destination: Destination,
        parcel: Parcel,
        failure: Failure | None,
        now: datetime,
        tried: datetime,
    ) -> DeliveryRecord | None:
        """The record of a parcel that arrived, could not, or is on its way."""
        if failure is UNDER_WAY:
            return self._on_its_way(record, destination, parcel.key, now) if is_cleared(destination) else record
        before = self._before.pop(parcel.key, record)
        if failure is None:
            return arrived_at(record, destination, parcel, now)
        return not_taken(before, destination, failure, parcel.input_hash if failure.refused else "", tried)

    def _on_its_way(
        self, record: DeliveryRecord | None, destination: Destination, key: PluginKey, now: datetime
    ) -> DeliveryRecord:
        """From now on it may be there, whether anybody hears of that or not: if it is to be elsewhere by then, or
        nowhere, it is removed from there. That it did not arrive makes this undone."""
        if record is not None and record.since is not None and record.destination.is_at(destination):
            self._before.pop(key, None)
            return record
        self._before[key] = record
        trouble = record.trouble if record is not None else None
        return DeliveryRecord(destination, since=now, leaves=places_left(record, destination), trouble=trouble)

    def _not_filled_in(
        self, image: Image, key: PluginKey, attempt: _Attempt, failure: Failure, now: datetime
    ) -> DeliveryRecord:
        """What cannot be made whole has failed on its cluster if it is under way there, and its next try is due at once
        when the Secrets are others."""
        is_over = failure.refused and image.plugin(key).in_flight
        if is_over:
            self._lacking[key] = attempt.secrets
        refused = attempt.input_hash if is_over else ""
        return not_taken(image.deliveries.get(key), attempt.destination, failure, refused, now)

    def _clear(
        self,
        due: Mapping[PluginKey, _Attempt],
        records: dict[PluginKey, DeliveryRecord],
        now: datetime,
        extras: Extras,
    ) -> None:
        """Removes what is still where it was delivered to earlier. Where that fails it is tried again, for a while: a
        repository that is gone for good would be asked for ever."""
        leaving: dict[Destination, list[PluginKey]] = {}
        for key, attempt in due.items():
            record = records.get(key)
            # What is on its way to another place is there until it has arrived.
            if record is not None and (record.input_hash or not attempt.input_hash):
                for destination in record.leaves:
                    leaving.setdefault(destination, []).append(key)
        for destination, keys in sorted(leaving.items(), key=str):
            note = Note({key: f"{key[1]}  {key[2]}  moved" for key in keys})
            began = time.monotonic()
            failures = self._deliverer(destination).deliver([], keys, note)
            tried = tried_at(now, began)
            self._forget_tries(failures)
            for key in keys:
                record, failure = records[key], failures.get(key)
                if failure is UNDER_WAY:
                    continue
                if failure is not None:
                    record = failed_at(record, "removal", destination, failure, tried)
                    if record.trouble is None or now - record.trouble.since < _GIVEN_UP:
                        records[key] = record
                        continue
                    extras.events.append(left_behind(key, record.trouble, now))
                leaves = tuple(each for each in record.leaves if each != destination)
                # Why it could not be removed from here is over; from elsewhere it may still stand.
                over = not leaves and record.trouble is not None and record.trouble.of == "removal"
                records[key] = structs.replace(record, leaves=leaves, trouble=None if over else record.trouble)

    def _secrets(self, image: Image, key: PluginKey, input_hash: str) -> tuple[object, ...]:
        state = image.states.get(input_hash)
        if state is None or self._unsealing is None:
            return ()
        return self._unsealing.secrets(key[0], state)

    def _parcel(self, image: Image, key: PluginKey) -> Parcel | Failure:
        admitted = image.plugin(key).admitted
        hash_ = (admitted.input_hash if admitted is not None else None) or ""
        state = image.states.get(hash_)
        blob = self._blob(state.files) if state is not None else None
        if state is None or blob is None:
            return Failure(f"the bytes of {hash_[:11]} are not stored", "retry the rollout", refused=True)
        parcel = Parcel(key, unpacked(blob), state.files, hash_, state.version)
        if not state.sealed:
            return parcel
        if self._unsealing is None:
            return Failure("its secrets cannot be filled in here", "deliver it straight to its cluster", refused=True)
        reveal = self._unsealing.reveal(key[0], state)
        return reveal if isinstance(reveal, Failure) else structs.replace(parcel, reveal=reveal)


def _attempts(
    image: Image,
    keys: Iterable[PluginKey],
    destinations: Mapping[PluginKey, Destination],
    removals: Mapping[PluginKey, str],
    login: Callable[[Destination], object],
    secrets: Callable[[Image, PluginKey, str], tuple[object, ...]],
    retained: Container[PluginKey],
) -> dict[PluginKey, _Attempt]:
    """What is to be done about plugins that are not where they should be, or are where they should not."""
    found: dict[PluginKey, _Attempt] = {}
    for key in sorted(keys):
        state, record = image.plugin(key), image.deliveries.get(key)
        admitted = state.admitted
        if key in removals or admitted is None or admitted.input_hash is None or state.attempt is None:
            continue
        destination = _destination(destinations.get(key), record, admitted)
        if destination is None or is_refused(record, state):
            continue
        arrived = record is not None and record.input_hash == admitted.input_hash and record.destination == destination
        if not arrived or (record is not None and record.leaves):
            filled_in = secrets(image, key, admitted.input_hash)
            found[key] = _Attempt(destination, admitted.input_hash, login(destination), filled_in)
    for key in removals:
        record = image.deliveries.get(key)
        if record is not None:
            destination = structs.replace(record.destination, retain=key in retained)
            found[key] = _Attempt(destination, "", login(record.destination))
    return found


def announced(
    image: Image,
    keys: Iterable[PluginKey],
    destinations: Mapping[PluginKey, Destination],
    removals: Iterable[PluginKey] = (),
) -> Image:
    """With where first deliveries go, and without what is about to be replaced or removed, stored before any of that:
    whoever ends in between leaves nothing behind that nobody knows of. And of a delivery whose end nobody hears nobody
    knows what is there: a way back, or a cluster that comes again, must not find there what was there before."""
    records: dict[PluginKey, DeliveryRecord] = {}
    for key in keys:
        admitted, record = image.plugin(key).admitted, image.deliveries.get(key)
        if admitted is None:
            continue
        if record is None:
            destination = _destination(destinations.get(key), None, admitted)
            if destination is not None:
                records[key] = DeliveryRecord(destination)
        elif record.input_hash not in ("", admitted.input_hash):
            records[key] = structs.replace(record, input_hash="")
    for key in removals:
        record = image.deliveries.get(key)
        if record is not None and record.input_hash:
            records[key] = structs.replace(record, input_hash="")
    return replace(image, deliveries={**image.deliveries, **records}) if records else image


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
    if found is None or found.kind != "kubernetes" or found.namespace or admitted.installer is None:
        return found
    return structs.replace(found, namespace=admitted.installer.release_namespace)


def _note(image: Image, parcels: Sequence[Parcel], removals: Sequence[PluginKey]) -> Note:
    """What a delivery brings, for those who read it where it arrives: a line for each plugin and why."""
    lines: dict[PluginKey, str] = {}
    for parcel in parcels:
        state = image.plugin(parcel.key)
        place, before = state.enrolment, state.last_healthy
        version = f"{parcel.version}"
        if before is not None:
            stays = before.version == parcel.version
            version += ", other values" if stays and before.input_hash != parcel.input_hash else ""
            version = version if stays else f"{before.version} → {version}"
        why = f"{place.rollout}, stage {place.stage}" if place is not None and place.stage else "rollout"
        back = " (rolled back)" if state.attempt is not None and state.attempt.back else ""
        lines[parcel.key] = f"{parcel.key[1]}  {parcel.key[2]}  {version}  {why}{back}"
    lines.update((key, f"{key[1]}  {key[2]}  removed") for key in removals)
    return Note(lines)
