"""What deliveries straight to clusters tell of them: who answers, and what they do not take."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from fleetform.engine.plan.progress import Patience, observed
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from fleetform.ports.delivery import UNDER_WAY, Failure, Parcel
from fleetform.ports.store import Event
from fleetform.syntax.alike import alike

_LONGEST_MESSAGE = 500


class ClusterAnswers:
    """Which clusters answered in one pass, and which did not (B25)."""

    def __init__(self) -> None:
        self._answered: dict[Ref, bool] = {}
        self._why: dict[Ref, str] = {}

    def note(
        self,
        destination: Destination,
        parcels: Sequence[Parcel],
        removals: Sequence[PluginKey],
        failures: Mapping[PluginKey, Failure],
    ) -> None:
        if destination.kind != "kubernetes":
            return
        for key in (*(each.key for each in parcels), *removals):
            failure = failures.get(key)
            if failure is not UNDER_WAY:
                cluster = Ref("Cluster", *destination.cluster)
                reached = failure is None or not failure.unreachable
                self._answered[cluster] = reached or self._answered.get(cluster, False)
                if failure is not None and failure.unreachable:
                    self._why.setdefault(cluster, failure.message)

    def heard(self, cluster: tuple[str, str], answered: bool, why: str = "") -> None:
        """Whether a cluster answered when it was asked for something else than a delivery; why not, if it did not."""
        ref = Ref("Cluster", *cluster)
        self._answered[ref] = answered
        if not answered:
            self._why.setdefault(ref, why)

    def is_silent(self, cluster: Ref) -> bool:
        """Whether it was asked in this pass, and did not answer."""
        return not self._answered.get(cluster, True)

    def told(self, image: Image, now: datetime, clusters: Container[Ref] | None = None) -> Image:
        """The image with since when clusters do not answer, and what comes instead of an answer; those that answer
        again are forgotten, and those that are none of the fleet's."""
        known = image.known.rollouts
        silent, why = dict(known.silent_since), dict(known.silent_because)
        for cluster, answered in self._answered.items():
            if answered:
                silent.pop(cluster, None)
            else:
                silent.setdefault(cluster, now)
                because = shortened(self._why.get(cluster, ""))
                # Numbers in it may be others each time.
                if because and alike(because) != alike(why.get(cluster, "")):
                    why[cluster] = because
        silent = {ref: since for ref, since in silent.items() if clusters is None or ref in clusters}
        why = {ref: each for ref, each in why.items() if ref in silent}
        if silent == known.silent_since and why == known.silent_because:
            return image
        stored = structs.replace(known, silent_since=silent, silent_because=why)
        return replace(image, known=replace(image.known, rollouts=stored))


def with_refusals(
    image: Image,
    keys: Iterable[PluginKey],
    records: Mapping[PluginKey, DeliveryRecord],
    now: datetime,
    extras: Extras,
) -> Image:
    """What a cluster does not take has failed there: waiting for its health would be waiting for ever."""
    states: dict[PluginKey, PluginState | None] = {}
    for key in keys:
        record = records.get(key)
        if record is None or not record.refused or image.deliveries.get(key) == record:
            continue
        state = image.plugin(key)
        if state.attempt is None or state.attempt.phase not in ("Applying", "SetAside"):
            continue
        after = observed(state, record.refused, "Failed", now, _reason(record))
        if after is not state:
            states[key] = after
            extras.events.append(_refused(image, key, state, record, now))
    return image.with_plugins(states)


def without_hope(
    image: Image,
    keys: Iterable[PluginKey],
    records: Mapping[PluginKey, DeliveryRecord],
    answers: ClusterAnswers,
    patience: Callable[[str], Patience],
    now: datetime,
) -> dict[PluginKey, DeliveryRecord]:
    """What has not arrived for so long on clusters that answer counts as refused there, whatever holds it up: else it
    would keep its cluster from everything else for ever."""
    found = {}
    for key in keys:
        record, state = records.get(key), image.plugin(key)
        trouble, attempt = (record.trouble if record is not None else None), state.attempt
        if record is None or trouble is None or trouble.of != "delivery" or record.destination.kind != "kubernetes":
            continue
        if attempt is None or attempt.phase != "Applying" or record.refused or record == image.deliveries.get(key):
            continue
        if answers.is_silent(Ref("Cluster", *record.destination.cluster)):
            continue
        if now - max(trouble.since, attempt.since) >= patience(key[0]).unreachable_after:
            found[key] = as_refused(record, attempt.input_hash)
    return found


def shortened(message: str) -> str:
    """On one line, and no longer than a record should have it."""
    return re.sub(r"\s+", " ", message)[:_LONGEST_MESSAGE]


def as_refused(record: DeliveryRecord, input_hash: str) -> DeliveryRecord:
    """A state is not brought again before it is started again."""
    trouble = structs.replace(record.trouble, retry_at=None) if record.trouble is not None else None
    return structs.replace(record, refused=input_hash, trouble=trouble)


def is_refused(record: DeliveryRecord | None, state: PluginState) -> bool:
    """Whether its cluster does not take what is admitted: it is brought again when it is started again."""
    attempt = state.attempt
    if record is None or attempt is None or attempt.phase != "Failed":
        return False
    return bool(record.refused) and record.refused == attempt.input_hash


def is_overwritten(record: DeliveryRecord, input_hash: str) -> bool:
    """Whether a state that has arrived on a cluster is about to be replaced there, object by object.

    It no longer counts as arrived before that begins, and that is stored: else a way back to it would find it there.
    """
    return record.destination.kind == "kubernetes" and record.input_hash not in ("", input_hash)


def is_cleared(destination: Destination) -> bool:
    """Whether what was delivered to one place is removed there once it has arrived at another.

    Nothing is uninstalled from a cluster because something else brings it there from now on.
    """
    return destination.kind != "kubernetes"


def _refused(image: Image, key: PluginKey, state: PluginState, record: DeliveryRecord, now: datetime) -> Event:
    attempt, admitted = state.attempt, state.admitted
    assert attempt is not None
    return Event(
        now,
        *key,
        event="Failed",
        version=admitted.version if admitted is not None else None,
        input_hash=record.refused,
        rollout=attempt.rollout,
        change_id=image.change_ids.get((key[0], attempt.rollout), ""),
        reason=_reason(record),
    )


def _reason(record: DeliveryRecord) -> str:
    return record.trouble.message if record.trouble is not None else ""
