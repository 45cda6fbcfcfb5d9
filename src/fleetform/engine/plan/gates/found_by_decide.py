"""Validity: what keeps a plugin from its target whatever the time, as resolve found it; and failed renders (B2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fleetform.engine.plan.records import Candidate, Reason
from fleetform.model.results.advice import Advice
from fleetform.model.state import Deployed, PluginState
from fleetform.syntax.hashing import as_written

_MOST_NAMED = 3


def validity(candidate: Candidate, now: datetime) -> tuple[Reason, ...]:
    """A breaking version waits for consent until it is forced (S56); nothing else of this is a question of time."""
    forced = "ForcedButBlocked: its version has ended, and " if candidate.forced else ""
    found = []
    for gate in candidate.gates:
        until = candidate.forced_at if gate.gate == "breaking" else None
        if until is None or now < until:
            found.append(Reason(gate.gate, forced + gate.message, gate.do, until, gate.ref))
    return tuple(found)


def is_wanted(candidate: Candidate, target: str | None) -> bool:
    """Whether gates that were found are those of a target: they are judged for what is wanted now alone.

    That is the same while a value of the cluster is read, and when it is another (B16).
    """
    return as_written(target) == as_written(candidate.wanted.input_hash)


def block_of(candidate: Candidate, target: Deployed, now: datetime) -> str:
    """The gate that keeps a plugin from its target, to be remembered with that; "" if there is none."""
    found = validity(candidate, now) if candidate.gates and is_wanted(candidate, target.input_hash) else ()
    return found[0].gate if found else ""


def remembered_block(
    candidate: Candidate, progress: PluginState, target: str | None, under_way: Sequence[str]
) -> Reason | None:
    """What kept a plugin from the target of its rollout when that was last wanted: something newer is by now (B8).

    under_way are the clusters on which that rollout is at work: they come first.
    """
    place = progress.enrolment
    if place is None or not place.blocked or place.target.input_hash != target:
        return None
    message = f"{place.target.version} was blocked on {candidate.key[1]} when a newer change came"
    do = "wait: the newer change takes its place once no other cluster of its stage may still be changed"
    if under_way:
        named = ", ".join(under_way[:_MOST_NAMED])
        more = f" and {len(under_way) - _MOST_NAMED:,} more" if len(under_way) > _MOST_NAMED else ""
        be = "is" if len(under_way) == 1 else "are"
        do = f"wait until {named}{more} {be} done: then the newer change takes its place"
    return Reason(place.blocked, message, do)


def render_failed(candidate: Candidate, progress: PluginState, target: str | None) -> Reason | None:
    if progress.render_failed is None or progress.render_failed != target:
        return None
    organization, cluster, plugin = candidate.key
    why = f": {progress.render_failure}" if progress.render_failure else ""
    do = Advice("see-render", organization, cluster=cluster, plugin=plugin)
    return Reason("render-failed", f"what {plugin} is made of now cannot be rendered{why}", do)
