"""fleetform rollout"""

from __future__ import annotations

import getpass
import grp
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial, update_wrapper
from typing import Any, NamedTuple

import click
from msgspec import structs

from fleetform.app.rollout import Asked, Person, Rollouts
from fleetform.app.scope import other_organizations_hint
from fleetform.cli.following import TIMED_OUT, Follower, Standing, missing_text
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.rollout_view import status_lines
from fleetform.cli.terminal import moves_cursor, width_of
from fleetform.cli.text import Painter, table
from fleetform.model.answers.listed_rollouts import ListedRollout
from fleetform.model.answers.planning import RolloutAnswer, RolloutList
from fleetform.syntax.times import duration_text, parse_duration
from fleetform.wiring.databases import open_state

_COLUMNS = ("NAME", "PRESET", "FROM", "TO", "PHASE", "UPDATED", "STAGE")


@click.group(
    epilog="""\b
Examples:
  fleetform rollout list --state state.json
  fleetform rollout approve cert-manager-7f3a1b2c --stage gold --state state.json
  fleetform rollout pause cert-manager --reason INC-4711 --state state.json
  fleetform rollout rollback cert-manager --state state.json
  fleetform rollout approve cert-manager --stage gold --server http://127.0.0.1:8080
  fleetform rollout status cert-manager --watch --timeout 2h --server http://127.0.0.1:8080

With --server a control plane is asked; else requests are written to the state file, and the next plan reads them.
"""
)
def command() -> None:
    """Changes on their way: see them, approve stages, pause, abort, roll back."""


def _verb(function: Callable[..., Any]) -> Any:
    """A verb about what is stored: without a state there is nothing to ask."""

    def wrapper(flags: Flags, **given: Any) -> Any:
        if flags.state is None and flags.server is None:
            raise click.UsageError("Rollouts are kept in a state: give --state FILE, or --server URL.")
        return function(flags, **given)

    return shared_flags("table", "wide", "json", "yaml", "name")(update_wrapper(wrapper, function))


def _writes(function: Callable[..., Any]) -> Any:
    """The flags of a verb that writes."""
    for option in (
        click.option("--reason", default="", help="The reason; it is recorded."),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Say what would be stored, and store nothing."),
    ):
        function = option(function)
    return function


