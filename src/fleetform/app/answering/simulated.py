"""A simulation as an answer: levels of stages over time, versions, and what is left in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from fleetform.app.answering.advice import in_commands
from fleetform.engine.plan.records import Change, Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Event, EventName, Simulation, StageSpan
from fleetform.model.answers import simulation as answers
from fleetform.model.results.decisions import PluginKey
from fleetform.syntax.times import duration_text
from fleetform.syntax.versions import VersionError, parse_version

# What an event makes of a cluster, as far as levels go.
_BECOMES = {
    "Started": "in flight",
    "Succeeded": "updated",
    "Failed": "failed",
    "TimedOut": "failed",
    "SetAside": "set aside",
    "RolledBack": "returned",
}


_ENDED: dict[str, EventName] = {"Healthy": "Succeeded", "Failed": "Failed", "SetAside": "SetAside"}


class Side(NamedTuple):
    """What two sides are called."""

    before: str
    after: str


def simulated(
    played: Simulation, world: World, sides: Side, assumptions: Iterable[tuple[str, str]]
) -> answers.Simulation:
    by_stage: dict[tuple[str, str], list[Event]] = {}
    for each in (*_past(world, played.start), *played.events):
        by_stage.setdefault((each.rollout, each.stage), []).append(each)
    changes = {change.owner: change for change in world.changes}
    return answers.Simulation(
        start=played.start,
        end=played.end,
        outcome=played.outcome,
        from_=sides.before,
        to=sides.after,
        time_zone=_time_zone(played.stages),
        rollouts=[_rollout(each, changes[each.owner], world) for each in played.rollouts],
        stages=[_stage(each, by_stage.get((each.rollout, each.name), [])) for each in played.stages],
        events=[_event(each) for each in played.events],
        left=_left(played.left),
        assumptions=[answers.Assumption(flag=flag, value=value) for flag, value in assumptions],
        diagnostics=[],
    )


def _past(world: World, start: datetime) -> list[Event]:
    """What had happened before, as far as it is stored: the last start of each plugin, and what came of it."""
    found = []
    for key, state in world.states.items():
        attempt, place = state.attempt, state.enrolment
        if attempt is None or place is None or attempt.rollout != place.rollout or attempt.back:
            continue
        where = (key[0], place.rollout, place.stage or "")
        found.append(Event(attempt.started, key[1], key[2], "Started", "", *where))
        ended = _ENDED.get(attempt.phase)
        if ended is not None:
            found.append(Event(attempt.since, key[1], key[2], ended, "", *where))
    return sorted((each for each in found if each.at <= start), key=lambda each: each.at)


def _event(event: Event) -> answers.SimulatedEvent:
    return answers.SimulatedEvent(
        at=event.at,
        organization=event.organization,
        cluster=event.cluster,
        plugin=event.plugin,
        event=event.event,
        reason=event.reason,
        rollout=event.rollout,
        stage=event.stage,
    )


def _time_zone(stages: Sequence[StageSpan]) -> str:
    """The clock that all windows follow; UTC if they follow several, or there is none."""
    zones = {zone for stage in stages for zone in stage.zones}
    return zones.pop() if len(zones) == 1 else "UTC"


def _rollout(rollout: Rollout, change: Change, world: World) -> answers.SimulatedRollout:
    before, after, definition = set(), set(), ""
    for candidate in change.candidates:
        state = world.states.get(candidate.key)
        admitted = state.admitted if state is not None else None
        if admitted is not None and admitted.input_hash == candidate.wanted.input_hash:
            continue
        definition = candidate.wanted.definition or definition
        after.add(candidate.wanted.version or "unknown")
        if admitted is not None:
            before.add(admitted.version or "unknown")
    return answers.SimulatedRollout(
        name=rollout.name,
        organization=rollout.owner.organization,
        preset=rollout.owner.name,
        change_id=rollout.change_id,
        definition=definition,
        from_=_in_order(before),
        to=_in_order(after),
        phase=rollout.phase,
        clusters=sum(stage.total for stage in rollout.stages),
    )


def _in_order(versions: Iterable[str]) -> list[str]:
    """Versions from low to high, after what nobody can read."""
    readable: list[str] = []
    others: list[str] = []
    for each in sorted(versions):
        try:
            parse_version(each)
            readable.append(each)
        except VersionError:
            others.append(each)
    return others + sorted(readable, key=parse_version)


def _stage(span: StageSpan, events: list[Event]) -> answers.SimulatedStage:
    levels, counts = _levels(events)
    rule = span.rule
    asked = rule.approvals
    return answers.SimulatedStage(
        rollout=span.rollout,
        name=span.name,
        start=span.start,
        end=span.end,
        clusters=span.clusters,
        updated=counts["updated"],
        failed=counts["failed"],
        set_aside=counts["set aside"],
        rolled_back=counts["returned"],
        soak=duration_text(rule.soak),
        wait=duration_text(rule.wait),
        approvals=answers.SimulatedApprovals(required=asked.required, at=span.approved) if asked is not None else None,
        levels=levels,
        windows=[answers.TimeSpan(begin=each.begin, end=each.end) for each in span.openings],
        freezes=[
            answers.FreezeSpan(begin=each.begin, end=each.end, name=each.name, hard=each.hard) for each in span.freezes
        ],
    )


def _levels(events: list[Event]) -> tuple[list[answers.StageLevel], Counter[str]]:
    """How many clusters are what, from each time on at which that changes; and how many are what in the end."""
    counts: Counter[str] = Counter()
    known: dict[PluginKey, str] = {}
    levels: list[answers.StageLevel] = []
    for event in events:
        becomes = _BECOMES.get(event.event)
        if becomes is None:
            continue
        key = (event.organization, event.cluster, event.plugin)
        if key in known:
            counts[known[key]] -= 1
        counts[becomes] += 1
        known[key] = becomes
        level = answers.StageLevel(
            at=event.at, updated=counts["updated"], in_flight=counts["in flight"], failed=counts["failed"]
        )
        if levels and levels[-1].at == event.at:
            levels[-1] = level
        else:
            levels.append(level)
    return levels, counts


def _left(steps: Iterable[Step]) -> list[answers.LeftWaiting]:
    """What is not up to date in the end, together where state and first reason are the same."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for step in steps:
        reason = step.reasons[0] if step.reasons else None
        gate, message, do = "", "", ""
        if reason is not None:
            gate, message, do = reason.gate, reason.message, in_commands(reason.do)
        found.setdefault((step.state, gate, message, do), []).append(step.key[1])
    return [
        answers.LeftWaiting(state=state, gate=gate, message=message, do=do, clusters=sorted(set(clusters)))
        for (state, gate, message, do), clusters in sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    ]
