"""A simulation as a page of HTML that stands alone: no scripts, nothing loaded; the picture, figures and lists."""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.model.answers.simulation import LeftWaiting, SimulatedEvent, SimulatedStage, Simulation
from fleetform.pictures.markup import Markup, element, joined
from fleetform.pictures.rollout_svg import (
    NARROW,
    OUTCOME_WORDS,
    WIDE,
    failures,
    rollout_svg,
    stage_words,
    title_of,
    with_clusters,
)
from fleetform.pictures.theme import FONT, style
from fleetform.pictures.words import Clock, count, duration_words
from fleetform.syntax.times import parse_duration

# Names that are listed; the rest is counted.
_MOST_NAMES = 12
_MOST_ROWS = 40
_RULES = (
    ("html,body", "background:<page>;color:<text>"),
    (".card", "background:<surface>;border:1px solid <line>"),
    (".muted,th,footer,dt,td::before", "color:<muted>"),
    (".pill.Completed", "color:<ok-text>;background:<ok-back>"),
    (".pill.Halted", "color:<failed-text>;background:<failed-back>"),
    (".pill.Stuck", "color:<stuck-text>;background:<stuck-back>"),
    (".pill.RolledBack", "color:<back>;background:<back-back>"),
    (".bad", "color:<failed-text>"), (".done", "color:<ok-text>"), (".stuck", "color:<stuck-text>"),
    (".back", "color:<back>"), ("tr,td,th,li", "border-color:<line>"), ("code", "background:<sunk>"),
)  # fmt: skip
_SHAPE = f"""
*{{box-sizing:border-box}}body{{margin:0 auto;max-width:1280px;padding:24px 20px 40px;font:14px/20px {FONT};
font-variant-numeric:tabular-nums}}h1{{font-size:22px;line-height:28px;margin:0;font-weight:650;overflow-wrap:anywhere}}
h2{{font-size:14px;margin:0 0 8px}}p{{margin:4px 0 0}}
.head{{display:flex;gap:10px;align-items:center;flex-wrap:wrap}}
.pill{{padding:3px 10px;border-radius:12px;font-weight:600}}
.card{{border-radius:10px;padding:16px;margin-top:16px;min-width:0}}
.figures{{display:flex;flex-wrap:wrap;gap:10px 40px}}
.figures b{{display:block;font-size:17px;line-height:24px}}.picture{{padding:6px;overflow-x:auto}}
.picture svg{{display:block;width:100%;height:auto}}.narrow{{display:none}}
.columns{{display:grid;gap:0 16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr));align-items:start}}
table{{border-collapse:collapse;width:100%}}td,th{{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid;
vertical-align:top;font-weight:400}}td.time{{white-space:nowrap}}td.name{{font-weight:600;overflow-wrap:anywhere}}.wrap{{overflow-x:auto}}
ul{{list-style:none;margin:0;padding:0}}li{{padding:7px 0;border-bottom:1px solid;overflow-wrap:anywhere}}
li:last-child{{border:0}}
li small{{display:block;font-size:12.5px}}dl{{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:0}}
dd{{margin:0;overflow-wrap:anywhere}}code{{padding:1px 5px;border-radius:4px;font-size:12.5px}}
footer{{margin-top:16px;font-size:12.5px}}
@media(max-width:760px){{.wide{{display:none}}.narrow{{display:block}}body{{padding:16px 10px 32px}}
.card{{padding:12px}}.picture{{padding:0}}
tr.names{{display:none}}tr{{display:block;border-bottom:1px solid;padding:8px 0}}tr:last-child{{border:0}}
td{{display:grid;grid-template-columns:88px 1fr;padding:2px 0;border:0}}td.name{{display:block}}
td::before{{content:attr(data-name)}}td.name::before{{content:none}}td.none{{display:none}}}}
@media print{{body{{max-width:none}}.card{{break-inside:avoid}}}}
"""


