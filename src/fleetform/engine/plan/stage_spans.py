"""Stage spans: a simulation stage by stage, with the windows and freezes in which it takes place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from fleetform.engine.plan.records import Change
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import StageSpan
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.spans import freezes_between, openings_between
from fleetform.model.objects import Ref

# A rollout and one of its stages.
StageKey = tuple[str, str]


def stage_spans(
    rollouts: Iterable[Rollout],
    changes: Iterable[Change],
    start: datetime,
    end: datetime,
    approved: Mapping[StageKey, datetime],
) -> Iterator[StageSpan]:
    """The stages of rollouts in order. Windows and freezes are those of a little more than the time that is shown."""
    until = end + max((end - start) / 10, timedelta(hours=1))
    calendars: dict[tuple[Ref, str], dict[int, Calendar]] = {}
    for change in changes:
        for each in change.candidates:
            calendars.setdefault((change.owner, each.stage or ""), {})[id(each.calendar)] = each.calendar
    for rollout in rollouts:
        for stage, rule in zip(rollout.stages, rollout.policy.stages, strict=True):
            here = calendars.get((rollout.owner, stage.name), {}).values()
            key = (rollout.name, stage.name)
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
