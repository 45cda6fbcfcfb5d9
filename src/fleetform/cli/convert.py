"""fleetform convert"""

from __future__ import annotations

import os

import click

from fleetform.app.convert import convert, losses
from fleetform.cli.findings import print_findings
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import count
from fleetform.wiring import write_file


@click.command(
    epilog="""\b
Examples:
  fleetform convert greenhouse/ -n acme                        print native manifests
  fleetform convert greenhouse/ -n acme --output-dir fleet/    write them, a file each
  fleetform convert fleet/ --check                             exit 1 where something is not native
"""
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--output-dir", metavar="DIR", help="Write files below this folder instead of printing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where something is not native.")
@click.option("--dry-run", is_flag=True, help="Say which files would be written.")
@click.option("--yes", is_flag=True, help="Replace files that exist.")
@shared_flags
def command(flags: Flags, paths: tuple[str, ...], output_dir: str | None, check: bool, dry_run: bool, yes: bool) -> int:
    """Write native manifests from those of other systems, and say what is lost.

    Values stand in what is written as they stand in the input, plain secrets included.
    """
    fleet = flags.fleet((*flags.filename, *paths))
    converted = convert(fleet)
    lost = losses(fleet)
    if not flags.quiet and lost:
        print_findings(fleet, lost, flags.color, to_stderr=True)
    changed = [each for each in converted if each.changed]
    if check:
        for each in changed:
            click.echo(each.path)
        flags.say(f"{count(len(changed), 'object')} of {len(converted):,} would change")
        return 1 if changed else 0
    if output_dir is None:
        click.echo("---\n".join(each.text for each in converted), nl=False)
        return 0
    return _write(flags, [(os.path.join(output_dir, each.path), each.text) for each in converted], dry_run, yes)


def _write(flags: Flags, files: list[tuple[str, str]], dry_run: bool, yes: bool) -> int:
    existing = [path for path, _ in files if os.path.exists(path)]
    if existing and not yes and not dry_run:
        message = f"{existing[0]} exists" + (
            f", and {count(len(existing) - 1, 'other file')}" if len(existing) > 1 else ""
        )
        raise click.UsageError(f"{message}. Give --yes to replace, or another --output-dir.")
    for path, text in files:
        if not dry_run:
            write_file(path, text)
        click.echo(path)
    flags.say(f"{count(len(files), 'file')} {'would be ' if dry_run else ''}written")
    return 0
