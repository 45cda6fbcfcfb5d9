"""fleetform init"""

from __future__ import annotations

import os

import click

from fleetform.app.init import FILES
from fleetform.wiring.files import write_file


@click.command(
    epilog="""\b
Example:
  fleetform init my-fleet && cd my-fleet && fleetform explain hello -c eu-prod-1
"""
)
@click.argument("folder", metavar="DIR", default=".")
@click.option("--dry-run", is_flag=True, help="Say which files would be written.")
@click.option("--yes", is_flag=True, help="Write into a folder that is not empty; files that exist are kept.")
@click.option("--reason", metavar="TEXT", hidden=True, help="The reason; kept where writes are recorded.")
@click.option("-q", "--quiet", is_flag=True, help="No prose on stderr.")
def command(folder: str, dry_run: bool, yes: bool, reason: str | None, quiet: bool) -> int:
    """Start a small fleet in an empty folder: two clusters, a definition, a preset, an override."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise click.UsageError(f"{folder} is a file. Name a folder.")
    if not yes and os.path.isdir(folder) and [name for name in os.listdir(folder) if not name.startswith(".")]:
        raise click.UsageError(f"{folder} is not empty. Name a new folder.")
    for path, text in FILES.items():
        target = os.path.normpath(os.path.join(folder, path))
        if os.path.exists(target):
            continue
        if not dry_run:
            write_file(target, text)
        click.echo(target)
    if not dry_run and not quiet:
        where = "" if os.path.normpath(folder) == "." else f" -f {os.path.normpath(folder)}"
        click.echo(f"\nnext: fleetform validate{where}", err=True)
        click.echo(f"      fleetform explain hello -c eu-prod-1 greeting{where}", err=True)
    return 0