def _duration(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    try:
        return parse_duration(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter("write a duration such as 4h or 1d") from error


def _timeout(function: Callable[..., Any]) -> Any:
    option = click.option("--timeout", metavar="TIME", callback=_duration, help="Give up after this long: exit 5.")
    return option(function)


class Wait(NamedTuple):
    """Somebody waits for the end of what was asked for, at most so long."""

    timeout: timedelta | None


def _person(flags: Flags, reason: str = "", groups: tuple[str, ...] = ()) -> Person:
    """Who asks: the user of this machine, with its groups, unless --as says otherwise."""
    if flags.as_user is not None:
        return Person(flags.as_user, frozenset(groups), reason)
    user = getpass.getuser()
    names = {group.gr_name for group in grp.getgrall() if user in group.gr_mem or group.gr_gid == os.getgid()}
    return Person(user, frozenset(names) | frozenset(groups), reason)


def _rollouts(flags: Flags, reason: str = "", groups: tuple[str, ...] = ()) -> Rollouts:
    fleet = flags.fleet()
    return Rollouts(fleet, flags.scope(fleet), _person(flags, reason, groups))


def _do(
    flags: Flags,
    name: str,
    ask: Callable[[Rollouts], Asked],
    question: str,
    dry_run: bool,
    yes: bool,
    reason: str,
    groups: tuple[str, ...] = (),
    wait: Wait | None = None,
    **said: object,
) -> int:
    """Ask for something, say what it means, and store it; or have a control plane do so. wait: until it is over."""
    if flags.server is not None and groups:
        raise click.UsageError("A server knows your groups: drop --group.")
    request = (
        partial(_write_state, flags, ask, reason, groups)
        if flags.server is None
        else partial(_ask_server, flags, name, reason, said)
    )
    asks = bool(question) and not yes and not dry_run and sys.stdin.isatty()
    if asks:
        # What makes no sense is refused before anybody is asked to agree.
        request(dry_run=True)
        click.confirm(question, abort=True, err=True)
    answer = request(dry_run=dry_run)
    waits = wait is not None and not dry_run
    told = f"{'would be stored: ' if dry_run else ''}{answer.message or ''}"
    if flags.output in ("table", "wide"):
        click.echo(told)
    elif flags.output == "name":
        flags.say(told)
    if not waits:
        _print_asked(flags, answer)
    if wait is None or dry_run:
        return 0
    rollout = answer.name if isinstance(answer, RolloutAnswer) else name
    return _follow(flags, rollout, partial(_standing, flags), True, wait.timeout)


def _print_asked(flags: Flags, answer: RolloutAnswer | RolloutList) -> None:
    if flags.output in ("json", "yaml"):
        flags.print_data(answer)
    elif flags.output == "name" and isinstance(answer, RolloutAnswer):
        click.echo(f"rollout/{answer.name}")


def _write_state(
    flags: Flags, ask: Callable[[Rollouts], Asked], reason: str, groups: tuple[str, ...], dry_run: bool
) -> RolloutAnswer | RolloutList:
    assert flags.state is not None
    store = open_state(flags.state)
    store.read()
    asked = ask(_rollouts(flags, reason, groups))
    if not dry_run:
        store.write(asked.known)
    if asked.rollout is None:
        return RolloutList(items=[], message=asked.message, diagnostics=[])
    return structs.replace(asked.rollout, message=asked.message)


def _ask_server(
    flags: Flags, name: str, reason: str, said: Mapping[str, object], dry_run: bool
) -> RolloutAnswer | RolloutList:
    verb = click.get_current_context().info_name or ""
    body = {**_in(flags), **said, "reason": reason, "dryRun": dry_run, "behalf": flags.as_user}
    return flags.control_plane().request(name, verb, body)


@command.command(name="list")
@_verb
def list_(flags: Flags) -> int:
    """All rollouts: those that run or are about to, and those that ended."""
    hint = ""
    if flags.server is not None:
        listed = flags.control_plane().listing("rollouts", flags.parameters()).items
        found = [each.status for each in listed if isinstance(each, ListedRollout)]
    else:
        fleet = flags.fleet()
        scope = flags.scope(fleet)
        found = Rollouts(fleet, scope, _person(flags)).all()
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


@command.command()
@click.argument("name", metavar="NAME|PRESET")
@click.option("--watch", is_flag=True, help="Show it until it is over.")
@click.option("--wait", is_flag=True, help="Show it once it is over.")
@_timeout
@_verb
def status(flags: Flags, name: str, watch: bool, wait: bool, timeout: timedelta | None) -> int:
    """One rollout, stage by stage; with --watch or --wait until it is over.

    Then exit codes are: 0 done, 1 failed, halted or aborted, 5 not over in time.
    """
    if timeout is not None and not (watch or wait):
        raise click.UsageError("--timeout goes with --watch or --wait.")
    if watch or wait:
        return _follow(flags, name, partial(_standing, flags), watch, timeout)
    _print_standing(flags, _standing(flags, name))
    return 0


def _standing(flags: Flags, name: str) -> Standing:
    if flags.server is not None:
        return Standing(flags.control_plane().rollout(name, _in(flags)), datetime.now(UTC))
    fleet = flags.fleet()
    return Standing(Rollouts(fleet, flags.scope(fleet), _person(flags)).status(name), fleet.plan.at)


def _in(flags: Flags) -> dict[str, str | int | None]:
    """The organization that a server is to look in."""
    return {"organization": None if flags.everywhere else flags.organization}


def _follow(
    flags: Flags, name: str, standing: Callable[[str], Standing], shows: bool, timeout: timedelta | None
) -> int:
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


@command.command()
@click.argument("name", metavar="NAME")
@click.option("--stage", required=True, help="Which stage; `deletes` for plugins that are no longer wanted.")
@click.option("--change", metavar="ID", help="Refuse if the rollout brings another change than this.")
@click.option(
    "--group", "groups", multiple=True, help="A group that you are in, if the stage asks for one; repeatable."
)
@_writes
@_verb
def approve(
    flags: Flags,
    name: str,
    stage: str,
    change: str | None,
    groups: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    reason: str,
) -> int:
    """Approve a stage of a change.

    An approval is bound to the change and to the policy: it is void when either is another.
    """
    return _do(
        flags,
        name,
        lambda all_: all_.approve(name, stage, change),
        "",
        dry_run,
        yes,
        reason,
        groups,
        stage=stage,
        change=change,
    )


@command.command()
@click.argument("name", metavar="NAME|PRESET")
@_writes
@_verb
def pause(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Let nothing new start; what is in flight finishes."""
    return _do(flags, name, lambda all_: all_.pause(name), "", dry_run, yes, reason)


@command.command()
@click.argument("name", metavar="NAME|PRESET")
@_writes
@_verb
def resume(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Resume a rollout that was paused."""
    return _do(flags, name, lambda all_: all_.resume(name), "", dry_run, yes, reason)


@command.command()
@click.argument("name", metavar="NAME|PRESET")
@_writes
@_verb
def abort(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """End a rollout where it is; started clusters stay as they are."""
    return _do(flags, name, lambda all_: all_.abort(name), f"Abort {name}?", dry_run, yes, reason)


@command.command()
@click.argument("name", metavar="NAME|PRESET")
@click.option("--to", metavar="VERSION", help="Refuse if that is not what was healthy before.")
@_writes
@_verb
def rollback(flags: Flags, name: str, to: str | None, dry_run: bool, yes: bool, reason: str) -> int:
    """Return every cluster that a rollout changed to what was healthy before."""
    return _do(flags, name, lambda all_: all_.roll_back(name, to), f"Roll {name} back?", dry_run, yes, reason, to=to)


@command.command()
@click.argument("preset", metavar="PRESET|NAME")
@_writes
@_verb
def retry(flags: Flags, preset: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Try again what failed, was aborted or was rolled back."""
    return _do(flags, preset, lambda all_: all_.retry(preset), "", dry_run, yes, reason)


@command.command()
@click.argument("preset")
@click.option("--emergency", is_flag=True, help="Skip windows, notice, soak, waits, the queue and soft freezes.")
@click.option("--expires", default="24h", callback=_duration, help="How long the emergency lasts; 24h if not given.")
@click.option("--supersede", is_flag=True, help="Replace the rollout that runs by the newest change.")
@click.option("--wait", is_flag=True, help="Show it until it is over; 1 if it failed, 5 if it takes too long.")
@_timeout
@_writes
@_verb
def start(
    flags: Flags,
    preset: str,
    emergency: bool,
    expires: timedelta,
    supersede: bool,
    wait: bool,
    timeout: timedelta | None,
    dry_run: bool,
    yes: bool,
    reason: str,
) -> int:
    """Speed up a change: as an emergency, or in place of the one that runs.

    An emergency has a reason and an end, and counts once enough people agreed who did not make the change: each of them
    runs this command. Ordinary changes start by themselves.
    """
    if timeout is not None and not wait:
        raise click.UsageError("--timeout goes with --wait.")
    question = f"Declare an emergency for {preset}?" if emergency else f"Replace what runs for {preset}?"
    return _do(
        flags,
        preset,
        lambda all_: all_.start(preset, emergency, supersede, expires),
        question,
        dry_run,
        yes,
        reason,
        wait=Wait(timeout) if wait else None,
        emergency=emergency,
        supersede=supersede,
        expires=f"{int(expires.total_seconds())}s",
    )
