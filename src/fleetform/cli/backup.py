"""fleetform backup"""

from __future__ import annotations

import os

import click

from fleetform.cli.options import Flags, shared_flags
from fleetform.wiring.databases import back_up_database, export_state


@click.command(
    epilog="""\b
Examples:
  fleetform backup fleet-2026-11-18.db                  everything, also while it runs
  fleetform backup --redacted state.json                what `--state` reads: no files, no secrets
"""
)
@click.argument("file")
@click.option("--redacted", is_flag=True, help="A state export without files and bytes, for previews elsewhere.")
@click.option("--yes", is_flag=True, help="Replace a file that exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@shared_flags("table")
def command(flags: Flags, file: str, redacted: bool, yes: bool, dry_run: bool) -> int:
    """Write a whole, checked copy of a control plane's database; the control plane may be running.

    With --redacted it is a state export: what runs where, rollouts, approvals and stamps.
    """
    if os.path.exists(file) and not yes and not dry_run:
        raise click.UsageError(f"{file} exists. Give --yes to replace it.")
    if not dry_run:
        if redacted:
            export_state(flags.state, file)
        else:
            back_up_database(flags.state, file)
    flags.say(f"{file} {'would be ' if dry_run else ''}written")
    return 0
