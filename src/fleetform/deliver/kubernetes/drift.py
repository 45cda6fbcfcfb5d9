"""What differs on a cluster from what was applied there, from metadata alone: a list for each kind, whatever the number
of objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from fleetform.clusters.fields import lost_fields
from fleetform.clusters.inventory import Known
from fleetform.clusters.listing import Live, inventories, live_objects, wanted
from fleetform.clusters.work import Waiting
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import ObjectError

# A field that somebody took over again and again would fill a page.
_MOST_FIELDS = 5


class Found(NamedTuple):
    """Something that is not as it was applied: an object that is missing, or fields of one and who has them now."""

    text: str
    missing: bool = False


class Look(NamedTuple):
    """What was found on a cluster, by the plugins' labels; nothing is said of plugins whose inventories are in other
    namespaces than these, or in one that could not be looked at."""

    found: Mapping[str, Sequence[Found]]
    namespaces: frozenset[str]
    untold: Mapping[str, ObjectError]


def look_for_drift(client: Client, namespaces: Collection[str]) -> Waiting[Look]:
    """What each plugin of the cluster has that is not as it was applied; namespaces are those of all of them."""
    yield from ()
    known, untold, _ = inventories(client, None, sorted(namespaces))
    live = live_objects(client, known)
    # What is being applied is not drift.
    now = datetime.now(UTC)
    found = {label: _found(each, live, now) if not each.applying else () for label, each in known.items()}
    return Look(found, frozenset(namespaces), untold)


def _found(known: Known, live: Live, now: datetime) -> list[Found]:
    found = []
    for ref, _ in wanted(known):
        if ref in live.untold:
            continue
        there = live.there.get(ref)
        if there is None:
            # A Job that ran is not to run again.
            if not known.may_be_over(ref, now):
                found.append(Found(str(ref), missing=True))
            continue
        lost = lost_fields(there, known.fields.get(ref, {}))
        if lost:
            more = f" and {len(lost) - _MOST_FIELDS} more" if len(lost) > _MOST_FIELDS else ""
            found.append(Found(f"{ref}: {', '.join(str(each) for each in lost[:_MOST_FIELDS])}{more}"))
    return found
