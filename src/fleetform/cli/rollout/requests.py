"""fleetform rollout approve, pause, resume, abort, rollback, retry, start: what people ask of rollouts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import click
from msgspec import structs

from fleetform.app.rollout import Asked, Rollouts
from fleetform.cli.options import Flags
from fleetform.cli.rollout.asking import duration, rollouts_of, timeout_flag, verb_about_one
from fleetform.cli.rollout.standing import follow, organization_of, standing
from fleetform.model.answers.planning import RolloutAnswer, RolloutList
from fleetform.wiring.databases import open_state


def _writes(function: Callable[..., Any]) -> Any:
    """The flags of a verb that writes."""
    for option in (
        click.option("--reason", default="", help="The reason; it is recorded."),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Say what would be stored, and store nothing."),
    ):
        function = option(function)
    return function


class Wait(NamedTuple):
    """Somebody waits for the end of what was asked for, at most so long."""

    timeout: timedelta | None


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
    return follow(flags, rollout, partial(standing, flags), True, wait.timeout)


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
    asked = ask(rollouts_of(flags, reason, groups))
    if not dry_run:
        store.write(asked.known)
    if asked.rollout is None:
        return RolloutList(items=[], message=asked.message, diagnostics=[])
    return structs.replace(asked.rollout, message=asked.message)


def _ask_server(
    flags: Flags, name: str, reason: str, said: Mapping[str, object], dry_run: bool
) -> RolloutAnswer | RolloutList:
    verb = click.get_current_context().info_name or ""
    body = {**organization_of(flags), **said, "reason": reason, "dryRun": dry_run, "behalf": flags.as_user}
    return flags.control_plane().request(name, verb, body)


@click.command(
    short_help="Approve a stage of a change.",
    epilog="""\b
Examples:
  fleetform rollout approve cert-manager-7f3a1b2c --stage gold --reason CHG-1187 --state state.json
  fleetform rollout approve cert-manager-7f3a1b2c --stage deletes --server http://127.0.0.1:8080
""",
)
@click.argument("name", metavar="NAME")
@click.option("--stage", required=True, help="Which stage; `deletes` for plugins that are no longer wanted.")
@click.option("--change", metavar="ID", help="Refuse if the rollout brings another change than this.")
@click.option(
    "--group", "groups", multiple=True, help="A group that you are in, if the stage asks for one; repeatable."
)
@_writes
@verb_about_one
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


@click.command(
    short_help="Let nothing new start.",
    epilog="""\b
Example:
  fleetform rollout pause cert-manager --reason INC-4711 --state state.json
""",
)
@click.argument("name", metavar="NAME|PRESET")
@_writes
@verb_about_one
def pause(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Let nothing new start; what is in flight finishes."""
    return _do(flags, name, lambda all_: all_.pause(name), "", dry_run, yes, reason)


@click.command(
    short_help="Resume a rollout that was paused.",
    epilog="""\b
Example:
  fleetform rollout resume cert-manager --state state.json
""",
)
@click.argument("name", metavar="NAME|PRESET")
@_writes
@verb_about_one
def resume(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Resume a rollout that was paused."""
    return _do(flags, name, lambda all_: all_.resume(name), "", dry_run, yes, reason)


@click.command(
    short_help="End a rollout where it is.",
    epilog="""\b
Example:
  fleetform rollout abort cert-manager --reason "wrong version" --state state.json
""",
)
@click.argument("name", metavar="NAME|PRESET")
@_writes
@verb_about_one
def abort(flags: Flags, name: str, dry_run: bool, yes: bool, reason: str) -> int:
    """End a rollout where it is; started clusters stay as they are."""
    return _do(flags, name, lambda all_: all_.abort(name), f"Abort {name}?", dry_run, yes, reason)


@click.command(
    short_help="Return to what was healthy before.",
    epilog="""\b
Examples:
  fleetform rollout rollback cert-manager --dry-run --state state.json
  fleetform rollout rollback cert-manager --to 1.3.2 --yes --server http://127.0.0.1:8080
""",
)
@click.argument("name", metavar="NAME|PRESET")
@click.option("--to", metavar="VERSION", help="Refuse if that is not what was healthy before.")
@_writes
@verb_about_one
def rollback(flags: Flags, name: str, to: str | None, dry_run: bool, yes: bool, reason: str) -> int:
    """Return every cluster that a rollout changed to what was healthy before."""
    return _do(flags, name, lambda all_: all_.roll_back(name, to), f"Roll {name} back?", dry_run, yes, reason, to=to)


@click.command(
    short_help="Try again what failed or was aborted.",
    epilog="""\b
Example:
  fleetform rollout retry cert-manager --state state.json
""",
)
@click.argument("preset", metavar="PRESET|NAME")
@_writes
@verb_about_one
def retry(flags: Flags, preset: str, dry_run: bool, yes: bool, reason: str) -> int:
    """Try again what failed, was aborted or was rolled back."""
    return _do(flags, preset, lambda all_: all_.retry(preset), "", dry_run, yes, reason)


@click.command(
    short_help="Speed up a change, as an emergency.",
    epilog="""\b
Examples:
  fleetform rollout start cert-manager --emergency --reason CVE-2026-1234 --state state.json
  fleetform rollout start cert-manager --supersede --wait --server http://127.0.0.1:8080
""",
)
@click.argument("preset")
@click.option("--emergency", is_flag=True, help="Skip windows, notice, soak, waits, the queue and soft freezes.")
@click.option("--expires", default="24h", callback=duration, help="How long the emergency lasts; 24h if not given.")
@click.option("--supersede", is_flag=True, help="Replace the rollout that runs by the newest change.")
@click.option("--wait", is_flag=True, help="Show it until it is over; 1 if it failed, 5 if it takes too long.")
@timeout_flag
@_writes
@verb_about_one
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
