"""fleetform catalog"""

from __future__ import annotations

import json
import os
from dataclasses import replace

import click
import msgspec

from fleetform.app.errors import NotFoundError
from fleetform.app.feed import feed
from fleetform.app.get import get
from fleetform.app.scope import Scope
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import count
from fleetform.model.answers.listed_objects import ListedCatalog
from fleetform.wiring.files import write_file

UNAVAILABLE = 4


@click.group(
    epilog="""\b
Examples:
  fleetform catalog fetch                          read every source of every catalog
  fleetform catalog feed --output-dir public/feed  what Renovate reads
"""
)
def command() -> None:
    """Catalogs: where definitions come from, and a feed of their versions."""


@command.command(
    name="fetch",
    short_help="Read catalogs into the cache.",
    epilog="""\b
Examples:
  fleetform catalog fetch -A             every source of every catalog
  fleetform catalog fetch extensions     one catalog
  fleetform catalog fetch -A --due       only what its interval says, for a timer
""",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--due", is_flag=True, help="Only sources whose interval has passed.")
@shared_flags("table", "json", "yaml")
def fetch(flags: Flags, names: tuple[str, ...], due: bool) -> int:
    """Read catalogs from where they are into the cache, and say what they hold.

    A source that cannot be read keeps its last good state, and the command ends with 4.
    """
    output = flags.output
    if flags.confined:
        raise click.UsageError("--confined fetches nothing, and this is all that catalog fetch does.")
    fleet = replace(flags, fetching="due" if due else "all", catalogs=names or None).decided()
    answer = get(fleet, Scope(flags.organization), "catalogs", names)
    catalogs = [each for each in answer.items if isinstance(each, ListedCatalog)]
    if not catalogs:
        flags.refuse(fleet, fleet.findings.errors)
        raise NotFoundError("there is no catalog in the input", "write a Catalog, or choose another input with -f")
    if output != "table":
        flags.print_data(answer)
    for item in catalogs if output == "table" else ():
        click.echo(f"{item.metadata.name}: {count(item.status.definitions, 'definition')}")
        for source in item.status.sources:
            click.echo(f"  {source.source}: {count(source.versions, 'version')}, read {source.read_at or 'never'}")
            for text in (*source.problems, *source.changed):
                click.echo(f"    {text}")
            if source.error:
                since = f" since {source.failed_since}" if source.failed_since else ""
                click.echo(f"    unavailable{since}: {source.error}")
    failing = any(source.error for item in catalogs for source in item.status.sources)
    return UNAVAILABLE if failing else 0


@command.command(
    name="feed",
    short_help="Write all versions as files that Renovate reads.",
    epilog="""\b
Example:
  fleetform catalog feed --fetch -n acme --output-dir public/feed
""",
)
@click.option("--output-dir", metavar="DIR", required=True, help="Where the files go: one <definition>.json each.")
@click.option("--dry-run", is_flag=True, help="Say which files would be written.")
@click.option("--yes", is_flag=True, hidden=True, help="For scripts; nothing is asked.")
@click.option("--reason", metavar="TEXT", hidden=True, help="The reason; kept where writes are recorded.")
@shared_flags("table")
def write_feed(flags: Flags, output_dir: str, dry_run: bool, yes: bool, reason: str | None) -> int:
    """Write the versions of every definition as files that Renovate reads.

    Versions that policies refuse (yanked, below a floor, past their end) are left out.
    """
    fleet = flags.fleet()
    files = feed(fleet, flags.scope(fleet))
    for name, each in files.items():
        path = os.path.join(output_dir, f"{name}.json")
        if not dry_run:
            write_file(path, json.dumps(msgspec.to_builtins(each), indent=2, ensure_ascii=False) + "\n")
        click.echo(path)
    flags.say(f"{count(len(files), 'file')} {'would be ' if dry_run else ''}written")
    return 0
