"""Lane: one stage over time: its level, soak, failures, approvals, windows and freezes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from fleetform.model.answers.simulation import SimulatedEvent, SimulatedStage, StageLevel
from fleetform.pictures.markup import Markup, element, joined
from fleetform.pictures.theme import APPROVAL, BACK, FAILED, SET_ASIDE
from fleetform.pictures.time_axis import TimeAxis
from fleetform.pictures.words import count, duration_words
from fleetform.syntax.times import parse_duration

# Wide enough for the fonts that machines without better ones have.
_CHARACTER = 7.1
_GATHER = 22.0


class Lane(NamedTuple):
    """A stage and where it is drawn: top and bottom are those of a level of nothing and of all clusters."""

    stage: SimulatedStage
    events: Sequence[SimulatedEvent]
    top: float
    bottom: float
    axis: TimeAxis
    now: datetime
    prefix: str

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def y(self, clusters: int) -> float:
        return self.bottom - self.height * clusters / max(self.stage.clusters, 1)


def shades(lane: Lane, above: float) -> Markup:
    """Windows behind everything, from above the lane to its foot."""
    x = lane.axis.x
    height = lane.bottom - above
    return joined(
        *(
            element(
                "rect", class_="w", x=x(each.begin), y=above, width=_wide(x(each.end) - x(each.begin)), height=height
            )
            for each in lane.stage.windows
            if x(each.end) > x(each.begin)
        )
    )


def crosses(lane: Lane, above: float) -> Markup:
    """Freezes over everything: nothing starts there."""
    x, drawn = lane.axis.x, []
    for each in lane.stage.freezes:
        if each.begin < lane.axis.end and x(each.end) > x(each.begin):
            left, wide = x(each.begin), _wide(x(each.end) - x(each.begin))
            opacity = None if each.hard else ".6"
            fill = f"url(#{lane.prefix}hz)"
            height = lane.bottom - above
            drawn.append(element("rect", x=left, y=above, width=wide, height=height, fill=fill, opacity=opacity))
    return joined(*drawn)


def level(lane: Lane) -> Markup:
    """How many clusters are updated, and above them how many are in flight and have failed."""
    points = _thinned(lane)
    if not points:
        return Markup("")
    # What happened before the simulation began is known, the rest is a forecast.
    past = [each for each in points if each.at <= lane.now]
    coming = [*past[-1:], *(each for each in points if each.at > lane.now)]
    drawn = []
    active = _last_move(points)
    for known, area, line in ((past, "p", "pl"), (coming, "f", "fl")):
        if not known or (known is past and past[0].at == lane.now):
            continue
        until = lane.now if known is past else lane.axis.end
        drawn.append(_area(lane, known, [each.updated for each in known], None, until, area, ".16"))
        if active is not None and known[0].at < active:
            cut = [each for each in known if each.at <= active]
            drawn.append(_area(lane, cut, [each.updated for each in cut], None, min(active, until), area, ".4"))
        drawn.append(_line(lane, known, until, line))
    flying = [each.updated + each.in_flight for each in points]
    drawn.append(_area(lane, points, flying, [each.updated for each in points], lane.axis.end, "y", ".45"))
    failed = [each.updated + each.in_flight + each.failed for each in points]
    drawn.append(_area(lane, points, failed, flying, lane.axis.end, "x", ".3"))
    return joined(*drawn)


def _thinned(lane: Lane) -> list[StageLevel]:
    """Levels that can be told apart: the last of each half pixel."""
    found: list[StageLevel] = []
    for each in lane.stage.levels:
        if found and int(lane.axis.x(each.at) * 2) == int(lane.axis.x(found[-1].at) * 2) and len(found) > 1:
            found[-1] = each
        else:
            found.append(each)
    return found


def _last_move(points: list[StageLevel]) -> datetime | None:
    moves = [b.at for a, b in pairwise(points) if (a.updated, a.failed) != (b.updated, b.failed)]
    return moves[-1] if moves else None


def _area(
    lane: Lane,
    points: list[StageLevel],
    upper: list[int],
    lower: list[int] | None,
    until: datetime,
    class_: str,
    opacity: str,
) -> Markup:
    """What lies between two levels, in steps, as far as there is anything between them."""
    floor = lower or [0] * len(points)
    if all(high == low for high, low in zip(upper, floor, strict=True)):
        return Markup("")
    x, end = lane.axis.x, lane.axis.x(until)
    path = [f"M{x(points[0].at):.1f} {lane.y(upper[0]):.1f}"]
    for each, high in zip(points[1:], upper[1:], strict=True):
        path.append(f"H{x(each.at):.1f}V{lane.y(high):.1f}")
    path.append(f"H{end:.1f}V{lane.y(floor[-1]):.1f}")
    for each, low in zip(reversed(points), [*reversed(floor[:-1]), floor[0]], strict=True):
        path.append(f"H{x(each.at):.1f}V{lane.y(low):.1f}")
    return element("path", d="".join(path) + "z", class_=class_, opacity=opacity)


def _line(lane: Lane, points: list[StageLevel], until: datetime, class_: str) -> Markup:
    x = lane.axis.x
    path = [f"M{x(points[0].at):.1f} {lane.y(points[0].updated):.1f}"]
    path += [f"H{x(each.at):.1f}V{lane.y(each.updated):.1f}" for each in points[1:]]
    return element("path", d="".join(path) + f"H{x(until):.1f}", class_=class_)


def soaks(lane: Lane) -> Markup:
    """Hatched from the last update until all of the stage has soaked."""
    begin, end = soaking(lane.stage, lane.axis.end)
    if begin is None or end is None or end <= begin:
        return Markup("")
    x, top = lane.axis.x, lane.y(lane.stage.updated)
    left, right = x(begin), x(end)
    wide = _wide(right - left)
    drawn = [element("rect", x=left, y=top, width=wide, height=lane.bottom - top, fill=f"url(#{lane.prefix}hs)")]
    if lane.stage.end is not None:
        drawn.append(element("path", d=f"M{right:.1f} {top:.1f}V{lane.bottom:.1f}", class_="e"))
    text = f"soak {duration_words(parse_duration(lane.stage.soak))}"
    if fits(text, wide - 8) and lane.bottom - top > 16:
        middle = (top + lane.bottom) / 2 + 4
        drawn.append(element("text", text, class_="l", x=(left + right) / 2, y=middle, text_anchor="middle"))
    return joined(*drawn)


def soaking(stage: SimulatedStage, edge: datetime) -> tuple[datetime | None, datetime | None]:
    """From the last update until the stage is done; to the edge of the picture if it is not."""
    moves = [b.at for a, b in pairwise(stage.levels) if b.updated > a.updated]
    if parse_duration(stage.soak).total_seconds() == 0 or not moves:
        return None, None
    if stage.end is None and (stage.failed or stage.rolled_back):
        # It stops there: nothing waits for the end of the soak.
        return None, None
    return moves[-1], stage.end if stage.end is not None else min(moves[-1] + parse_duration(stage.soak), edge)


def halts(lane: Lane) -> Markup:
    """Where a stage ends because too many have failed."""
    failed = [each.at for each in lane.events if each.event in ("Failed", "TimedOut")]
    if lane.stage.end is not None or not failed:
        return Markup("")
    x = lane.axis.x(failed[-1])
    return element("path", d=f"M{x:.1f} {lane.top:.1f}V{lane.bottom:.1f}", class_="xl")


class Mark(NamedTuple):
    """Events of one kind that are too close to be told apart: where, and how many."""

    x: float
    number: int


def gathered(positions: Iterable[float]) -> Iterator[Mark]:
    first: float | None = None
    number = 0
    for x in sorted(positions):
        if first is not None and x - first > _GATHER:
            yield Mark(first, number)
            first, number = None, 0
        first = x if first is None else first
        number += 1
    if first is not None:
        yield Mark(first, number)


_MARKS = (
    (("Failed", "TimedOut"), FAILED, "bt", "failed"),
    (("SetAside",), SET_ASIDE, "ut", "set aside, unreachable"),
    (("RolledBack",), BACK, "bkt", "rolled back"),
)


def marks(lane: Lane) -> Markup:
    """Failures, clusters set aside and ways back, above the lane; several at one place with their number."""
    drawn = []
    taken: list[float] = []
    for names, glyph, class_, what in _MARKS:
        here = [lane.axis.x(each.at) for each in lane.events if each.event in names]
        for mark in gathered(here):
            left = mark.x - 6
            while any(abs(left - other) < _GATHER for other in taken):
                left += _GATHER
            taken.append(left)
            number = element("text", f"{mark.number:,}", class_=f"m b {class_}", x=15, y=10.5)
            shown = joined(glyph, number) if mark.number > 1 else glyph
            title = element("title", f"{count(mark.number, 'cluster')} {what}")
            drawn.append(
                element("g", title, shown, transform=f"translate({left:.1f} {lane.top - 14:.1f})", class_="mark")
            )
    return joined(*drawn)


def approvals(lane: Lane) -> Markup:
    """A key where people are taken to approve, with how many."""
    asked = lane.stage.approvals
    if asked is None or asked.at is None or asked.required == 0:
        return Markup("")
    x, y = lane.axis.x(asked.at), lane.top + lane.height / 2 - 6
    left = max(x - 24, lane.axis.left + 6)
    drawn = [
        element("g", element("title", _asked(asked.required)), APPROVAL, transform=f"translate({left:.1f} {y:.1f})")
    ]
    clock, latest = lane.axis.clock, asked.decide_by
    lines = [f"{count(asked.required, 'approval')} {clock.when(asked.at)}"]
    if latest is not None:
        drawn.append(_latest(lane, latest))
        lines = [f"{count(asked.required, 'approval')} by {clock.when(latest)}"]
        costs = asked.later_costs
        ends = f"ends {duration_words(parse_duration(costs))} later" if costs is not None else "does not end"
        lines.append(f"given later, it {ends}")
    begins = lane.axis.x(lane.stage.start) if lane.stage.start is not None else lane.axis.right
    for number, (text, class_) in enumerate(zip(lines, ("c at b", "c"), strict=False)):
        line = y + 10 + 16 * number - 8 * (len(lines) - 1)
        if all(fits(each, left - 14 - lane.axis.left) for each in lines):
            drawn.append(element("text", text, class_=class_, x=left - 10, y=line, text_anchor="end"))
        elif all(fits(each, begins - left - 30) for each in lines):
            drawn.append(element("text", text, class_=class_, x=left + 22, y=line))
    return joined(*drawn)


def _latest(lane: Lane, at: datetime) -> Markup:
    """Until when an approval can wait."""
    x, y = lane.axis.x(at), lane.top
    mark = element("path", d=f"M{x - 4.5:.1f} {y - 6:.1f}h9l-4.5 6z", class_="ka")
    return joined(element("path", d=f"M{x:.1f} {y:.1f}V{lane.bottom:.1f}", class_="ki"), mark)


def _asked(required: int) -> str:
    return f"needs {count(required, 'approval')}"


def times(lane: Lane) -> Markup:
    """When it starts and ends, beside what is drawn, where there is room."""
    stage, axis = lane.stage, lane.axis
    if stage.start is None:
        return Markup("")
    end = stage.end or (stage.levels[-1].at if stage.levels else stage.start)
    text = axis.clock.span(stage.start, end) if end > stage.start else axis.clock.when(stage.start)
    before = axis.x(stage.start) - 8
    after = axis.x(end) + 8
    y = lane.top + lane.height / 2 + 4
    asked = stage.approvals is not None and stage.approvals.at is not None and stage.approvals.required > 0
    if fits(text, axis.right - after):
        return element("text", text, class_="c", x=after, y=y)
    if not asked and fits(text, before - axis.left):
        return element("text", text, class_="c", x=before, y=y, text_anchor="end")
    return Markup("")


def fits(text: str, room: float) -> bool:
    return len(text) * _CHARACTER <= room


def _wide(width: float) -> float:
    """Wide enough to be seen."""
    return max(width, 1.0)
