"""fleetform rollout list, status: how rollouts stand, until they are over if that is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import click

from fleetform.app.rollout import Rollouts
from fleetform.app.scope import other_organizations_hint
from fleetform.cli.options import Flags
from fleetform.cli.rollout.asking import person_of, timeout_flag, verb, verb_about_one
from fleetform.cli.rollout.following import TIMED_OUT, Follower, Standing, missing_text
from fleetform.cli.rollout.view import status_lines
from fleetform.cli.terminal import moves_cursor, width_of
from fleetform.cli.text import Painter, table
from fleetform.model.answers.listed_rollouts import ListedRollout
from fleetform.model.answers.planning import RolloutAnswer, RolloutList
from fleetform.syntax.times import duration_text

_COLUMNS = ("NAME", "PRESET", "FROM", "TO", "PHASE", "UPDATED", "STAGE")


@click.command(
    name="list",
    short_help="All rollouts, those that ended too.",
    epilog="""\b
Examples:
  fleetform rollout list --state state.json
  fleetform rollout list -c eu-prod-3 --server http://127.0.0.1:8080
""",
)
@verb
def list_(flags: Flags) -> int:
    """All rollouts: those that run or are about to, and those that ended."""
    hint = ""
    if flags.server is not None:
        listed = flags.control_plane().listing("rollouts", flags.parameters()).items
        found = [each.status for each in listed if isinstance(each, ListedRollout)]
    else:
        fleet = flags.fleet()
        scope = flags.scope(fleet)
        found = Rollouts(fleet, scope, person_of(flags)).all()
        hint = other_organizations_hint(fleet, scope, nothing_found=not found)
    answer = RolloutList(items=found, diagnostics=[])
    if flags.output in ("json", "yaml"):
        flags.print_data(answer)
    elif flags.output == "name":
        for item in answer.items:
            click.echo(f"rollout/{item.name}")
    elif answer.items:
        header, rows = list(_COLUMNS), [_row(each) for each in answer.items]
        if len({each.organization for each in answer.items}) > 1:
            header.insert(0, "ORGANIZATION")
            rows = [[each.organization, *row] for each, row in zip(answer.items, rows, strict=True)]
        for line in table(header, rows):
            click.echo(line)
    else:
        flags.say("no rollouts")
    if hint:
        flags.say(hint)
    return 0


def _row(item: RolloutAnswer) -> list[str]:
    updated, total = (sum(getattr(each.clusters, name) for each in item.stages) for name in ("updated", "total"))
    current = next((each.name for each in item.stages if each.done is None and each.clusters.total), "-")
    return [
        item.name,
        item.preset,
        item.from_ or "-",
        item.to or "-",
        item.phase,
        f"{updated:,} of {total:,}",
        current if item.ended is None else "-",
    ]


@click.command(
    short_help="One rollout, stage by stage.",
    epilog="""\b
Examples:
  fleetform rollout status cert-manager --state state.json
  fleetform rollout status cert-manager-7f3a1b2c --watch --timeout 2h --server http://127.0.0.1:8080
""",
)
@click.argument("name", metavar="NAME|PRESET")
@click.option("--watch", is_flag=True, help="Show it until it is over.")
@click.option("--wait", is_flag=True, help="Show it once it is over.")
@timeout_flag
@verb_about_one
def status(flags: Flags, name: str, watch: bool, wait: bool, timeout: timedelta | None) -> int:
    """One rollout, stage by stage; with --watch or --wait until it is over.

    Then exit codes are: 0 done, 1 failed, halted or aborted, 5 not over in time.
    """
    if timeout is not None and not (watch or wait):
        raise click.UsageError("--timeout goes with --watch or --wait.")
    if watch or wait:
        return follow(flags, name, partial(standing, flags), watch, timeout)
    _print_standing(flags, standing(flags, name))
    return 0


def standing(flags: Flags, name: str) -> Standing:
    if flags.server is not None:
        return Standing(flags.control_plane().rollout(name, organization_of(flags)), datetime.now(UTC))
    fleet = flags.fleet()
    return Standing(Rollouts(fleet, flags.scope(fleet), person_of(flags)).status(name), fleet.plan.at)


def organization_of(flags: Flags) -> dict[str, str | int | None]:
    """The organization that a server is to look in."""
    return {"organization": None if flags.everywhere else flags.organization}


def follow(flags: Flags, name: str, standing: Callable[[str], Standing], shows: bool, timeout: timedelta | None) -> int:
    """Waits for the end of a rollout, and says how it ended or what was still missing."""
    shows = shows and not flags.quiet and flags.output in ("table", "wide")
    found, code = Follower(standing, shows, Painter(flags.color), timeout).follow(name)
    if not shows or not moves_cursor(sys.stdout):
        _print_standing(flags, found)
    if code == TIMED_OUT and timeout is not None:
        click.echo(f"not over after {duration_text(timeout)}:\n{missing_text(found)}", err=True)
    return code


def _print_standing(flags: Flags, found: Standing) -> None:
    if flags.output in ("json", "yaml"):
        flags.print_data(found.item)
    elif flags.output == "name":
        click.echo(f"rollout/{found.item.name}")
    else:
        for line in status_lines(found.item, found.now, Painter(flags.color), width_of(sys.stdout)):
            click.echo(line)
