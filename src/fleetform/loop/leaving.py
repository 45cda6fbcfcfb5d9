"""Leaving: of plugins that nobody wants any more, which go now, which hand over to another, and which stay."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from datetime import datetime

from msgspec import structs

from fleetform.engine.plan.records import Removal, Step
from fleetform.loop.image import Extras, Image
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from fleetform.ports.store import Event


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

    So do those on clusters that left the fleet, if they were reached themselves: how to reach them left with them. What
    is on a cluster that can be reached says whose it is: there that is taken off it first.
    """
    records = dict(image.deliveries)
    forgotten: dict[PluginKey, PluginState | None] = {}
    for removal in removals:
        record = records.get(removal.key)
        straight = record is not None and record.destination.kind == "kubernetes"
        left = straight and Ref("Cluster", *removal.key[:2]) not in clusters
        if (
            (left or (removal.retain and not straight))
            and not removal.handed_to
            and records.pop(removal.key, None) is not None
        ):
            event = ended(removal.key, image.plugin(removal.key), now)
            why = f"{removal.key[1]} left the fleet" if left else ""
            extras.events.append(structs.replace(event, event="Retained", reason=why))
            if left:
                # Nothing of it is to be deleted any more, so nobody is asked for that.
                forgotten[removal.key] = None
    if len(records) == len(image.deliveries):
        return image
    return replace(image.with_plugins(forgotten), deliveries=records)


def retained(image: Image, removals: Iterable[Removal]) -> frozenset[PluginKey]:
    """Plugins that nobody wants and whose objects stay on their clusters, which still say whose they are (B22)."""
    found = (each.key for each in removals if each.retain and not each.handed_to)
    records = ((key, image.deliveries.get(key)) for key in found)
    return frozenset(key for key, record in records if record is not None and record.destination.kind == "kubernetes")


def ended(key: PluginKey, state: PluginState, now: datetime, successor: str = "") -> Event:
    version = state.admitted.version if state.admitted is not None else None
    if successor:
        return Event(now, *key, event="HandedOver", version=version, reason=f"{successor} has its release now")
    return Event(now, *key, event="Deleted", version=version)
