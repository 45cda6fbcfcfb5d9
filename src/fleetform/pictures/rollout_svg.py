"""A simulation as one SVG: a lane for each stage, over time. It is what one would paste into a change request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from typing import NamedTuple

from msgspec import structs

from fleetform.model.answers.simulation import SimulatedRollout, SimulatedStage, Simulation
from fleetform.pictures.lane import Lane, approvals, crosses, fits, halts, level, marks, shades, soaking, soaks, times
from fleetform.pictures.markup import Markup, element, joined
from fleetform.pictures.theme import APPROVAL, FAILED, SET_ASIDE, patterns, picture_style
from fleetform.pictures.time_axis import Tick, TimeAxis
from fleetform.pictures.words import Clock, count, cut, duration_words


class Layout(NamedTuple):
    """How wide a picture is, and where the names of lanes stand: beside them, or above on a narrow one.

    A picture on a page has no title of its own. A prefix keeps two pictures on one page apart.
    """

    width: float
    beside: float
    prefix: str
    pad: float = 20
    titled: bool = True

    @property
    def is_narrow(self) -> bool:
        return self.beside == 0


WIDE = Layout(1200, 178, "w")
NARROW = Layout(390, 0, "n", 14)
_OUTCOMES = {"Completed": "okt", "Halted": "bt", "RolledBack": "bkt", "Stuck": "wt"}
OUTCOME_WORDS = {
    "Completed": "completes",
    "Halted": "halts",
    "RolledBack": "rolls back",
    "Stuck": "gets stuck",
}


def rollout_svg(simulation: Simulation, layout: Layout = WIDE) -> str:
    """The whole picture, as a document of its own."""
    return _Picture(simulation, layout).draw()


def with_clusters(simulation: Simulation) -> Simulation:
    """Without stages that nothing moves in."""
    return structs.replace(simulation, stages=[each for each in simulation.stages if each.clusters])


class _Picture:
    """Where things are drawn: rows from top to bottom."""

    def __init__(self, simulation: Simulation, layout: Layout) -> None:
        self.simulation = simulation = with_clusters(simulation)
        self.layout = layout
        begin = min([simulation.start, *(each.start for each in simulation.stages if each.start is not None)])
        ends = [simulation.end, *(each.end for each in simulation.stages if each.end is not None)]
        shown = max(max(ends) - begin, timedelta(minutes=10))
        left, right = layout.pad + layout.beside, layout.width - layout.pad
        more = 1.06 if simulation.outcome == "Completed" else 1.15
        self.axis = TimeAxis(begin, begin + shown * more, left, right, Clock(simulation.time_zone, simulation.start))
        self.lane_height = _lane_height(len(simulation.stages), layout.is_narrow)

    def draw(self) -> str:
        head, y = self._head()
        axis_y = y
        lanes, y = self._lanes(y + 12)
        foot, bottom = self._foot(y)
        drawn = joined(*self._axis(axis_y, y), self._now(axis_y, y), lanes, head, foot)
        layout = self.layout
        title, description = title_of(self.simulation), described(self.simulation)
        id_ = f"{layout.prefix}p"
        return str(
            element(
                "svg",
                element("title", title, id=f"{id_}t"),
                element("desc", description, id=f"{id_}d"),
                picture_style(f"#{id_} "),
                patterns(layout.prefix),
                element("rect", class_="s", width=layout.width, height=bottom, rx=8),
                drawn,
                xmlns="http://www.w3.org/2000/svg",
                id=id_,
                viewBox=f"0 0 {layout.width:g} {bottom:g}",
                width=f"{layout.width:g}",
                height=f"{bottom:g}",
                role="img",
                aria_labelledby=f"{id_}t {id_}d",
            )
        )

    def _head(self) -> tuple[Markup, float]:
        """What is rolled out, and how it ends."""
        layout, simulation = self.layout, self.simulation
        if not layout.titled:
            return Markup(""), 26
        room = int((layout.width - 2 * layout.pad) / 9)
        lines = [element("text", cut(title_of(simulation), room), class_="ti", x=layout.pad, y=34)]
        outcome = outcome_text(simulation, self.axis.clock)
        class_ = f"m b {_OUTCOMES[simulation.outcome]}"
        fitting = [outcome, outcome.partition(" · ")[0]]
        text = next((each for each in fitting if fits(each, layout.width - 2 * layout.pad)), fitting[-1])
        lines.append(element("text", text, class_=class_, x=layout.pad, y=55))
        return joined(*lines), 88

    def _lanes(self, y: float) -> tuple[Markup, float]:
        drawn: list[str] = []
        simulation, layout = self.simulation, self.layout
        several = len(simulation.rollouts) > 1
        rollouts = {each.name: each for each in simulation.rollouts}
        by_stage: dict[tuple[str, str], list[object]] = {}
        for event in simulation.events:
            by_stage.setdefault((event.rollout, event.stage), []).append(event)
        for name, stages in groupby(simulation.stages, key=lambda each: each.rollout):
            if several:
                drawn.append(self._heading(rollouts.get(name), name, y))
                y += 30
            for stage in stages:
                top = y + (38 if layout.is_narrow else 18)
                bottom = y + self.lane_height
                events = by_stage.get((stage.rollout, stage.name), [])
                lane = Lane(stage, events, top, bottom, self.axis, simulation.start, layout.prefix)  # type: ignore[arg-type]
                above = y + (24 if layout.is_narrow else 0)
                parts = (shades(lane, above), level(lane), soaks(lane), crosses(lane, above), halts(lane), marks(lane))
                rule = element("path", d=f"M{self._left:.1f} {bottom:.1f}H{self.axis.right:.1f}", class_="g")
                notes = (times(lane), approvals(lane), self._freeze_names(lane, above))
                drawn.append(element("g", *parts, rule, self._name(lane, y), *notes, class_="lane"))
                y = bottom
        if not simulation.stages:
            drawn.append(element("text", "nothing changes", class_="m", x=layout.pad, y=y + 24))
            y += 40
        return joined(*drawn), y

    @property
    def _left(self) -> float:
        return self.axis.left

    def _heading(self, rollout: SimulatedRollout | None, name: str, y: float) -> Markup:
        text = rollout_title(rollout) if rollout is not None else name
        return element("text", cut(text, int(self.layout.width / 8)), class_="h", x=self.layout.pad, y=y + 22)

    def _name(self, lane: Lane, y: float) -> Markup:
        """The stage's name, its clusters, and what comes of it."""
        stage, layout = lane.stage, self.layout
        words, class_ = stage_words(stage, self.axis.clock, self.simulation)
        if layout.is_narrow:
            name = element("text", cut(stage.name, 16), class_="n", x=layout.pad + 6, y=y + 18)
            said = element(
                "text", cut(words, 34), class_=f"m {class_}", x=layout.width - layout.pad, y=y + 18, text_anchor="end"
            )
            return joined(name, said)
        limit = int(layout.beside / 7.1)
        small = self.lane_height < 60
        first = lane.bottom - self.lane_height + (20 if small else 30)
        lines = [element("text", cut(stage.name, int(layout.beside / 9.5)), class_="n", x=layout.pad, y=first)]
        clusters = joined(count(stage.clusters, "cluster"))
        if stage.failed:
            clusters = joined(clusters, ", ", element("tspan", f"{stage.failed:,} failed", class_="bt b"))
        if small:
            lines.append(element("text", cut(words, limit), class_=f"m {class_}", x=layout.pad, y=first + 16))
        else:
            lines.append(element("text", clusters, class_="m", x=layout.pad, y=first + 17))
            lines.append(element("text", cut(words, limit), class_=f"m b {class_}", x=layout.pad, y=first + 33))
        return joined(*lines)

    def _freeze_names(self, lane: Lane, above: float) -> Markup:
        drawn = []
        for each in lane.stage.freezes:
            left, right = self.axis.x(each.begin), self.axis.x(each.end)
            text = f"{'hard' if each.hard else 'soft'} freeze {each.name}"
            if fits(text, right - left - 12):
                drawn.append(element("text", text, class_="fz", x=left + 8, y=above + 17))
        return joined(*drawn)

    def _axis(self, y: float, bottom: float) -> Iterator[Markup]:
        room = 88 if not self.layout.is_narrow else 84
        ticks = self.axis.ticks(room)
        for tick, following in zip(ticks, [*ticks[1:], None], strict=True):
            x = self.axis.x(tick.at)
            yield element("path", d=f"M{x:.1f} {y + 6:.1f}V{bottom:.1f}", class_="g")
            label = self._label(tick, following)
            yield element("text", label, class_="d" if tick.major else "m", x=x + 4, y=y + 2)

    def _label(self, tick: Tick, following: Tick | None) -> str:
        """What fits before the next one: the last must end inside, and the first may be close to the second."""
        until = self.axis.x(following.at) if following is not None else self.layout.width
        room = until - self.axis.x(tick.at) - 2
        return next((each for each in (tick.label, tick.short) if fits(each, room)), "")

    def _now(self, y: float, bottom: float) -> Markup:
        """Where the forecast begins."""
        x = self.axis.x(self.simulation.start)
        text = f"now {self.axis.clock.time(self.simulation.start)}"
        left = min(max(x - 38, self.layout.pad / 2), self.layout.width - 80)
        return joined(
            element("path", d=f"M{x:.1f} {y + 8:.1f}V{bottom + 4:.1f}", class_="nl"),
            element("rect", class_="nb", x=left, y=bottom + 4, width=76, height=20, rx=5),
            element("text", text, class_="nt", x=left + 38, y=bottom + 18, text_anchor="middle"),
        )

    def _foot(self, y: float) -> tuple[Markup, float]:
        """What the signs mean, only those that occur; and the clock."""
        layout = self.layout
        first = layout.pad if layout.is_narrow else self.axis.left
        x, line = first, y + 52
        drawn = []
        for sign, text in self._legend():
            wide = 26 + len(text) * 7 + 14
            if x + wide > layout.width - layout.pad and x > first:
                x, line = first, line + 22
            place = f"translate({x:.1f} {line:.1f})"
            drawn.append(element("g", sign, element("text", text, class_="m", x=26, y=0), transform=place))
            x += wide
        zone = f"times in {self.axis.clock.zone}"
        line += 24 if layout.is_narrow else 0
        drawn.append(element("text", zone, class_="m", x=layout.pad, y=line))
        return joined(*drawn), line + 20

    def _legend(self) -> Iterator[tuple[Markup, str]]:
        stages, prefix = self.simulation.stages, self.layout.prefix
        box = {"width": 20, "height": 12, "y": -10}
        moved = any(each.levels for each in stages)
        if any(each.windows for each in stages):
            yield element("rect", class_="w", rx=2, **box), "window open"
        if moved:
            sign = joined(element("rect", class_="f", opacity=".25", **box), element("path", d="M0 -9H20", class_="fl"))
            yield sign, "updated (forecast)"
            yield element("rect", class_="y", opacity=".5", **box), "in flight"
        if any(soaking(each, self.axis.end)[0] is not None for each in stages):
            yield element("rect", fill=f"url(#{prefix}hs)", **box), "soak"
        if any(each.freezes for each in stages):
            yield element("rect", fill=f"url(#{prefix}hz)", **box), "freeze"
        events = {each.event for each in self.simulation.events}
        glyphs = ((FAILED, "failed", {"Failed", "TimedOut"}), (SET_ASIDE, "set aside", {"SetAside"}))
        for glyph, text, names in glyphs:
            if events & names:
                yield element("g", glyph, transform="translate(6 -10)"), text
        if any(each.approvals is not None and each.approvals.at is not None for each in stages):
            yield element("g", APPROVAL, transform="translate(6 -10) scale(.9)"), "approval"


