"""Stage spans: a simulation stage by stage, with the windows and freezes in which it takes place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from fleetform.engine.plan.records import Change
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import StageSpan
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.spans import freezes_between, openings_between
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState

# A rollout and one of its stages.
StageKey = tuple[str, str]


def stage_spans(
    rollouts: Iterable[Rollout],
    changes: Iterable[Change],
    states: Mapping[PluginKey, PluginState],
    start: datetime,
    end: datetime,
    approved: Mapping[StageKey, datetime],
) -> Iterator[StageSpan]:
    """The stages of rollouts in order. Windows and freezes are those of a little more than the time that is shown."""
    until = end + max((end - start) / 10, timedelta(hours=1))
    calendars: dict[StageKey, dict[int, Calendar]] = {}
    for change in changes:
        last = change.rollout
        for each in change.candidates:
            place = states.get(each.key, UNKNOWN).enrolment
            if place is not None:
                calendars.setdefault((place.rollout, place.stage or ""), {})[id(each.calendar)] = each.calendar
            elif last is not None and last.started is None:
                # Nothing has started: its members are not fixed yet.
                calendars.setdefault((last.name, each.stage or ""), {})[id(each.calendar)] = each.calendar
    for rollout in rollouts:
        for stage, rule in zip(rollout.stages, rollout.policy.stages, strict=True):
            key = (rollout.name, stage.name)
            here = calendars.get(key, {}).values()
            yield StageSpan(
                *key,
                stage.started,
                stage.done,
                rule,
                stage.total,
                openings_between(here, start, until),
                freezes_between(here, start, until),
                approved.get(key),
                tuple(sorted({window.zone for each in here for window in each.allow})),
            )
