"""fleetform plan"""

from __future__ import annotations

import sys
from datetime import datetime

import click

from fleetform.app.plan import plan_answer
from fleetform.app.scope import other_organizations_hint
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.rollout.view import span_text
from fleetform.cli.terminal import width_of
from fleetform.cli.text import Painter, count, table
from fleetform.cli.waiting import due_text, few, gate_lines
from fleetform.model.answers.planning import PlanAnswer, PlannedRollout, PlannedStage, WhyItem
from fleetform.syntax.times import clock_text, parse_time

_COLUMNS = ("STAGE", "CLUSTERS", "START NOW", "UPDATED", "HEALTHY", "FAILED", "UNREACHABLE", "WAITING", "APPROVALS")


@click.command(
    epilog="""\b
Examples:
  fleetform plan --state state.json                    what the next pass would start
  fleetform plan --state state.json --at 2026-12-01T22:00:00Z
  fleetform plan -l tier=gold -o json
"""
)
@shared_flags("table", "wide", "json", "yaml", "name")
def command(flags: Flags) -> int:
    """What starts now, what waits and for what, and when to look again; writes nothing."""
    output = flags.output
    answer, hint = _ask(flags)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    elif output == "name":
        for rollout in answer.rollouts:
            if rollout.name is not None:
                click.echo(f"rollout/{rollout.name}")
    else:
        flags.say_consents(answer.diagnostics)
        _print(answer, Painter(flags.color), output == "wide")
    if hint:
        flags.say(hint)
    return 0


def _ask(flags: Flags) -> tuple[PlanAnswer, str]:
    """The plan, and what to try if the scope is empty."""
    if flags.server is not None:
        return flags.control_plane().answer("plan", PlanAnswer, flags.parameters()), ""
    fleet = flags.fleet()
    scope = flags.scope(fleet)
    with progress("planning", quiet=flags.quiet):
        return plan_answer(fleet, scope), other_organizations_hint(fleet, scope)


def _print(answer: PlanAnswer, paint: Painter, wide: bool) -> None:
    now = parse_time(answer.at)
    parts = [part for rollout in answer.rollouts for part in _parts(rollout)]
    waiting = [item for part in parts for item in part.waiting]
    starts = sum(len(part.start) for part in parts)
    moving = sum(item.state == "InFlight" for item in waiting)
    figures = [
        (starts, "starts now" if starts == 1 else "start now"),
        (moving, "in flight"),
        (sum(item.state in ("Waiting", "Paused", "Unreachable") for item in waiting), "wait"),
        (sum(item.state == "Blocked" for item in waiting), "blocked"),
        (sum(item.state == "Failed" for item in waiting), "failed"),
        (len(answer.removals.start), "deleted now"),
        (len(answer.removals.waiting), "wait to be deleted"),
        (answer.up_to_date, "up to date"),
    ]
    click.echo(" · ".join(f"{number:,} {text}" for number, text in figures if number) or "nothing to do")
    if answer.next_look_at is not None:
        click.echo(f"next look {clock_text(parse_time(answer.next_look_at), now)}")
    several = len({each.organization for each in answer.rollouts}) > 1
    for rollout in answer.rollouts:
        click.echo()
        _print_rollout(rollout, now, paint, wide, several)
    if answer.removals.start or answer.removals.waiting:
        click.echo()
        click.echo(paint("plugins that are no longer wanted", bold=True))
        if answer.removals.start:
            click.echo(f"  deleted now: {few([f'{each.plugin} on {each.cluster}' for each in answer.removals.start])}")
        _print_gates(answer.removals.waiting, now)


def _parts(rollout: PlannedRollout) -> list[PlannedStage]:
    return [*rollout.stages, *([rollout.beside] if rollout.beside is not None else [])]


def _print_rollout(rollout: PlannedRollout, now: datetime, paint: Painter, wide: bool, with_organization: bool) -> None:
    parts = _parts(rollout)
    way = span_text(", ".join(rollout.from_), ", ".join(rollout.to), rollout.changes)
    phase = f"   {rollout.phase}" if rollout.phase is not None else ""
    queued = f"   a newer change waits ({rollout.queued[:11]})" if rollout.queued is not None else ""
    # Presets of two organizations may bear one name.
    where = f" · {rollout.organization}" if with_organization else ""
    click.echo(f"{paint(rollout.name or rollout.preset, bold=True)}  {rollout.preset} {way}{where}{phase}{queued}")
    if wide:
        click.echo(f"  change {rollout.change_id}")
    if rollout.stages:
        rows = [_row(stage) for stage in rollout.stages]
        for line in table(_COLUMNS, rows, indent="  ", width=None if wide else width_of(sys.stdout)):
            click.echo(line)
    for part in parts:
        where = f" in {part.name}" if part.name else ""
        if part.start:
            click.echo(f"  start now{where}: {few(part.start) if not wide else ', '.join(part.start)}")
    _print_gates([item for part in parts for item in part.waiting], now)
    for consent in [stage.approvals for stage in rollout.stages if stage.approvals is not None]:
        if text := due_text(consent, now, "UTC"):
            click.echo(f"  approval of {consent.stage}: {text}")
    if rollout.unknown:
        click.echo(f"  for {count(rollout.unknown, 'plugin')} it cannot be known here whether anything changes")


def _row(stage: PlannedStage) -> list[str]:
    clusters, consent = stage.clusters, stage.approvals
    failed = f"{clusters.failed:,} of {stage.budget.max:,}" if clusters.failed or stage.budget.max else "0"
    return [
        stage.name,
        f"{clusters.total:,}",
        f"{len(stage.start):,}",
        f"{clusters.updated:,}",
        f"{clusters.healthy:,}",
        failed,
        f"{clusters.unreachable:,}",
        f"{clusters.waiting - len(stage.start):,}",
        f"{consent.have} of {consent.need}" if consent is not None else "-",
    ]


def _print_gates(items: list[WhyItem], now: datetime) -> None:
    for line in table((), [list(each) for each in gate_lines(items, now)], indent="    "):
        click.echo(line)
