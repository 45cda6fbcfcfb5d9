"""fleetform audit"""

from __future__ import annotations

import click
import msgspec

from fleetform.app.audit import audit, entries_of
from fleetform.app.errors import NoAnswerError
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import table
from fleetform.model.answers.access import AuditLog
from fleetform.outside.files import read_file
from fleetform.store.audit_chain import first_broken
from fleetform.wiring.databases import open_store_reader


@click.command(
    epilog="""\b
Examples:
  fleetform audit                                        who did what, and who was refused
  fleetform audit --server https://fleet.example.org
  fleetform audit -o json > audit.json                   export it
  fleetform audit --verify --from audit.json             was anything in it changed?
  fleetform audit --verify --head sha256:4f1…            and does it still hold what it held then?
"""
)
@click.option("--verify", is_flag=True, help="Check that no entry was changed, inserted or removed.")
@click.option("--head", metavar="HASH", help="With --verify: an entry's hash from earlier, which must still be in it.")
@click.option("--from", "export", metavar="FILE", help="Read an export instead of a database.")
@click.option("--after", metavar="NUMBER", default=0, help="Only entries after this one.")
@shared_flags("table", "wide", "json", "yaml")
def command(flags: Flags, verify: bool, head: str | None, export: str | None, after: int) -> int:
    """Who did what to rollouts, and who was refused, oldest first.

    Each entry's hash covers the one before it: who changes one must change all that follow, and --verify tells. What is
    cut off at the end is noticed by --head, with a hash that was kept elsewhere. Exit codes: 1 the log was changed.
    """
    output = flags.output
    if head is not None and not verify:
        raise click.UsageError("--head belongs to --verify.")
    if verify and after:
        raise click.UsageError("A chain is checked from its first entry on: drop --after.")
    log = _read(flags, export, after)
    if verify:
        return _verify(flags, log, head)
    if output in ("json", "yaml"):
        flags.print_data(log)
        return 0
    rows = [(each.at, each.actor, each.verb, each.subject, each.outcome, each.detail) for each in log.items]
    if rows:
        click.echo("\n".join(table(("AT", "WHO", "WHAT", "OF", "OUTCOME", "DETAIL"), rows)))
    else:
        flags.say("the audit log is empty")
    return 0


def _read(flags: Flags, export: str | None, after: int) -> AuditLog:
    if export is not None:
        try:
            return msgspec.json.decode(read_file(export), type=AuditLog)
        except msgspec.DecodeError as error:
            raise NoAnswerError(
                f"{export} is not an export of an audit log: {error}", "write one with -o json"
            ) from error
    if flags.server is not None:
        return flags.control_plane().audit_log(after)
    reader = open_store_reader(flags.state)
    try:
        return audit(reader, after, 0)[0]
    finally:
        reader.close()


def _verify(flags: Flags, log: AuditLog, head: str | None) -> int:
    if not log.whole:
        raise NoAnswerError("entries of other organizations are left out", "ask as somebody who operates all of them")
    broken = first_broken(entries_of(log.items))
    if broken is not None:
        click.echo(f"entry {broken} does not follow from those before it: the log was changed there", err=True)
        return 1
    if head is not None and head not in {each.hash for each in log.items}:
        click.echo(f"{head} is not in it: the log was cut off, or is another", err=True)
        return 1
    last = f", the last one is {log.items[-1].hash}" if log.items else ""
    click.echo(f"{len(log.items):,} {'entry' if len(log.items) == 1 else 'entries'}, unbroken{last}")
    return 0