def _lane_height(lanes: int, narrow: bool) -> float:
    if narrow:
        return 84
    return 78 if lanes <= 8 else 62 if lanes <= 16 else 50


# ---- What is said about it


def title_of(simulation: Simulation) -> str:
    """`cert-manager 1.3.2 → 1.4.0`, or how many presets change."""
    rollouts = simulation.rollouts
    if len(rollouts) == 1:
        return rollout_title(rollouts[0])
    clusters = len({(each.organization, each.cluster) for each in simulation.events})
    return f"{count(len(rollouts), 'rollout')} on {count(clusters, 'cluster')}" if rollouts else "Nothing changes"


def rollout_title(rollout: SimulatedRollout) -> str:
    to = ", ".join(rollout.to)
    if rollout.from_ and rollout.from_ != rollout.to:
        return f"{rollout.preset} {', '.join(rollout.from_)} → {to}"
    return f"{rollout.preset} {to}" + (", other values" if rollout.from_ else "")


def outcome_text(simulation: Simulation, clock: Clock) -> str:
    """`completes Mon 23 Nov 18:55 · 4 d 21 h after it begins · 7 clusters fail`."""
    words = OUTCOME_WORDS[simulation.outcome]
    length = simulation.end - simulation.start
    at = clock.when(simulation.end)
    parts = [f"{words} {at}" if simulation.outcome != "Stuck" else f"{words} after {at}"]
    parts.append(f"{duration_words(length)} from {clock.when(simulation.start)}")
    failed = failures(simulation)
    if failed:
        parts.append(f"{count(failed, 'cluster')} {'fails' if failed == 1 else 'fail'}")
    return " · ".join(parts)


