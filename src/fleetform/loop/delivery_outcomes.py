"""What becomes of records of deliveries: a plugin arrived at its destination, failed to, or is to go from another."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from msgspec import structs

from fleetform.loop.cluster_answers import as_refused, is_cleared
from fleetform.loop.records import DeliveryRecord, Destination
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Trouble
from fleetform.ports.delivery import Failure, Parcel
from fleetform.ports.store import Event

_FIRST_RETRY, LONGEST_RETRY = timedelta(seconds=5), timedelta(minutes=15)


def arrived_at(
    before: DeliveryRecord | None, destination: Destination, parcel: Parcel, now: datetime
) -> DeliveryRecord:
    return DeliveryRecord(destination, parcel.input_hash, parcel.digest, now, places_left(before, destination))


def places_left(before: DeliveryRecord | None, destination: Destination) -> tuple[Destination, ...]:
    """Where files of a plugin are no longer to be once it is at a destination."""
    leaves = before.leaves if before is not None else ()
    if before is not None and before.since is not None and is_cleared(before.destination):
        leaves = (*leaves, before.destination)
    # Back where it was before: its files are no leftovers there.
    return without(leaves, destination)


def without(leaves: Iterable[Destination], destination: Destination) -> tuple[Destination, ...]:
    return tuple(dict.fromkeys(each for each in leaves if not each.is_at(destination)))


def may_be_at(record: DeliveryRecord, destination: Destination) -> bool:
    """Whether files may be at a destination, as far as a record tells."""
    is_there = record.since is not None and record.destination.is_at(destination)
    return is_there or any(each.is_at(destination) for each in record.leaves)


def not_taken(
    before: DeliveryRecord | None, destination: Destination, failure: Failure, refused: str, now: datetime
) -> DeliveryRecord:
    """refused is the state that cannot arrive on a cluster unless somebody acts: it is not brought again before it is
    started again."""
    record = structs.replace(failed_at(before, "delivery", destination, failure, now), refused="")
    return as_refused(record, refused) if refused and destination.kind == "kubernetes" else record


def failed_at(
    before: DeliveryRecord | None,
    of: Literal["delivery", "removal"],
    destination: Destination,
    failure: Failure,
    now: datetime,
) -> DeliveryRecord:
    before = before or DeliveryRecord(destination)
    trouble = before.trouble if before.trouble is not None and before.trouble.of == of else None
    tries, since = (trouble.tries, trouble.since) if trouble is not None else (0, now)
    pause = min(_FIRST_RETRY * (1 << min(tries, 16)), LONGEST_RETRY)
    found = Trouble(of, failure.message, since, failure.hint, destination.text, tries + 1, now + pause)
    return structs.replace(before, trouble=found)


def tried_at(now: datetime, began: float) -> datetime:
    """When a try of a pass ended, if it took long: the pause comes after it, and does not pass within it."""
    took = timedelta(seconds=int(time.monotonic() - began))
    return now + took if took >= _FIRST_RETRY else now


def left_behind(key: PluginKey, trouble: Trouble, now: datetime) -> Event:
    return Event(now, *key, event="LeftBehind", reason=f"its files stay at {trouble.where}: {trouble.message}")
