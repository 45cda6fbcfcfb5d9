"""fleetform simulate"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import NamedTuple

import click

from fleetform.app.scope import scope_over
from fleetform.app.simulate import simulate
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.sides import in_same_folder
from fleetform.cli.text import Painter
from fleetform.cli.timeline import timeline
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.pictures.page import rollout_page
from fleetform.pictures.rollout_svg import rollout_svg
from fleetform.syntax.times import duration_text, parse_duration, parse_time, time_text
from fleetform.wiring.databases import open_state
from fleetform.wiring.files import write_file

_NEVER = "never"


class _Failing(NamedTuple):
    """A cluster that fails, or how many of all starts do."""

    spell: Spell | None
    rate: float


def _duration(_: click.Context, __: click.Parameter, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}; write one such as 90s, 10m or 4h") from error


def _delay(context: click.Context, parameter: click.Parameter, text: str) -> timedelta | None:
    return None if text == _NEVER else _duration(context, parameter, text)


def _until(_: click.Context, __: click.Parameter, text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter("write a time such as 2026-12-31 or 2026-12-31T22:00:00Z") from error


def _spell(text: str) -> Spell:
    cluster, at, time = text.partition("@")
    try:
        return Spell(cluster, parse_time(time) if at else None)
    except ValueError as error:
        raise click.BadParameter(f"{time} is not a time; write CLUSTER@2026-12-31T22:00:00Z") from error


def _failing(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[_Failing, ...]:
    return tuple(_one_failing(each) for each in texts)


def _one_failing(text: str) -> _Failing:
    try:
        rate = float(text)
    except ValueError:
        return _Failing(_spell(text), 0.0)
    if not 0 <= rate <= 1:
        raise click.BadParameter(f"{text} is not a share of all starts: write 0 to 1, or a cluster's name")
    return _Failing(None, rate)


def _silent(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[Spell, ...]:
    return tuple(_spell(each) for each in texts)


@click.command(
    epilog="""\b
A side is a folder, or git:REF[:DIR]. Without --to, it is what -f names. Without --from, what runs is
what --state says.

\b
Examples:
  fleetform simulate --from git:main                   my change, rolled out from now on
  fleetform simulate --from git:main --fail eu-1       what happens if that cluster fails
  fleetform simulate --from git:main --fail 0.02 --seed 7
  fleetform simulate --from git:main --approval-delay 4h --html rollout.html
  fleetform simulate --state state.json --until 2026-12-24

\b
Exit codes: 0 it completes; 1 it halts, rolls back or gets stuck.
"""
)
@click.option("--from", "from_side", metavar="SIDE", help="What runs: all that is wanted there is healthy.")
@click.option("--to", "to_side", metavar="SIDE", help="What is wanted. Default: what -f names.")
@click.option("--until", metavar="TIME", callback=_until, help="Stop at this time. Default: after three years.")
@click.option(
    "--duration",
    metavar="TIME",
    default="10m",
    show_default=True,
    callback=_duration,
    help="How long each update takes.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="CLUSTER[@TIME]|RATE",
    callback=_failing,
    help="A cluster that fails, from a time on; or the share of all starts that do, 0 to 1. Repeatable.",
)
@click.option(
    "--unreachable",
    multiple=True,
    metavar="CLUSTER[@TIME]",
    callback=_silent,
    help="A cluster that does not answer, from a time on. Repeatable.",
)
@click.option(
    "--approval-delay",
    metavar="TIME|never",
    default="0s",
    show_default=True,
    callback=_delay,
    help="How long people take to approve a stage that is ready.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="How often a failed start is tried again.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random failures.")
@click.option("--svg", metavar="FILE", help="Write a picture.")
@click.option("--html", metavar="FILE", help="Write a self-contained page: picture, figures, lists.")
@click.option("--save-state", metavar="FILE", help="Write what would be stored in the end, for --state of other verbs.")
@shared_flags("table", "wide", "json", "yaml")
def command(
    flags: Flags,
    from_side: str | None,
    to_side: str | None,
    until: datetime | None,
    duration: timedelta,
    fail: tuple[_Failing, ...],
    unreachable: tuple[Spell, ...],
    approval_delay: timedelta | None,
    retries: int,
    seed: int,
    svg: str | None,
    html: str | None,
    save_state: str | None,
) -> int:
    """Play a rollout before it is made: which cluster changes when, and how it ends.

    The planner itself runs on a virtual clock, with the durations, failures and approvals that are given.
    """
    output = flags.output
    paths = [to_side] if to_side else list(flags.filename)
    folders = paths if len(paths) == 1 and os.path.isdir(paths[0]) else []
    before = flags.fleet([in_same_folder(from_side, folders)]) if from_side else None
    after = flags.fleet([to_side] if to_side else ())
    if before is None and flags.state is None:
        flags.say("Nothing says what runs, so everything is installed for the first time. Give --from or --state.")
    organization = None if flags.everywhere else flags.organization
    scope = scope_over([after], organization, flags.cluster, flags.selector)
    rate = max((each.rate for each in fail), default=0.0)
    scenario = Scenario(
        duration=duration,
        failing=tuple(each.spell for each in fail if each.spell is not None),
        failure_rate=rate,
        seed=seed,
        unreachable=unreachable,
        approval_delay=approval_delay,
        retries=retries,
        until=until,
    )
    with progress("simulating", quiet=flags.quiet):
        answer, state = simulate(after, scope, scenario, before, _assumptions(scenario))
    for path, text in ((svg, rollout_svg), (html, rollout_page)):
        if path is not None:
            write_file(path, text(answer))
            flags.say(f"written: {path}")
    if save_state is not None:
        open_state(save_state).write(state)
        flags.say(f"written: {save_state}")
    if output in ("json", "yaml"):
        flags.print_data(answer)
    else:
        for line in timeline(answer, Painter(flags.color), output == "wide"):
            click.echo(line)
    return 0 if answer.outcome == "Completed" else 1


def _assumptions(scenario: Scenario) -> list[tuple[str, str]]:
    """What is assumed, as the flags that say so."""
    delay = scenario.approval_delay
    found = [("each start takes", duration_text(scenario.duration))]
    found += [("fails", _spell_text(each)) for each in scenario.failing]
    if scenario.failure_rate:
        found.append(("share that fails", f"{scenario.failure_rate:g}, seed {scenario.seed}"))
    found += [("does not answer", _spell_text(each)) for each in scenario.unreachable]
    found.append(
        ("people approve", _NEVER if delay is None else f"after {duration_text(delay)}" if delay else "at once")
    )
    if scenario.retries:
        found.append(("failed starts", f"tried again {scenario.retries} times"))
    if scenario.until is not None:
        found.append(("until", time_text(scenario.until)))
    return found


def _spell_text(spell: Spell) -> str:
    return f"{spell.cluster} from {time_text(spell.begin)} on" if spell.begin is not None else spell.cluster
