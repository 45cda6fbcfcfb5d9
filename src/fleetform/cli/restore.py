"""fleetform restore"""

from __future__ import annotations

import os

import click

from fleetform.cli.options import Flags, shared_flags
from fleetform.wiring.databases import check_backup, database_path, restore_database


@click.command(
    epilog="""\b
Examples:
  fleetform restore fleet-2026-11-18.db
  fleetform restore fleet-2026-11-18.db --state sqlite:/var/lib/fleetform/fleet.db --yes
"""
)
@click.argument("file")
@click.option("--yes", is_flag=True, help="Do not ask before an existing database is replaced.")
@click.option("--dry-run", is_flag=True, help="Check the backup, and change nothing.")
@shared_flags("table")
def command(flags: Flags, file: str, yes: bool, dry_run: bool) -> int:
    """Put a backup in place of a database that nobody holds. The backup is checked first.

    One of an earlier release is brought up to date. What was there stays beside it, as `….before-restore`, and with a
    number where that name is taken.
    """
    path = database_path(flags.state)
    if os.path.exists(path) and not yes and not dry_run:
        raise click.UsageError(f"{path} exists. Give --yes to replace it; it is kept beside it as `….before-restore`.")
    if dry_run:
        check_backup(file)
        flags.say(f"{file} is intact; {path} would be replaced")
        return 0
    kept = restore_database(file, flags.state)
    flags.say(f"{path} restored from {file}" + (f"; what was there is kept as {kept}" if kept else ""))
    return 0
