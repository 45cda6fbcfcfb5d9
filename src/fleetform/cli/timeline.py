"""A simulation for a terminal of 80 columns: a bar for each stage over time, then what happens when."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from fleetform.cli.text import Painter, table
from fleetform.model.answers.simulation import SimulatedEvent, SimulatedStage, Simulation, StageLevel
from fleetform.pictures.lane import soaking
from fleetform.pictures.rollout_svg import OUTCOME_WORDS, rollout_title, stage_words, title_of, with_clusters
from fleetform.pictures.time_axis import TimeAxis
from fleetform.pictures.words import Clock, count, cut, duration_words
from fleetform.syntax.times import parse_duration

_COLUMNS = 80
_BLOCKS = " ▁▂▃▄▅▆▇█"
_SOAK, _FROZEN, _OPEN, _CLOSED, _FAILED = "▒", "x", "·", " ", "✗"
_COLOURS = {"Completed": "green", "Halted": "red", "RolledBack": "magenta", "Stuck": "yellow"}
_STAGE_COLOURS = {"okt": "green", "bt": "red", "wt": "yellow", "bkt": "magenta", "": None}
_MOST_FAILURES = 3
_FAILURES = ("Failed", "TimedOut")
_MOST_REASONS = 5
# Events, what is said of one and of many clusters, and in which colour.
_TROUBLE = (
    (("Failed",), "fails", "fail", "red"),
    (("TimedOut",), "takes longer than its deadline", "take longer than their deadline", "red"),
    (("SetAside",), "does not answer, is set aside", "do not answer, are set aside", "yellow"),
)


def timeline(simulation: Simulation, paint: Painter, wide: bool = False) -> Iterator[str]:
    simulation, clock = with_clusters(simulation), Clock(simulation.time_zone, simulation.start)
    yield from _headline(simulation, clock, paint)
    if not simulation.stages:
        return
    yield ""
    yield from _bars(simulation, clock, paint)
    yield ""
    if wide:
        yield from _events(simulation, clock)
    else:
        yield from _moments(simulation, clock, paint)
    yield from _left(simulation, paint)


def _headline(simulation: Simulation, clock: Clock, paint: Painter) -> Iterator[str]:
    yield paint(cut(title_of(simulation), _COLUMNS), bold=True)
    if not simulation.stages:
        return
    words = OUTCOME_WORDS[simulation.outcome]
    joined = " after" if simulation.outcome == "Stuck" else ""
    length = duration_words(simulation.end - simulation.start)
    verdict = paint(words, fg=_COLOURS[simulation.outcome], bold=True)
    yield f"{verdict}{joined} {clock.when(simulation.end)} {clock.zone}, {length} from {clock.when(simulation.start)}"


class _Bar(NamedTuple):
    """A stage as a row of cells, each a part of the time that is shown."""

    stage: SimulatedStage
    events: list[SimulatedEvent]
    axis: TimeAxis
    cells: int

    def draw(self) -> str:
        begin, length = self.axis.begin, (self.axis.end - self.axis.begin) / self.cells
        edges = [begin + length * number for number in range(self.cells + 1)]
        failures = self._failures(edges)
        return "".join(
            _FAILED if number in failures else self._cell(edges[number], edges[number + 1])
            for number in range(self.cells)
        )

    def _failures(self, edges: list[datetime]) -> set[int]:
        """The cells that are about failures: that of the first, and those in which no fewer fail than succeed. If all
        were, a few of thousands would hide how far the others are."""
        failed = Counter(bisect(edges, each.at) - 1 for each in self.events if each.event in _FAILURES)
        succeeded = Counter(bisect(edges, each.at) - 1 for each in self.events if each.event == "Succeeded")
        return {cell for cell in failed if cell == min(failed) or failed[cell] >= succeeded[cell]}

    def _cell(self, begin: datetime, end: datetime) -> str:
        stage = self.stage
        level = _level_before(stage.levels, end)
        soak_begin, soak_end = soaking(stage, self.axis.end)
        moving = any(begin <= each.at < end for each in stage.levels)
        if soak_begin is not None and soak_end is not None and soak_begin < end and begin < soak_end and not moving:
            return _SOAK
        if level is not None and level.updated:
            return _BLOCKS[max(1, round(8 * level.updated / max(stage.clusters, 1)))]
        if level is not None and level.in_flight:
            return _BLOCKS[1]
        if any(each.begin < end and begin < each.end for each in stage.freezes):
            return _FROZEN
        return _OPEN if any(each.begin < end and begin < each.end for each in stage.windows) else _CLOSED


def _level_before(levels: list[StageLevel], end: datetime) -> StageLevel | None:
    return next((each for each in reversed(levels) if each.at < end), None)


def _bars(simulation: Simulation, clock: Clock, paint: Painter) -> Iterator[str]:
    begin = min([simulation.start, *(each.start for each in simulation.stages if each.start is not None)])
    shown = max(simulation.end - begin, timedelta(minutes=10))
    names = max(min(max(len(each.name) for each in simulation.stages), 14), 5)
    numbers = max(len(f"{each.clusters:,}") for each in simulation.stages)
    left = 2 + names + 1 + numbers + 2
    said = {id(each): stage_words(each, clock, simulation) for each in simulation.stages}
    right = min(max(len(words) for words, _ in said.values()), 26)
    cells = _COLUMNS - left - right - 2
    # A little more, so that what happens last has a cell.
    axis = TimeAxis(begin, begin + shown * 1.02, 0, cells, clock)
    events: dict[tuple[str, str], list[SimulatedEvent]] = {}
    for event in simulation.events:
        events.setdefault((event.rollout, event.stage), []).append(event)
    yield " " * (left + 1) + _axis_labels(axis, cells)
    rollouts = {each.name: each for each in simulation.rollouts}
    several = len(rollouts) > 1
    for rollout, stages in groupby(simulation.stages, key=lambda each: each.rollout):
        if several:
            yield paint(cut(rollout_title(rollouts[rollout]), _COLUMNS), bold=True)
        for stage in stages:
            words, class_ = said[id(stage)]
            bar = _Bar(stage, events.get((stage.rollout, stage.name), []), axis, cells).draw()
            name, number = cut(stage.name, names).ljust(names), f"{stage.clusters:,}".rjust(numbers)
            text = paint(cut(words, right), fg=_STAGE_COLOURS[class_])
            yield f"  {name} {number} ▕{_painted(bar, paint)}▏{text}".rstrip()
    yield " " * (left + 1) + _legend(simulation)


def _axis_labels(axis: TimeAxis, cells: int) -> str:
    line = ""
    for tick in axis.ticks(room=14):
        at = int(axis.x(tick.at))
        for label in (tick.label, tick.short):
            if label and at >= len(line) + (1 if line else 0) and at + len(label) <= cells:
                line = line.ljust(at) + label
                break
    return line.rstrip()


def _painted(bar: str, paint: Painter) -> str:
    colours = {_FAILED: "red", _FROZEN: "blue", _SOAK: "cyan"}
    return "".join(
        paint("".join(run), fg=colours.get(cell)) if cell in colours else "".join(run) for cell, run in groupby(bar)
    )


def _legend(simulation: Simulation) -> str:
    stages = simulation.stages
    signs = ["▁▄█ updated"]
    if any(each.soak != "0s" for each in stages):
        signs.append(f"{_SOAK} soak")
    if any(each.windows for each in stages):
        signs.append(f"{_OPEN} window open")
    if any(each.freezes for each in stages):
        signs.append(f"{_FROZEN} freeze")
    if any(each.event in _FAILURES for each in simulation.events):
        signs.append(f"{_FAILED} failed")
    return "  ".join(signs)


class _Moment(NamedTuple):
    at: datetime
    order: int
    stage: str
    text: str
    colour: str | None = None


def _moments(simulation: Simulation, clock: Clock, paint: Painter) -> Iterator[str]:
    """What matters of each stage: it starts, who fails, all are updated, it is done."""
    several = len(simulation.rollouts) > 1
    presets = {each.name: each.preset for each in simulation.rollouts}
    events: dict[tuple[str, str], list[SimulatedEvent]] = {}
    for event in simulation.events:
        events.setdefault((event.rollout, event.stage), []).append(event)
    found: list[_Moment] = []
    for order, stage in enumerate(simulation.stages):
        name = f"{presets[stage.rollout]}/{stage.name}" if several else stage.name
        here = events.get((stage.rollout, stage.name), [])
        found += [
            _Moment(at, order, name, text, colour) for at, text, colour in _of_stage(stage, here, simulation, clock)
        ]
    deleted = [each for each in simulation.events if each.reason == "delete" and each.event == "Succeeded"]
    for at, gone in groupby(deleted, key=lambda each: each.at):
        found.append(_Moment(at, len(simulation.stages), "", f"{count(len(list(gone)), 'plugin')} deleted"))
    rows = []
    for moment in sorted(found, key=lambda each: (each.at, each.order)):
        rows.append([clock.when(moment.at), cut(moment.stage, 20), moment.text])
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    for row, moment in zip(rows, sorted(found, key=lambda each: (each.at, each.order)), strict=True):
        text = cut(row[2], _COLUMNS - sum(widths) - 6)
        yield f"  {row[0].ljust(widths[0])}  {row[1].ljust(widths[1])}  {paint(text, fg=moment.colour)}".rstrip()


def _of_stage(
    stage: SimulatedStage, events: list[SimulatedEvent], simulation: Simulation, clock: Clock
) -> Iterator[tuple[datetime, str, str | None]]:
    asked = stage.approvals
    if asked is not None and asked.at is not None and asked.required:
        people = "1 person" if asked.required == 1 else f"{asked.required} people"
        latest = f", latest {clock.when(asked.decide_by)}" if asked.decide_by is not None else ""
        yield asked.at, f"approved by {people}{latest}", None
    started = [each.at for each in events if each.event == "Started"]
    if started:
        yield started[0], f"starts, {count(stage.clusters, 'cluster')}", None
    for names, one, many, colour in _TROUBLE:
        bad = [each for each in events if each.event in names]
        if len(bad) > _MOST_FAILURES:
            yield bad[0].at, f"{len(bad):,} {many}: {bad[0].cluster}, {bad[1].cluster} and others", colour
        else:
            yield from ((each.at, f"{each.cluster} {one}", colour) for each in bad)
    updated = [each.at for each in events if each.event == "Succeeded"]
    soak = parse_duration(stage.soak)
    if updated and stage.end is not None and soak:
        yield updated[-1], f"updated, soaks for {duration_words(soak)}", None
    back = [each.at for each in events if each.event == "RolledBack"]
    if back:
        yield back[-1], f"{count(len(back), 'cluster')} rolled back", "magenta"
    if stage.end is not None and (started or stage.end >= simulation.start):
        yield stage.end, "done", "green"


def _events(simulation: Simulation, clock: Clock) -> Iterator[str]:
    rows = [
        [clock.when(each.at), each.stage or "–", each.event, each.cluster, each.plugin, each.reason]
        for each in simulation.events
    ]
    yield from table(["AT", "STAGE", "EVENT", "CLUSTER", "PLUGIN", "REASON"], rows)


def _left(simulation: Simulation, paint: Painter) -> Iterator[str]:
    """What is not up to date in the end, and what to do."""
    if not simulation.left:
        return
    yield ""
    yield paint("Not up to date in the end", bold=True)
    for left in simulation.left[:_MOST_REASONS]:
        some = ", ".join(left.clusters[:3]) + (
            f" and {len(left.clusters) - 3:,} more" if len(left.clusters) > 3 else ""
        )
        yield f"  {left.state.lower()}: {some}"
        if left.message:
            yield cut(f"    {left.gate}: {left.message}", 200)
        if left.do:
            yield f"    {left.do}"
    if len(simulation.left) > _MOST_REASONS:
        yield f"  and {len(simulation.left) - _MOST_REASONS} more reasons: -o json"
