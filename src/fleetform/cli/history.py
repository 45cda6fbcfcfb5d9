"""fleetform history"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from fleetform.app.history import history, organizations_with
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import table
from fleetform.model.answers.history import History
from fleetform.ports.store import StoreReader
from fleetform.syntax.times import parse_time
from fleetform.wiring.databases import open_store_reader

_FEW = 20
_SHORT = 12


@click.command(
    epilog="""\b
Examples:
  fleetform history eu-prod-1                              what happened there, the latest first
  fleetform history eu-prod-1 --at 2026-11-17T03:00:00Z    what it ran at that time, and why
  fleetform history eu-prod-1 --at -1h                     what it ran an hour ago
  fleetform history eu-prod-1 cert-manager-eu-prod-1 -o json
"""
)
@click.argument("name", metavar="CLUSTER")
@click.argument("plugin", required=False)
@shared_flags("table", "wide", "json", "yaml")
def command(flags: Flags, name: str, plugin: str | None) -> int:
    """What a cluster ran at a time, and what happened there before: which rollout brought it, and what came of it.

    It reads the database of a control plane, which may be running.
    """
    output = flags.output
    answer = _ask(flags, name, plugin)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    else:
        _print(flags, answer, output == "wide")
    return 0


def _ask(flags: Flags, name: str, plugin: str | None) -> History:
    if flags.server is not None:
        said = {"cluster": name, "plugin": plugin, "organization": flags.organization, "at": flags.at}
        return flags.control_plane().answer("history", History, said)
    at = parse_time(flags.at) if flags.at is not None else datetime.now(UTC).replace(microsecond=0)
    reader = open_store_reader(flags.state)
    try:
        return history(reader, flags.organization or _organization(reader, name), name, plugin, at)
    finally:
        reader.close()


def _organization(reader: StoreReader, cluster: str) -> str:
    """The only organization that has a cluster of that name; else the default one (S7)."""
    found = organizations_with(reader, cluster)
    if len(found) > 1:
        raise click.UsageError(f"{', '.join(found)} each have a cluster {cluster}: name one with -n.")
    return found[0] if found else "default"


def _print(flags: Flags, answer: History, everything: bool) -> None:
    click.echo(f"{answer.cluster} at {answer.at}")
    rows = [
        (each.plugin, each.version or "", each.health, each.since, each.rollout, each.revision[:_SHORT])
        for each in answer.running
    ]
    if rows:
        # Only what came out of a repository has a commit.
        commits = any(each.revision for each in answer.running)
        header = ("PLUGIN", "VERSION", "HEALTH", "SINCE", "ROLLOUT", "COMMIT")
        shown_columns = len(header) if commits else len(header) - 1
        lines = table(header[:shown_columns], [row[:shown_columns] for row in rows], "  ", flags.width)
        click.echo("\n".join(lines))
    else:
        click.echo("  nothing ran there")
    shown = answer.items if everything else answer.items[:_FEW]
    click.echo("\nbefore that, the latest first")
    events = [(each.at, each.event, each.plugin, each.version or "", each.reason or each.rollout) for each in shown]
    click.echo("\n".join(table(("AT", "EVENT", "PLUGIN", "VERSION", "WHY"), events, "  ")))
    if len(shown) < len(answer.items):
        flags.say(f"{len(answer.items) - len(shown):,} more with -o wide")
