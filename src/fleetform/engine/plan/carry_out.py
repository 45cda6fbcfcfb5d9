"""Carry out: what a plan asks to be stored, in an order in which stopping anywhere breaks no law.

Places of members come first, then rollouts, then starts: a rollout that is stored as started has all its members, and
whatever was left out is planned again from what was stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.records import Change, Plan, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState


class Write(NamedTuple):
    """One record to be stored: a plugin's progress, or a rollout. A start is one that must be rendered first (B2)."""

    key: PluginKey | None = None
    progress: PluginState | None = None
    rollout: Rollout | None = None
    is_start: bool = False


def writes(found: Plan) -> list[Write]:
    states = found.world.states
    places: list[Write] = []
    starts: list[Write] = []
    for owner in found.owners:
        for step in owner.moves:
            stored = states.get(step.key, UNKNOWN)
            if not step.is_start:
                places.append(Write(step.key, step.progress))
                continue
            starts.append(Write(step.key, step.progress, is_start=True))
            if step.progress.enrolment != stored.enrolment:
                places.append(Write(step.key, structs.replace(stored, enrolment=step.progress.enrolment)))
    rollouts = [each for owner in found.owners for each in (owner.replaced, owner.rollout)]
    known = {change.owner: change.rollout for change in found.world.changes}
    changed = [Write(rollout=each) for each in rollouts if each is not None and each != known.get(each.owner)]
    return [*places, *changed, *starts]


def after(world: World, done: list[Write]) -> World:
    """The world once these were stored."""
    states = dict(world.states)
    rollouts: dict[Ref, Rollout] = {}
    for write in done:
        if write.key is not None and write.progress is not None:
            states[write.key] = write.progress
        if write.rollout is not None:
            rollouts[write.rollout.owner] = write.rollout
    return structs.replace(world, states=states, changes=with_rollouts(world.changes, rollouts))


def with_rollouts(changes: tuple[Change, ...], rollouts: Mapping[Ref, Rollout]) -> tuple[Change, ...]:
    """Changes whose last rollouts are these; a name that was used is not used again."""
    return tuple(_with(change, rollouts.get(change.owner)) for change in changes)


def _with(change: Change, rollout: Rollout | None) -> Change:
    if rollout is None or rollout is change.rollout:
        return change
    last = change.rollout
    if last is None or last.name == rollout.name:
        return structs.replace(change, rollout=rollout)
    gone_back = (*change.gone_back, last) if last.went_back else change.gone_back
    unfinished = change.unfinished | {last.name} if last.is_unfinished else change.unfinished
    used = change.used | {last.name}
    return structs.replace(change, rollout=rollout, used=used, gone_back=gone_back, unfinished=unfinished)
