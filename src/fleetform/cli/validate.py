"""fleetform validate"""

from __future__ import annotations

import os

import click

from fleetform.app.comparing.definition_changes import against
from fleetform.app.consents import written_consent_findings
from fleetform.app.rendering.plugin_renders import lint_renders
from fleetform.app.validate import findings, validate
from fleetform.cli.findings import print_findings, print_skipped
from fleetform.cli.markdown_text import inline
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.sides import in_same_folder
from fleetform.cli.text import Painter, count, place_text
from fleetform.model.answers.validation import ValidateResult
from fleetform.model.results.diagnostics import Diagnostic


@click.command(
    epilog="""\b
Examples:
  fleetform validate                     the current folder
  fleetform validate fleet/ --strict     warnings are errors
  fleetform validate catalog/ --against main -o markdown
  fleetform validate --render            charts and kustomizations, too
  fleetform validate -o json | jq '.diagnostics[] | select(.severity == "error")'
"""
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--against", "base", metavar="REF|DIR", help="Check changed definitions against a commit or a folder.")
@click.option("--render", "with_objects", is_flag=True, help="Render every plugin, too, and report those that fail.")
@shared_flags("table", "wide", "json", "yaml", "markdown")
def command(flags: Flags, paths: tuple[str, ...], base: str | None, with_objects: bool) -> int:
    """Report everything that is wrong with the input, at once.

    Errors make it exit 1; warnings do not, unless --strict is given. With --against, definitions that changed are held
    to what they were: a version bump for every change, and no option that stops working within a major version.
    """
    output = flags.output
    fleet = flags.decided((*flags.filename, *paths))
    unavailable = False
    more: list[Diagnostic] = []
    if base is not None:
        side = base if base.startswith("git:") else f"git:{base}"
        before = flags.decided([base if os.path.isdir(base) else in_same_folder(side, (*flags.filename, *paths))])
        # A base that is not there is an error, one with errors in it is not.
        flags.refuse(before, [each for each in before.reading if each.code == "cannot-read"])
        more += against(fleet, before)
    if with_objects and not fleet.findings.errors:
        with progress(f"rendering {count(len(fleet.decisions.plugins), 'plugin')}", quiet=flags.quiet):
            failed, unavailable = lint_renders(fleet, flags.renderers())
            more += failed
    with progress("checking", quiet=flags.quiet):
        if not fleet.findings.errors:
            more += written_consent_findings(fleet)
        result = validate(fleet, more)
    if output in ("json", "yaml"):
        flags.print_data(result)
    elif output == "markdown":
        click.echo(_markdown(result))
    else:
        found = findings(fleet, more)
        shown = [each for each in found if each.severity != "info" or flags.verbose or flags.output == "wide"]
        if flags.verbose:
            print_skipped(fleet)
        print_findings(fleet, shown, flags.color, every=output == "wide")
        counts = result.counts
        paint = Painter(flags.color)
        errors = paint(count(counts.errors, "error"), fg="red" if counts.errors else "green")
        verdict = f"{errors}, {count(counts.warnings, 'warning')}"
        skipped = f", {count(counts.skipped, 'document')} skipped" if counts.skipped else ""
        click.echo(f"{count(counts.files, 'file')}, {count(counts.objects, 'object')}{skipped}: {verdict}")
    if result.valid:
        return 0
    return 4 if unavailable and not fleet.findings.errors else 1


def _markdown(result: ValidateResult) -> str:
    """A pull request's comment."""
    counts = result.counts
    lines = [f"### Fleetform: {count(counts.errors, 'error')}, {count(counts.warnings, 'warning')}", ""]
    shown = [each for each in result.diagnostics if each.severity != "info"]
    if shown:
        lines += ["| | what | where | what to do |", "|---|---|---|---|"]
    for each in shown[:200]:
        cells = (f"{each.severity} `{each.code}`", *map(inline, (each.message, place_text(each.place), each.hint)))
        lines.append(f"| {' | '.join(cells)} |")
    if len(shown) > 200:
        lines.append(f"\n…and {len(shown) - 200:,} more")
    return "\n".join(lines)
