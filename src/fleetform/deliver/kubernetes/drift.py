"""What differs on a cluster from what was applied there, from metadata alone: a list for each kind, whatever the number
of objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fleetform.clusters.fields import lost_fields
from fleetform.clusters.inventory import Known
from fleetform.clusters.listing import Live, inventories, live_objects, wanted
from fleetform.clusters.work import Waiting
from fleetform.outside.kubernetes.client import Client

# A field that somebody took over again and again would fill a page.
_MOST_FIELDS = 5


class Found(NamedTuple):
    """Something that is not as it was applied: an object that is missing, or fields of one and who has them now."""

    text: str
    missing: bool = False


def look_for_drift(client: Client, namespace: str) -> Waiting[Mapping[str, Sequence[Found]]]:
    """What each plugin of the cluster has that is not as it was applied, by the plugins' labels."""
    yield from ()
    known = inventories(client, None, [namespace])
    live = live_objects(client, known)
    # What is being applied is not drift.
    return {label: _found(each, live) if not each.applying else () for label, each in known.items()}


def _found(known: Known, live: Live) -> list[Found]:
    found = []
    for ref, _ in wanted(known):
        if ref in live.untold:
            continue
        there = live.there.get(ref)
        if there is None:
            found.append(Found(str(ref), missing=True))
            continue
        lost = lost_fields(there, known.fields.get(ref, {}))
        if lost:
            more = f" and {len(lost) - _MOST_FIELDS} more" if len(lost) > _MOST_FIELDS else ""
            found.append(Found(f"{ref}: {', '.join(str(each) for each in lost[:_MOST_FIELDS])}{more}"))
    return found
