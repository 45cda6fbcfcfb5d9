"""fleetform convert"""

from __future__ import annotations

import difflib
import os
import re

import click

from fleetform.app.answering.references import reported
from fleetform.app.convert import convert, left_out
from fleetform.app.fleet import Fleet
from fleetform.app.migrate import migrate, migration_result
from fleetform.cli.findings import print_findings
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.terminal import exact
from fleetform.cli.text import count, cut
from fleetform.cli.write import write_files
from fleetform.model.answers.conversion import Conversion, ConvertedFile
from fleetform.wiring.files import LocalFiles, write_file


@click.command(
    epilog="""\b
Examples:
  fleetform convert greenhouse/ -n acme                        print native manifests
  fleetform convert greenhouse/ -n acme --output-dir fleet/    write them, a file each
  fleetform convert fleet/ --check                             exit 1 if something is not native
  fleetform convert fleet/ --migrate --dry-run                 the edits that migrations ask for, as a patch
  fleetform convert fleet/ --migrate                           make them
"""
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--output-dir", metavar="DIR", help="Write files below this folder instead of printing.")
@click.option("--migrate", "migrating", is_flag=True, help="Apply migrations to the files themselves.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if something would change.")
@click.option("--dry-run", is_flag=True, help="Say which files would be written.")
@click.option("--yes", is_flag=True, help="Replace files that exist.")
@click.option("--reason", metavar="TEXT", hidden=True, help="The reason; kept where writes are recorded.")
@shared_flags("table", "json", "yaml")
def command(
    flags: Flags,
    paths: tuple[str, ...],
    output_dir: str | None,
    migrating: bool,
    check: bool,
    dry_run: bool,
    yes: bool,
    reason: str | None,
) -> int:
    """Write native manifests from those of other systems, and say what is lost.

    Values stand in what is written as they stand in the input, plain secrets included.

    With --migrate the files themselves are edited, and nothing in them but names and values that a newer version of a
    definition renamed, retyped or removed. A value that a cluster still needs as it is stays. The patch that --dry-run
    and --check show holds the lines around each edit as they stand, plain secrets included.
    """
    output = flags.output
    fleet = flags.fleet((*flags.filename, *paths))
    if migrating:
        if output_dir is not None:
            raise click.UsageError("--migrate edits files where they are; drop --output-dir.")
        return _migrate(flags, fleet, check, dry_run)
    converted, lost = convert(fleet)
    if not flags.quiet and lost:
        print_findings(fleet, lost, flags.color, to_stderr=True)
    changed = [each for each in converted if each.changed]
    if others := left_out(fleet):
        flags.say(f"{count(len(others), 'object')} of other kinds stay as they are: {cut(', '.join(others), 200)}")
    if output in ("json", "yaml"):
        files = [ConvertedFile(path=each.path, object=str(each.object.ref), changed=each.changed) for each in converted]
        flags.print_data(Conversion(files=files, diagnostics=reported(lost, fleet.input.locator)))
    if check:
        if output == "table":
            click.echo("".join(f"{each.path}\n" for each in changed), nl=False)
        flags.say(f"{count(len(changed), 'object')} of {len(converted):,} would change")
        return 1 if changed else 0
    if output_dir is None and output == "table":
        click.echo("---\n".join(each.text() for each in converted), nl=False)
    if output_dir is None:
        return 0
    files_to_write = [(os.path.join(output_dir, each.path), each.text(output_dir)) for each in converted]
    write_files(flags, files_to_write, dry_run, yes)
    return 0


def _migrate(flags: Flags, fleet: Fleet, check: bool, dry_run: bool) -> int:
    migration = migrate(fleet, LocalFiles())
    if flags.output != "table":
        flags.print_data(migration_result(fleet, migration))
    elif check or dry_run:
        for file, text in migration.files.items():
            before = _lines(LocalFiles().read(file))
            for line in difflib.unified_diff(before, _lines(text), f"a/{file}", f"b/{file}"):
                whole = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
                click.echo(exact(whole), nl=False)
    for move, reason in migration.left:
        flags.say(f"{move.item.text} stays as it is: {reason}")
    for file, text in migration.files.items() if not check and not dry_run else ():
        write_file(file, text)
        if flags.output == "table":
            click.echo(file)
    would = "would be " if check or dry_run else ""
    flags.say(f"{count(len(migration.moves), 'value')} {would}rewritten in {count(len(migration.files), 'file')}")
    return 1 if check and migration.moves else 0


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends: a patch knows no other line break than this one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
