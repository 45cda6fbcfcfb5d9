"""Crowd starts: which members of a crowd start in a plan. Each takes its turn between those that are planned singly."""

from __future__ import annotations

from msgspec import structs

from fleetform.engine.plan.crowd import Crowd, Waiting
from fleetform.engine.plan.gates.chain import shared_reasons, spread_start, spreads
from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.stages import APPLYING, FAILED, WAITING
from fleetform.engine.plan.view import View
from fleetform.model.results.decisions import PluginKey


def count_crowd(view: View, crowd: Crowd) -> None:
    """The tallies of the stages count the crowd, too."""
    for stage, here in zip(view.stages, crowd.stages, strict=True):
        tally = stage.tally
        tally.counts[WAITING] += here.left
        tally.counts[APPLYING] += here.flying
        tally.counts[FAILED] += here.failed
        tally.final_failures += here.failed
        counts, soaked_at = here.soaks(stage.rule, view.emergency, view.now)
        for standing, count in counts.items():
            tally.counts[standing] += count
        if soaked_at is not None and (tally.soaked_at is None or soaked_at > tally.soaked_at):
            tally.soaked_at = soaked_at


class CrowdStarts:
    """One plan's starts. held: what holds the members of each stage."""

    def __init__(self, view: View, crowd: Crowd, held: list[tuple[Reason, ...]]) -> None:
        self._view, self._crowd = view, crowd
        self._ready: list[list[tuple[int, int]]] = []
        self._taken: list[dict[int, set[int]]] = [{} for _ in crowd.stages]
        for position, here in enumerate(crowd.stages):
            ready: list[tuple[int, int]] = []
            for place, waiting in enumerate(here.waiting):
                free = max(view.stages[position].free, 0)
                ready += [(rank, place) for rank in self._may_start(waiting, held[position], free)]
            self._ready.append(sorted(ready, reverse=True))

    def take_before(self, position: int, key: PluginKey) -> None:
        """Gives slots of a stage to those whose turn is before that of a plugin that is planned singly."""
        if position >= 0 and self._ready[position]:
            self._take(position, self._crowd.ranks[key])

    def take_all(self) -> None:
        for position in range(len(self._ready)):
            self._take(position)

    def _take(self, position: int, before: int | None = None) -> None:
        stage, ready = self._view.stages[position], self._ready[position]
        while ready and stage.free > 0 and (before is None or ready[-1][0] < before):
            rank, place = ready.pop()
            self._taken[position].setdefault(place, set()).add(rank)
            stage.starts += 1
            stage.first_starts += 1

    @property
    def after(self) -> Crowd:
        if not any(self._taken):
            return self._crowd
        pairs = zip(self._crowd.stages, self._taken, strict=True)
        stages = tuple([here.started(taken, self._view.now) if taken else here for here, taken in pairs])
        return structs.replace(self._crowd, stages=stages)

    def _may_start(self, waiting: Waiting, held: tuple[Reason, ...], free: int) -> list[int]:
        """The first that nothing holds, by rank, as many as are free; and a look at when time opens others' last gate.

        Those whose start a window spreads are told apart only while it does.
        """
        view, calendar, first_install = self._view, waiting.calendar, waiting.first_install
        today = view.almanac.today(calendar, view.now)
        reasons = held + shared_reasons(view, today, calendar, first_install)
        if reasons:
            untils = [reason.until for reason in reasons if reason.until is not None]
            if len(untils) == len(reasons):
                view.look_at(max(untils))
            return []
        if not spreads(view, today, calendar, first_install):
            return [rank for rank, _ in waiting.members[:free]]
        starts = [(spread_start(view, today, cluster), rank) for rank, cluster in waiting.members]
        later = [each for each, _ in starts if each > view.now]
        if later:
            view.look_at(min(later))
        return [rank for each, rank in starts if each <= view.now][:free]
