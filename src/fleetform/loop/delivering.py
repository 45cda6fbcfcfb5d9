"""Delivering: what is admitted and not yet delivered goes to its destination; what nobody wants any more goes away.

Delivery sees only what is admitted (B1), and its bytes come from the store: what is delivered is what was admitted,
whatever the files say by now.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

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
from fleetform.loop.delivery_attempts import Attempt, attempts_of
from fleetform.loop.delivery_outcomes import (
    LONGEST_RETRY,
    arrived_at,
    failed_at,
    left_behind,
    may_be_at,
    not_taken,
    tried_at,
    without,
)
from fleetform.loop.image import Extras, Image
from fleetform.loop.leaving import ended
from fleetform.loop.records import DeliveryRecord, Destination, unpacked
from fleetform.loop.sealing import Unsealing
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from fleetform.ports.delivery import UNDER_WAY, Beside, Deliverer, Failure, Note, NothingBeside, Parcel

# For so long it is tried to remove files from where a plugin was delivered to earlier.
_GIVEN_UP = timedelta(days=1)


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
        self._tried: dict[PluginKey, Attempt] = {}
        # What could not be filled in, with the Secrets that were there then.
        self._lacking: dict[PluginKey, tuple[object, ...]] = {}
        # What is on its way beside the passes: what came of it says nothing of what somebody wants by then.
        self._handed: dict[PluginKey, Attempt] = {}
        # Where something is on its way to, and nothing was before.
        self._new_places: set[tuple[PluginKey, Destination]] = set()

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
        attempts = attempts_of(image, keys, destinations, removals, login, self._secrets, retained)
        due = {key: each for key, each in attempts.items() if not self._rests(key, each, image, now)}
        due = {key: each for key, each in due.items() if not self._is_under_way(key, each)}
        if not due and all(key in image.deliveries for key in removals):
            return image
        self._tried = {key: self._tried[key] for key in attempts.keys() & self._tried.keys()} | due
        records = dict(image.deliveries)
        deleted = [key for key in removals if key not in records]
        stays = {key for key in deleted if key in left}
        answers = ClusterAnswers()
        deleted += self._bring(image, due, records, now, predecessors or {}, answers)
        self._clear(due, records, image.deliveries, now, extras)
        deleted = [key for key in deleted if key not in records or not records[key].leaves]
        for key in deleted:
            if key not in stays:
                event = ended(key, image.plugin(key), now, removals[key])
                extras.events.append(structs.replace(event, event="Retained") if key in retained else event)
            records.pop(key, None)
            self._handed.pop(key, None)
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

    def _rests(self, key: PluginKey, attempt: Attempt, image: Image, now: datetime) -> bool:
        """Whether it failed a while ago, and nothing that it depends on has changed."""
        record = image.deliveries.get(key)
        failing = record.failing if record is not None else None
        if failing is None or failing.retry_at is None or self._tried.get(key) != attempt:
            return False
        # Further away it can only be if a clock was turned back.
        return timedelta(0) < failing.retry_at - now <= LONGEST_RETRY

    def _is_under_way(self, key: PluginKey, attempt: Attempt) -> bool:
        """Whether this is on its way already. Files that are on theirs to another place can be brought here now."""
        if not self._beside.is_under_way(key, attempt.input_hash):
            return False
        handed = self._handed.get(key)
        return handed is None or not is_cleared(attempt.destination) or handed.destination.is_at(attempt.destination)

    def _bring(
        self,
        image: Image,
        due: Mapping[PluginKey, Attempt],
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
                failure = failures.get(parcel.key)
                if failure is UNDER_WAY:
                    self._hand_over(parcel.key, due[parcel.key], records)
                else:
                    self._take(parcel, due[parcel.key], failure, records, now, tried)
            for key in gone:
                failure = failures.get(key)
                if failure is None:
                    removed.append(key)
                elif failure is UNDER_WAY:
                    self._tried.pop(key, None)
                else:
                    records[key] = failed_at(records[key], "removal", destination, failure, tried)
        return removed

    def _sorted(
        self,
        image: Image,
        due: Mapping[PluginKey, Attempt],
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

    def _hand_over(self, key: PluginKey, attempt: Attempt, records: dict[PluginKey, DeliveryRecord]) -> None:
        """It is on its way. What comes of it is taken as soon as it is there, whatever failed before.

        Files may be there from now on, whether anybody hears of that or not: if they are to be elsewhere by then, or
        nowhere, they are removed from there.
        """
        self._tried.pop(key, None)
        before, destination = self._handed.get(key), attempt.destination
        self._handed[key] = attempt
        if not is_cleared(destination):
            return
        record = records.get(key) or DeliveryRecord(destination)
        if not may_be_at(record, destination):
            self._new_places.add((key, destination))
            records[key] = structs.replace(record, leaves=(*record.leaves, destination))
        elif before is not None and before.input_hash != attempt.input_hash:
            # What was on its way there before may have arrived.
            self._new_places.discard((key, destination))

    def _take(
        self,
        parcel: Parcel,
        attempt: Attempt,
        failure: Failure | None,
        records: dict[PluginKey, DeliveryRecord],
        now: datetime,
        tried: datetime,
    ) -> None:
        """It arrived, or could not, with what was there to be tried with then."""
        key, destination, record = parcel.key, attempt.destination, records.get(parcel.key)
        handed = self._handed.get(key)
        was_handed = handed is not None and handed.destination.is_at(destination)
        if was_handed or failure is None:
            self._handed.pop(key, None)
        self._tried[key] = handed if handed is not None and was_handed else attempt
        is_new = (key, destination) in self._new_places
        self._new_places.discard((key, destination))
        if failure is None:
            records[key] = arrived_at(record, destination, parcel, now)
            return
        if record is not None and is_new:
            record = structs.replace(record, leaves=without(record.leaves, destination))
        refused = parcel.input_hash if failure.refused else ""
        records[key] = not_taken(record, destination, failure, refused, tried)

    def _not_filled_in(
        self, image: Image, key: PluginKey, attempt: Attempt, failure: Failure, now: datetime
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
        due: Mapping[PluginKey, Attempt],
        records: dict[PluginKey, DeliveryRecord],
        before: Mapping[PluginKey, DeliveryRecord],
        now: datetime,
        extras: Extras,
    ) -> None:
        """Removes what is still where it was delivered to earlier. Where that fails it is tried again, for a while: a
        repository that is gone for good would be asked for ever."""
        leaving: dict[Destination, list[PluginKey]] = {}
        for key, attempt in due.items():
            for destination in records[key].leaves if key in records else ():
                # Not from where it is on its way to.
                if not (attempt.input_hash and destination.is_at(attempt.destination)):
                    leaving.setdefault(destination, []).append(key)
        for destination, keys in sorted(leaving.items(), key=str):
            note = Note({key: f"{key[1]}  {key[2]}  moved" for key in keys})
            began = time.monotonic()
            failures = self._deliverer(destination).deliver([], keys, note)
            tried = tried_at(now, began)
            for key in keys:
                record, failure = records[key], failures.get(key)
                if failure is UNDER_WAY:
                    if key not in before or record.trouble == before[key].trouble:
                        self._tried.pop(key, None)
                    continue
                if failure is not None:
                    record = failed_at(record, "removal", destination, failure, tried)
                    if record.trouble is None or now - record.trouble.since < _GIVEN_UP:
                        records[key] = record
                        continue
                    extras.events.append(left_behind(key, record.trouble, now))
                leaves = without(record.leaves, destination)
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
