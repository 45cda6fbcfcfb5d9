"""fleetform validate"""

from __future__ import annotations

import click

from fleetform.app.validate import findings, validate
from fleetform.cli.findings import print_findings
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, count


@click.command(
    epilog="""\b
Examples:
  fleetform validate                     the current folder
  fleetform validate fleet/ --strict     warnings are errors
  fleetform validate -o json | jq '.diagnostics[] | select(.severity == "error")'
"""
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@shared_flags
def command(flags: Flags, paths: tuple[str, ...]) -> int:
    """Report everything that is wrong with the input, at once.

    Errors make it exit 1; warnings do not, unless --strict is given.
    """
    fleet = flags.read((*flags.filename, *paths))
    result = validate(fleet)
    if flags.only("table", "wide", "json", "yaml", "name") in ("json", "yaml"):
        flags.print_data(result)
    else:
        found = findings(fleet)
        shown = [each for each in found if each.severity != "info" or flags.verbose or flags.output == "wide"]
        print_findings(fleet, shown, flags.color)
        counts = result["counts"]
        paint = Painter(flags.color)
        errors = paint(count(counts["errors"], "error"), fg="red" if counts["errors"] else "green")
        verdict = f"{errors}, {count(counts['warnings'], 'warning')}"
        click.echo(f"{count(counts['files'], 'file')}, {count(counts['objects'], 'object')}: {verdict}")
    return 0 if result["valid"] else 1
