"""fleetform diff"""

from __future__ import annotations

import os

import click

from fleetform.app.diff import diff
from fleetform.app.fleet import Fleet
from fleetform.app.scope import scope_over
from fleetform.cli.changes import change_lines
from fleetform.cli.markdown import markdown
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.sides import SERVER, in_same_folder
from fleetform.cli.text import Painter
from fleetform.model.answers.diff import Diff
from fleetform.wiring.fleets import open_accepted

_FAILURES = ("delete", "blocked", "tie")


def _fail_on(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    wanted = tuple(word.strip() for word in (text or "").split(",") if word.strip())
    for word in wanted:
        if word not in _FAILURES:
            raise click.BadParameter(f"{word} is not one of {', '.join(_FAILURES)}")
    return wanted


@click.command(
    epilog="""\b
A side is a folder, git:REF[:DIR], or `server`: what the control plane of --server, or of --state sqlite:PATH, has
accepted. Without FROM it is git:HEAD; without TO it is what -f names.

\b
Examples:
  fleetform diff                                   what is not committed yet
  fleetform diff git:main                          my change against main
  fleetform diff git:main -o markdown              the same, for a pull request's comment
  fleetform diff git:v1 git:v2 --exit-code
  fleetform diff before/ after/ --fail-on delete,blocked
  fleetform diff git:main -c eu-prod-1 --render    the objects that change on one cluster
  fleetform diff server fleet/ --server http://127.0.0.1:8080    what a push would change there
"""
)
@click.argument("from_side", metavar="[FROM]", default="git:HEAD")
@click.argument("to_side", metavar="[TO]", required=False)
@click.option("--render", "with_objects", is_flag=True, help="Render both sides, and show the objects that change.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if anything differs.")
@click.option("--max-clusters", type=click.IntRange(min=0), metavar="N", help="Exit 1 if more clusters change.")
@click.option("--fail-on", metavar="WHAT,…", callback=_fail_on, help=f"Exit 1 on any of {', '.join(_FAILURES)}.")
@click.option(
    "--accept-unknown",
    is_flag=True,
    help="What cannot be compared (a secret's content, a catalog) does not count as a difference.",
)
@shared_flags("table", "wide", "json", "yaml", "markdown")
def command(
    flags: Flags,
    from_side: str,
    to_side: str | None,
    with_objects: bool,
    exit_code: bool,
    max_clusters: int | None,
    fail_on: tuple[str, ...],
    accept_unknown: bool,
) -> int:
    """Show what a change does to every cluster, before it is made.

    Clusters with the same change are shown once. FROM is taken as what runs.
    """
    output = flags.output
    if to_side is not None and flags.filename:
        raise click.UsageError("FROM and TO are both named, so there is nothing left to read with -f.")
    if SERVER in (from_side, to_side):
        before, after = _with_server(flags, from_side, to_side, with_objects)
    elif flags.server is not None:
        raise click.UsageError("Neither side is the server: write `diff server`, or drop --server.")
    else:
        paths = [to_side] if to_side else list(flags.filename)
        folders = paths if len(paths) == 1 and os.path.isdir(paths[0]) else []
        before = flags.fleet([in_same_folder(from_side, folders)])
        after = flags.fleet([to_side] if to_side else (), before)
    # All organizations unless one is named: a preview that leaves something out is none.
    organization = None if flags.everywhere else flags.organization
    scope = scope_over([before, after], organization, flags.cluster, flags.selector)
    renders = flags.renderers() if with_objects else None
    with progress("rendering both sides" if with_objects else "comparing both sides", quiet=flags.quiet):
        answer = diff(before, after, scope, renders)
    failed = [each for each in answer.diagnostics if each.code == "render-failed"]
    for text in dict.fromkeys(f"warning: {each.message}\n  {each.hint}" for each in failed):
        flags.say(text)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    elif output == "markdown":
        click.echo(markdown(answer))
    else:
        for line in change_lines(answer, Painter(flags.color), output == "wide"):
            click.echo(line)
    return _verdict(flags, answer, exit_code and not accept_unknown, exit_code, max_clusters, fail_on)


def _with_server(flags: Flags, from_side: str, to_side: str | None, with_objects: bool) -> tuple[Fleet, Fleet]:
    """Both sides, of which one is what a control plane has accepted; what it knows is known of the other, too."""
    if from_side == to_side:
        raise click.UsageError("Both sides are the server: name a folder or a commit.")
    if flags.server is None and not (flags.state or "").startswith("sqlite:"):
        raise click.UsageError("`server` is a control plane that runs: give --server URL, or --state sqlite:PATH.")
    if with_objects:
        raise click.UsageError("--render needs what definitions render, which a server does not send: drop it.")
    theirs, known = open_accepted(flags.server, flags.state, flags.organization, flags.at)
    if to_side == SERVER:
        return flags.fleet([from_side], known=known), theirs
    return theirs, flags.fleet([to_side] if to_side else (), theirs, known)


def _verdict(
    flags: Flags,
    answer: Diff,
    unknown_counts: bool,
    exit_code: bool,
    max_clusters: int | None,
    fail_on: tuple[str, ...],
) -> int:
    summary = answer.summary
    failed = []
    if max_clusters is not None and summary.clusters > max_clusters:
        failed.append(f"{summary.clusters:,} clusters change, more than {max_clusters:,}")
    if "delete" in fail_on and summary.deletes:
        failed.append(f"{summary.deletes:,} deleted")
    if "blocked" in fail_on and summary.blocked:
        failed.append(f"{summary.blocked:,} blocked")
    ties = [each for each in answer.overrides.ties if each.new]
    if "tie" in fail_on and ties:
        failed.append(f"{len(ties):,} overrides are newly decided by a tie")
    for reason in failed:
        flags.say(f"failed: {reason}")
    return 1 if failed or (exit_code and answer.changes) or (unknown_counts and summary.unknown) else 0