def failures(simulation: Simulation) -> int:
    """How many plugins fail, whatever becomes of them then."""
    failed = [each for each in simulation.events if each.event in ("Failed", "TimedOut")]
    return len({(each.organization, each.cluster, each.plugin) for each in failed})


def stage_words(stage: SimulatedStage, clock: Clock, simulation: Simulation) -> tuple[str, str]:
    """What comes of a stage, in few words, and their colour."""
    if stage.rolled_back:
        return f"{stage.rolled_back:,} rolled back", "bkt"
    if stage.end is not None:
        return f"done {clock.when(stage.end)}", "okt"
    if stage.start is None:
        asked = stage.approvals
        if asked is not None and asked.required and asked.at is None and simulation.outcome == "Stuck":
            return f"waits: {count(asked.required, 'approval')}", "wt"
        return "does not start", "wt"
    return f"{stage.updated:,} of {stage.clusters:,} updated", "bt" if stage.failed else "wt"


def described(simulation: Simulation) -> str:
    """The picture in a sentence for each stage, for those who do not see it."""
    clock = Clock(simulation.time_zone, simulation.start)
    said = [f"{each.name}: {stage_words(each, clock, simulation)[0]}" for each in simulation.stages]
    return f"{outcome_text(simulation, clock)}. {'; '.join(said)}."
