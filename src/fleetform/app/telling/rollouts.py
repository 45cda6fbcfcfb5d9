"""What is told of rollouts: that one started, was halted, went back or is done. From what is stored before and after.

It is told in the commit that stores the other phase, so that neither can be there without the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from fleetform.app.answering.advice import Words
from fleetform.app.plan import versions
from fleetform.app.telling.notices import MOST_CAUSES, Notice, Subject, cause, digest, notice
from fleetform.engine.plan.failure import ran_before
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.world.stored import Stored
from fleetform.model.answers.notifications import Cause
from fleetform.model.kinds.fleet import Event
from fleetform.model.results.advice import Advice
from fleetform.model.state import PluginState, PluginStates


class _Happened(NamedTuple):
    """What became of a rollout."""

    event: Event
    rollout: Rollout
    how: str


def rollout_notices(before: Stored, after: Stored, states: PluginStates, at: datetime, words: Words) -> list[Notice]:
    """states are those of after. words say what people can do where they are told."""
    if before.rollouts is after.rollouts:
        return []
    happened = [each for earlier, now in _changed(before, after) for each in _events(earlier, now)]
    if not happened:
        return []
    members = _members(states, {each.rollout.name for each in happened})
    return [_told(each, members[each.rollout.name], at, words) for each in happened]


def _changed(before: Stored, after: Stored) -> Iterator[tuple[Rollout | None, Rollout]]:
    for owner, rollouts in after.rollouts.items():
        known = before.rollouts.get(owner, ())
        if rollouts is known:
            continue
        earlier = {each.name: each for each in known}
        for each in rollouts:
            if each != earlier.get(each.name):
                yield earlier.get(each.name), each


def _events(earlier: Rollout | None, now: Rollout) -> Iterator[_Happened]:
    phase = earlier.phase if earlier is not None else None
    if now.started is not None and (earlier is None or earlier.started is None):
        yield _Happened("Started", now, "starts")
    if now.phase == phase and (earlier is not None and earlier.is_open) == now.is_open:
        return
    if now.phase == "Succeeded":
        yield _Happened("Finished", now, "is done")
    elif now.phase == "Aborted":
        yield _Happened("Halted", now, f"was aborted by {now.note}" if now.note else "was aborted")
    elif now.phase == "RollingBack":
        yield _Happened("Halted", now, "is halted and rolls back")
    elif now.phase == "Halted" and now.is_open:
        yield _Happened("Halted", now, "is halted")
    elif now.phase == "Halted" and now.rejected:
        yield _Happened("RolledBack", now, "was rolled back")


def _members(states: PluginStates, rollouts: set[str]) -> Mapping[str, list[tuple[str, PluginState]]]:
    """The clusters that have a place in some rollouts."""
    found: dict[str, list[tuple[str, PluginState]]] = {name: [] for name in rollouts}
    for cluster, on_cluster in states.items():
        for state in on_cluster.values():
            if state.enrolment is not None and state.enrolment.rollout in found:
                found[state.enrolment.rollout].append((cluster.name, state))
    return found


def _told(happened: _Happened, members: list[tuple[str, PluginState]], at: datetime, words: Words) -> Notice:
    event, rollout, how = happened
    places = [state.enrolment for _, state in members if state.enrolment is not None]
    before = [ran_before(rollout, state) for _, state in members]
    subject = Subject(
        rollout.owner,
        rollout.change_id,
        rollout.name,
        versions(each.version if each is not None else None for each in before),
        versions(each.target.version for each in places),
    )
    failed = [name for name, state in members if state.failed is not None]
    total = sum(each.total for each in rollout.stages) or len(members)
    clusters = [name for name, _ in members]
    if event == "Halted" and failed:
        how, clusters = f"{how}: {len(failed):,} of {total:,} clusters failed", failed
    elif event == "Finished" and failed:
        how = f"{how}, but {len(failed):,} of {total:,} clusters failed"
    elif event == "RolledBack":
        clusters = [name for name, state in members if state.attempt is not None and state.attempt.back]
    look = Advice("see-rollout", rollout.owner.organization, rollout.owner, rollout.name)
    do = "" if event in ("Started", "Finished") else words(look)
    # Somebody who retries wants to hear of the next time, too.
    instance = digest(rollout.note) if rollout.note else ""
    return notice(event, subject, at, how, clusters, instance=instance, causes=_causes(members), do=do)


def _causes(members: list[tuple[str, PluginState]]) -> list[Cause]:
    """What clusters failed with, the most frequent first."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, state in members:
        if state.failure:
            found[state.failure].append(name)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return [cause(message, names) for message, names in ordered[:MOST_CAUSES]]
