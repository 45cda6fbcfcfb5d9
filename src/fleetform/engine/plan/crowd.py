"""Crowds: members of a rollout that nothing tells apart but their stage, their calendar and their turn.

They are counted and not planned one by one, so that a plan of a large fleet costs what its few particular clusters do.
Everything that decides about them is the planner's: tallies, gates of stages, calendars, slots. Only simulations that
nobody looks into have crowds (compress): a crowd has no states, and so nothing to store or to show.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct, structs

from fleetform.engine.plan.stages import DONE, SOAKING, StageRule, Standing
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.model.results.decisions import PluginKey


class Waiting(Struct, frozen=True):
    """Members of one stage that share a calendar, by their turn: each its rank among all plugins, and its cluster."""

    calendar: Calendar
    first_install: bool
    takes: timedelta
    members: tuple[tuple[int, str], ...]


class CrowdStage(Struct, frozen=True):
    """A stage's crowd. flights: how many come to their end when. healthy: how many have been so since when."""

    waiting: tuple[Waiting, ...] = ()
    flights: tuple[tuple[datetime, int], ...] = ()
    healthy: tuple[tuple[datetime, int], ...] = ()
    failed: int = 0

    @property
    def left(self) -> int:
        return sum([len(each.members) for each in self.waiting])

    @property
    def flying(self) -> int:
        return sum([count for _, count in self.flights])

    @property
    def members(self) -> int:
        return self.left + self.flying + self.failed + sum([count for _, count in self.healthy])

    def soaks(self, rule: StageRule, emergency: bool, now: datetime) -> tuple[dict[Standing, int], datetime | None]:
        """How many are done and how many soak, and until when the last."""
        soak = timedelta(0) if emergency else rule.soak
        soaking = [(since, count) for since, count in self.healthy if soak and since + soak > now]
        still = sum([count for _, count in soaking])
        all_ = sum([count for _, count in self.healthy])
        last = max([since for since, _ in soaking], default=None)
        return {DONE: all_ - still, SOAKING: still}, last + soak if last is not None else None

    def landed(self, now: datetime) -> CrowdStage:
        """What was to come to its end by now has, and is healthy."""
        down = sum([count for ends, count in self.flights if ends <= now])
        if not down:
            return self
        left = tuple([each for each in self.flights if each[0] > now])
        return structs.replace(self, flights=left, healthy=(*self.healthy, (now, down)))

    def started(self, taken: dict[int, set[int]], now: datetime) -> CrowdStage:
        """taken: the ranks that start now, by the place of those that they waited with."""
        waiting = list(self.waiting)
        flights = dict(self.flights)
        for place, ranks in taken.items():
            here = waiting[place]
            count = len(ranks)
            left = here.members[count:]
            if here.members[count - 1][0] != max(ranks):
                # A window spreads starts: those who start are not the first ones.
                left = tuple([each for each in here.members if each[0] not in ranks])
            waiting[place] = structs.replace(here, members=left)
            flights[now + here.takes] = flights.get(now + here.takes, 0) + count
        kept = tuple([each for each in waiting if each.members])
        return structs.replace(self, waiting=kept, flights=tuple(sorted(flights.items())))


class Crowd(Struct, frozen=True):
    """The crowds of a rollout's stages, in their order. ranks are the turns of the plugins that are planned singly."""

    stages: tuple[CrowdStage, ...]
    ranks: dict[PluginKey, int]

    def landed(self, now: datetime) -> Crowd:
        return structs.replace(self, stages=tuple([each.landed(now) for each in self.stages]))

    @property
    def next_landing(self) -> datetime | None:
        return min([stage.flights[0][0] for stage in self.stages if stage.flights], default=None)
