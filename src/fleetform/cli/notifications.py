"""fleetform notifications"""

from __future__ import annotations

from typing import get_args

import click

from fleetform.app.notifications import notifications
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, table
from fleetform.model.answers.notifications import Notification, NotificationList
from fleetform.model.kinds.fleet import Event
from fleetform.wiring.databases import open_store_reader

# What the control plane itself has to say is in no organization's wishes.
EVENTS = (*get_args(Event), "NotDelivered")
_COLORS = {"Blocked": "red", "Failed": "red", "Halted": "red", "NotDelivered": "red", "Finished": "green"}
_COLORS |= dict.fromkeys(("ApprovalNeeded", "Countdown", "Forced", "RolledBack"), "yellow")


@click.command(
    epilog="""\b
Examples:
  fleetform notifications                                  what was told, the latest first
  fleetform notifications -n acme --event ApprovalNeeded   who waits for an approval
  fleetform notifications --server https://fleet.example.org -o json
"""
)
@click.option("--event", "events", multiple=True, type=click.Choice(EVENTS), help="Only this; may be repeated.")
@click.option("--limit", default=20, show_default=True, metavar="NUMBER", help="At most this many; 0 shows all.")
@shared_flags("table", "wide", "json", "yaml")
def command(flags: Flags, events: tuple[str, ...], limit: int) -> int:
    """What people were told: what waits, is blocked, needs an approval, started, failed, went back or is done.

    One line for each thing that happened, however many clusters it concerns. It reads the database of a control plane,
    which may be running.
    """
    output = flags.output
    if limit < 0:
        raise click.UsageError("--limit cannot be less than 0.")
    answer = _ask(flags, events, limit)
    if output in ("json", "yaml"):
        flags.print_data(answer)
        return 0
    told = answer.items
    if not told:
        flags.say("no notifications yet")
        return 0
    paint = Painter(flags.color)
    rows = [(each.at, each.organization, each.event, str(each.clusters or ""), each.title) for each in told]
    header, *lines = table(("AT", "ORGANIZATION", "EVENT", "CLUSTERS", "WHAT"), rows)
    click.echo(header)
    for each, line in zip(told, lines, strict=True):
        color = _COLORS.get(each.event)
        click.echo(line.replace(each.event, paint(each.event, fg=color), 1) if color is not None else line)
        for more in _more(each) if output == "wide" else ():
            click.echo(f"    {more}")
    return 0


def _ask(flags: Flags, events: tuple[str, ...], limit: int) -> NotificationList:
    if flags.server is not None:
        said = {"organization": flags.organization, "event": ",".join(events)}
        return flags.control_plane().notifications(said, limit)
    reader = open_store_reader(flags.state)
    try:
        return notifications(reader, flags.organization, events, limit=limit)[0]
    finally:
        reader.close()


def _more(told: Notification) -> list[str]:
    lines = [f"{each.message}: {_names(each.clusters, each.names)}" for each in told.causes]
    if not lines and told.clusters:
        lines = [_names(told.clusters, told.names)]
    lines += [f"until {told.until}"] if told.until is not None else []
    return [*lines, told.do] if told.do else lines


def _names(count: int, names: list[str]) -> str:
    return ", ".join(names) + (f" and {count - len(names):,} more" if count > len(names) else "")