def rollout_page(simulation: Simulation) -> str:
    """The page of a simulation."""
    simulation, clock = with_clusters(simulation), Clock(simulation.time_zone, simulation.start)
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", f"{title_of(simulation)}: {OUTCOME_WORDS[simulation.outcome]}"),
        Markup(f"<style>{_SHAPE.strip()}{style(_RULES)}</style>"),
    )
    body = element(
        "body",
        _heading(simulation, clock),
        _figures(simulation, clock),
        element(
            "div",
            element("div", Markup(rollout_svg(simulation, WIDE._replace(titled=False))), class_="wide"),
            element("div", Markup(rollout_svg(simulation, NARROW._replace(titled=False))), class_="narrow"),
            class_="card picture",
        ),
        _stages(simulation, clock),
        element("div", _failures(simulation, clock), _left(simulation), _assumed(simulation, clock), class_="columns"),
        element("footer", "A forecast by fleetform simulate: what the planner itself does if the assumptions hold."),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _heading(simulation: Simulation, clock: Clock) -> Markup:
    pill = element("span", OUTCOME_WORDS[simulation.outcome], class_=f"pill {simulation.outcome}")
    sides = f"from {simulation.from_} to {simulation.to}"
    changes = ", ".join(dict.fromkeys(each.change_id for each in simulation.rollouts))
    said = joined(sides, " · change ", element("code", changes[:24])) if changes else joined(sides)
    return element(
        "header",
        element("div", element("h1", title_of(simulation)), pill, class_="head"),
        element("p", said, class_="muted"),
    )


def _figures(simulation: Simulation, clock: Clock) -> Markup:
    stages = simulation.stages
    total, updated = sum(each.clusters for each in stages), sum(each.updated for each in stages)
    failed, aside = failures(simulation), sum(each.set_aside for each in stages)
    back = sum(each.rolled_back for each in stages)
    figures = [
        ("updated in the end", f"{updated:,} of {total:,}", ""),
        ("failed", f"{failed:,}", "bad" if failed else ""),
        ("end" if simulation.outcome == "Completed" else "last step", clock.when(simulation.end), ""),
        ("takes", duration_words(simulation.end - simulation.start), ""),
    ]
    if aside:
        figures.insert(2, ("set aside, unreachable", f"{aside:,}", ""))
    if back:
        figures.insert(2, ("rolled back", f"{back:,}", "back"))
    shown = (
        element("div", element("span", name, class_="muted"), element("b", value, class_=class_))
        for name, value, class_ in figures
    )
    return element("div", *shown, class_="card figures")


_COLOURS = {"okt": "done", "bt": "bad", "wt": "stuck", "bkt": "back", "": ""}


def _stages(simulation: Simulation, clock: Clock) -> Markup:
    several = len(simulation.rollouts) > 1
    names = {each.name: each.preset for each in simulation.rollouts}
    columns = ("stage", "clusters", "starts", "done", "before it", "soak", "outcome")
    header = element("tr", *(element("th", each) for each in columns), class_="names")
    rows = []
    for stage in simulation.stages[:_MOST_ROWS]:
        words, class_ = stage_words(stage, clock, simulation)
        name = f"{names.get(stage.rollout, stage.rollout)} / {stage.name}" if several else stage.name
        soak = duration_words(parse_duration(stage.soak)) if stage.soak != "0s" else ""
        cells = (
            (name, "name"),
            (f"{stage.clusters:,}", ""),
            (clock.when(stage.start) if stage.start is not None else "", "time"),
            (clock.when(stage.end) if stage.end is not None else "", "time"),
            (_before(stage, clock), ""),
            (soak, "time"),
            (_outcome(stage, words, _COLOURS[class_]), ""),
        )
        rows.append(element("tr", *(_cell(*cell, column) for cell, column in zip(cells, columns, strict=True))))
    more = len(simulation.stages) - len(rows)
    note = element("p", f"and {count(more, 'stage')} more", class_="muted") if more else ""
    return element(
        "section",
        element("h2", "Stages"),
        element("div", element("table", header, *rows), class_="wrap"),
        note,
        class_="card",
    )


def _cell(content: str | Markup, class_: str, column: str) -> Markup:
    """A cell that bears its column's name: on a narrow screen a row becomes a list, without what is empty."""
    return element("td", content or "–", class_=class_ if content else f"{class_} none".strip(), data_name=column)


def _before(stage: SimulatedStage, clock: Clock) -> str:
    """What a stage asks for before it starts."""
    asked = []
    if stage.approvals is not None and stage.approvals.required:
        latest = stage.approvals.decide_by
        by = f" by {clock.when(latest)}" if latest is not None else ""
        asked.append(count(stage.approvals.required, "approval") + by)
    if stage.wait != "0s":
        asked.append(f"{duration_words(parse_duration(stage.wait))} wait")
    if stage.windows:
        asked.append("a window")
    return ", ".join(asked)


def _outcome(stage: SimulatedStage, words: str, colour: str) -> Markup:
    done = f"{stage.updated:,} of {stage.clusters:,} updated" if stage.end is not None else words
    failed = joined(", ", element("span", f"{stage.failed:,} failed", class_="bad")) if stage.failed else ""
    return element("div", element("span", done, class_=colour), failed)


_FAILS = {
    "Failed": ("fails", "fail"),
    "TimedOut": ("takes longer than its deadline", "take longer than their deadline"),
    "SetAside": ("does not answer, is set aside", "do not answer, are set aside"),
}


def _failures(simulation: Simulation, clock: Clock) -> Markup:
    """Each failure by itself; where there are many, those of a stage together."""
    failed = [each for each in simulation.events if each.event in _FAILS]
    if not failed:
        return Markup("")
    if len(failed) <= _MOST_NAMES:
        items = [_failure(each, clock) for each in failed]
    else:
        together: dict[tuple[str, str, str], list[SimulatedEvent]] = {}
        for each in failed:
            together.setdefault((each.rollout, each.stage, each.event), []).append(each)
        items = [_failures_of_stage(each, clock) for each in list(together.values())[:_MOST_NAMES]]
    title = count(len(failed), "failure")
    return element("section", element("h2", title), element("ul", *items), class_="card")


def _failure(event: SimulatedEvent, clock: Clock) -> Markup:
    when = element("span", clock.when(event.at), class_="muted")
    return element("li", element("b", event.cluster), f" {_FAILS[event.event][0]} ", when, _in_stage(event))


def _failures_of_stage(events: list[SimulatedEvent], clock: Clock) -> Markup:
    first, last = events[0], events[-1]
    if len(events) == 1:
        return _failure(first, clock)
    where = f"stage {first.stage}, " if first.stage else ""
    when = clock.when(first.at) if first.at == last.at else f"{clock.when(first.at)} to {clock.when(last.at)}"
    return element(
        "li",
        element("b", count(len(events), "cluster")),
        f" {_FAILS[first.event][1]} ",
        element("span", where + when, class_="muted"),
        element("small", listed(each.cluster for each in events), class_="muted"),
    )


def _in_stage(event: SimulatedEvent) -> Markup:
    return element("small", f"{event.plugin}, stage {event.stage}" if event.stage else event.plugin, class_="muted")


def _left(simulation: Simulation) -> Markup:
    if not simulation.left:
        return Markup("")
    items = (_left_item(each) for each in simulation.left[:_MOST_NAMES])
    return element("section", element("h2", "Not up to date in the end"), element("ul", *items), class_="card")


def _left_item(left: LeftWaiting) -> Markup:
    what = f"{left.gate}: {left.message}" if left.gate else left.state
    shown = joined(element("b", count(len(left.clusters), "cluster")), f" {what}")
    hint = element("small", left.do, class_="muted") if left.do else ""
    return element("li", shown, element("small", listed(left.clusters), class_="muted"), hint)


def listed(names: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    known = list(names)
    more = len(known) - _MOST_NAMES
    return ", ".join(known[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _assumed(simulation: Simulation, clock: Clock) -> Markup:
    entries = [("starts", f"{clock.when(simulation.start)} {clock.zone}")]
    entries += [(each.flag, each.value) for each in simulation.assumptions]
    shown = (joined(element("dt", name), element("dd", value)) for name, value in entries)
    return element("section", element("h2", "Assumed"), element("dl", *shown), class_="card")
