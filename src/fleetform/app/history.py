"""history: what a cluster ran at a time, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fleetform.app.errors import NotFoundError
from fleetform.model.answers.history import History, HistoryEvent, RunningThen
from fleetform.ports.store import Event, StoreReader
from fleetform.syntax.times import time_text

# From these on something else is on the cluster.
_BRINGS = frozenset({"Started", "RolledBack"})
# From these on nothing is there, or nobody looks after what is.
_ENDS = frozenset({"Deleted", "HandedOver", "Retained"})
_JUDGES = frozenset({"Healthy", "Failed"})


def history(
    store: StoreReader, organization: str, cluster: str, plugin: str | None, at: datetime, most: int = 0
) -> History:
    """What happened on a cluster up to a time. NotFoundError if nothing ever did."""
    events = store.events(organization, cluster, plugin, at)
    if not events:
        later = store.events(organization, cluster, plugin)
        raise nothing_known(organization, cluster, plugin, later[-1].at if later else None)
    return History(
        cluster=cluster,
        at=time_text(at),
        running=_running(events),
        items=[_item(each) for each in events[: most or None]],
    )


def nothing_known(organization: str, cluster: str, plugin: str | None, first: datetime | None = None) -> NotFoundError:
    """first is when something happened there for the first time, if anything ever did."""
    what = f"plugin {plugin} on {cluster}" if plugin is not None else f"cluster {cluster}"
    message = f"nothing is known of {what} in organization {organization}"
    if first is not None:
        return NotFoundError(f"{message} up to then", f"the first that happened there was at {time_text(first)}")
    return NotFoundError(message, "check the names, the organization (-n) and --at; `get clusters` lists what there is")


def organizations_with(store: StoreReader, cluster: str) -> list[str]:
    """The organizations that have a cluster of that name; those that had one, where none has."""
    stamps = [each.ref for each in store.list("Stamp").records]
    named = f"Cluster/{cluster}"
    has = {ref.organization for ref in stamps if ref.name == named}
    return sorted(
        has or {name for name in {ref.organization for ref in stamps} if store.events(name, cluster, limit=1)}
    )


def _running(events: Sequence[Event]) -> list[RunningThen]:
    """The last thing that was brought to each plugin and not removed since; events are the latest first."""
    found: dict[str, RunningThen] = {}
    health: dict[str, str] = {}
    gone: set[str] = set()
    for each in events:
        name = each.plugin
        if name in found or name in gone:
            continue
        if each.event in _ENDS:
            gone.add(name)
        elif each.event in _JUDGES:
            health.setdefault(name, each.event)
        elif each.event in _BRINGS:
            found[name] = RunningThen(
                cluster=each.cluster,
                plugin=name,
                version=each.version,
                since=time_text(each.at),
                health=health.get(name, "Unknown"),
                rollout=each.rollout,
                change_id=each.change_id,
                revision=each.revision,
            )
    return [found[name] for name in sorted(found)]


def _item(event: Event) -> HistoryEvent:
    return HistoryEvent(
        at=time_text(event.at),
        cluster=event.cluster,
        plugin=event.plugin,
        event=event.event,
        version=event.version,
        input_hash=event.input_hash,
        rollout=event.rollout,
        change_id=event.change_id,
        reason=event.reason,
        revision=event.revision,
    )
