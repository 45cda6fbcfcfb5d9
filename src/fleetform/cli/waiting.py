"""Prints what holds plugins: one of them gate by gate, many of them grouped by what they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import click

from fleetform.app.answering.anywhere import on_its_cluster
from fleetform.cli.text import Painter, count
from fleetform.model.answers.planning import ConsentNeeded, HoldingGate, ReportedTrouble, WhyItem
from fleetform.syntax.times import clock_text, parse_time, span_text

_COLORS = {"Blocked": "red", "Failed": "red", "UpToDate": "green", "InFlight": "blue", "Unreachable": "magenta"}
_MOST_GATES = 6
# Seconds: a window that is missed costs more than the minute that was.
_A_LITTLE = 120
_COMMAND = re.compile(r"fleetform (?:why|plan|render|rollout \w+)(?: --?[a-z]+| [^\s,;]+)*?(?=[,;]| to |$)")


def way_text(item: WhyItem) -> str:
    """`1.3.2 → 1.4.0`, `1.4.0 → removed`, `→ 1.0.0`; `1.4.0` if the version stays, or no version is what is wanted."""
    if item.removal:
        return f"{item.from_} → removed" if item.from_ else "removed"
    if item.to is None:
        return item.from_ or "without a version"
    if item.from_ is None:
        return f"→ {item.to}"
    return item.to if item.from_ == item.to else f"{item.from_} → {item.to}"


def print_item(item: WhyItem, now: datetime, paint: Painter, again: str = "", with_cluster: bool = False) -> None:
    """A plugin with all that holds it; the gate that decides is marked."""
    name = f"{item.preset or item.plugin}" + (f" on {item.cluster}" if with_cluster else "")
    title = f"{paint(name, bold=True)} {way_text(item)}"
    click.echo(f"{title}   {paint(item.summary, fg=_COLORS.get(item.state, 'yellow'))}")
    width = max((len(each) for each in (*(gate.gate for gate in item.reasons), *_troubled(item.trouble))), default=0)
    _print_trouble(item.trouble, width, now, paint, again)
    for each in item.reasons:
        mark = paint("▸", fg="yellow") if each.decides else " "
        click.echo(f" {mark} {each.gate.ljust(width)}  {each.message}{until_text(each, now)}")
        for consent in item.approvals if each.gate == "approval" else ():
            if text := due_text(consent, now, each.zone):
                click.echo(f"   {' ' * width}  {text}")
        if each.do and each.do != "wait":
            click.echo(f"   {' ' * width}  {paint(to_paste(each.do, again), dim=True)}")


def _troubled(trouble: ReportedTrouble | None) -> tuple[str, ...]:
    return (trouble.of,) if trouble is not None else ()


def _print_trouble(
    trouble: ReportedTrouble | None, width: int, now: datetime, paint: Painter, again: str, indent: str = " "
) -> None:
    if trouble is None:
        return
    mark = paint("▸", fg="red")
    click.echo(f"{indent}{mark} {trouble.of.ljust(width)}  {trouble.message}{tried_text(trouble, now)}")
    if trouble.do:
        click.echo(f"{indent}  {' ' * width}  {paint(to_paste(trouble.do, again), dim=True)}")


def tried_text(trouble: ReportedTrouble, now: datetime) -> str:
    """How often it was tried, since when, and when the next try is; empty if nothing is tried."""
    since = clock_text(parse_time(trouble.since), now)
    if trouble.next_try is None:
        return f", since {since}"
    where = f" ({trouble.where})" if trouble.where not in trouble.message else ""
    times = "once" if trouble.tries == 1 else f"{trouble.tries:,} times"
    due = parse_time(trouble.next_try)
    coming = clock_text(due, now) if due > now else "now"
    return f"{where}; tried {times} since {since}, next try {coming}"


def due_text(consent: ConsentNeeded, now: datetime, zone: str) -> str:
    """By when an approval is due, and what a later one costs; empty where that is not known."""
    if consent.decide_by is None:
        return ""
    due, costs = parse_time(consent.decide_by), consent.costs
    if costs is None:
        later = "later the rollout does not end by itself"
    elif costs > _A_LITTLE:
        later = f"later costs {span_text(timedelta(seconds=costs))}"
    else:
        later = "later moves the end as much"
    return f"decide by {clock_text(due, now, zone)}; {later}" if due > now else f"decide now; {later}"


def to_paste(do: str, again: str) -> str:
    """What to do, its command with the flags that it needs to speak of the same fleet."""
    return _COMMAND.sub(lambda found: found.group(0) + again, do)


def until_text(reason: HoldingGate, now: datetime) -> str:
    return f", until {clock_text(parse_time(reason.until), now, reason.zone)}" if reason.until is not None else ""


class _Alike(NamedTuple):
    """What plugins have in common that are told of together."""

    preset: str
    way: str
    state: str
    reasons: tuple[tuple[str, str, str | None], ...]


def print_groups(items: Sequence[WhyItem], now: datetime, paint: Painter, again: str = "") -> None:
    """Plugins that wait alike, once: the largest groups first."""
    groups: dict[_Alike, list[WhyItem]] = {}
    for item in items:
        reasons = tuple((each.gate, on_its_cluster(each.message, item.cluster), each.until) for each in item.reasons)
        if item.trouble is not None:
            reasons = ((item.trouble.of, on_its_cluster(item.trouble.message, item.cluster), None), *reasons)
        groups.setdefault(_Alike(item.preset or item.plugin, way_text(item), item.state, reasons), []).append(item)
    for alike, members in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        first = members[0]
        if len(members) == 1:
            print_item(first, now, paint, again, with_cluster=True)
            continue
        who = f"{alike.preset} {alike.way} on {count(len(members), 'cluster')}"
        click.echo(f"{paint(who, bold=True)}   {paint(first.summary, fg=_COLORS.get(first.state, 'yellow'))}")
        click.echo(f"   {few([each.cluster for each in members])}")
        _print_trouble(first.trouble, 0, now, paint, again, "   ")
        for each in first.reasons:
            click.echo(f"   {each.gate}  {each.message}{until_text(each, now)}")
        click.echo(f"   {paint(f'fleetform why {first.cluster} {alike.preset}{again}', dim=True)}")


class _Held(NamedTuple):
    """How many wait for a gate, and what it says."""

    clusters: list[str]
    reasons: list[HoldingGate]


def gate_lines(items: Iterable[WhyItem], now: datetime) -> list[tuple[str, str, str]]:
    """What many wait for: how many clusters, the gate, and what it says. A cluster counts for each of its gates."""
    held: dict[tuple[str, str], _Held] = {}
    for item in items:
        for each in item.reasons:
            key = (each.gate, on_its_cluster(each.message, item.cluster))
            found = held.setdefault(key, _Held([], []))
            found.clusters.append(item.cluster)
            found.reasons.append(each)
    by_gate: dict[str, list[tuple[str, _Held]]] = {}
    for (gate, message), found in held.items():
        by_gate.setdefault(gate, []).append((message, found))
    lines = []
    for gate, entries in sorted(by_gate.items(), key=lambda pair: -sum(len(each.clusters) for _, each in pair[1])):
        entries.sort(key=lambda entry: (-len(entry[1].clusters), entry[0]))
        for message, found in entries[:_MOST_GATES]:
            first = min(found.reasons, key=lambda each: each.until or "")
            names = f"  ({few(found.clusters)})" if len(found.clusters) <= 4 else ""
            text = message if len(found.clusters) > 1 else found.reasons[0].message
            lines.append((f"{len(found.clusters):,}", gate, f"{text}{until_text(first, now)}{names}"))
        rest = entries[_MOST_GATES:]
        if rest:
            more = sum(len(each.clusters) for _, each in rest)
            lines.append((f"{more:,}", gate, f"{len(rest):,} more reasons like these"))
    return lines


def few(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct) if len(distinct) <= 4 else f"{', '.join(distinct[:4])} and {len(distinct) - 4:,} more"
