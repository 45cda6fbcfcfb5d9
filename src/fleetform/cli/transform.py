"""fleetform transform"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click
import msgspec

from fleetform.cli.data import print_json
from fleetform.cli.terminal import moves_cursor, own, wants_color
from fleetform.cli.text import Painter, count, table
from fleetform.cli.transform_arguments import (
    flags_of,
    json_flags,
    names_in,
    place_of,
    plugin_folder,
    priorities_of,
    seconds_of,
)
from fleetform.engine.transform.priorities import PluginNames, PriorityError, named, suggestion
from fleetform.engine.transform.report import group_conflicts
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.transforming import (
    AppliedResult,
    IgnoredOperation,
    ListedPlugin,
    PluginList,
    PluginOption,
    TransformedItem,
    TransformResult,
    UsedPlugin,
)
from fleetform.model.results.diagnostics import Severity
from fleetform.syntax.printable import printable
from fleetform.syntax.yaml_out import write_yaml
from fleetform.transform.runner import Runner
from fleetform.transformers.opened import open_plugins
from fleetform.transformers.plugins import BoundPlugin
from fleetform.transformers.trees import TreeError, apply_tree, transform_tree

F = TypeVar("F", bound=Callable[..., Any])
# So many groups of conflicts are shown; the JSON answer has them all.
_SHOWN = 20

_PLUGIN_DIR = click.option(
    "-p", "--plugin-dir", metavar="DIR", help="Where plugins are (default: ./plugins, if there)."
)
_OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True
)
_QUIET = click.option("-q", "--quiet", is_flag=True, help="Print no prose.")
_EXPORT = click.option("-e", "--export-dir", default="export", show_default=True, metavar="DIR", help="The export.")
_TRANSFORM = click.option(
    "-t", "--transform-dir", default="transform", show_default=True, metavar="DIR", help="The transform files."
)


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@click.group(
    invoke_without_command=True,
    epilog="""\b
Examples:
  fleetform transform -e export -t transform                        write a patch for each resource
  fleetform transform -p plugins --plugin-priorities mirror,cleanup  the earlier of two that clash wins
  fleetform transform apply -e export -t transform --output-dir out  write what comes of them
  fleetform transform list-plugins -p plugins
  fleetform transform optionals -p plugins                          which options plugins take

\b
Exit codes: 0 done; 1 a plugin failed or could not be loaded, the rest is written; 2 usage.
""",
)
@_options(_EXPORT, _TRANSFORM, _PLUGIN_DIR)
@click.option("-s", "--skip-plugins", default="", metavar="a,b", help="Plugins that take no part.")
@click.option("--plugin-priorities", default="", metavar="a,b", help="The earlier wins; listed ones win over the rest.")
@click.option("--plugin-priorities-file", metavar="FILE", help="A YAML map of names to numbers; the lower wins.")
@click.option("--ignored-patches-dir", metavar="DIR", help="Write there which operations lost.")
@click.option("--optional-flags", default="", metavar="JSON", help="Options of plugins: a JSON map of strings.")
@click.option("--flags-file", metavar="FILE", help="The same as a YAML map; --optional-flags goes over it.")
@click.option("--plugin-timeout", default="10s", show_default=True, metavar="TIME", help="For one plugin and resource.")
@_options(_OUTPUT, _QUIET)
@click.pass_context
def command(
    context: click.Context,
    export_dir: str,
    transform_dir: str,
    plugin_dir: str | None,
    skip_plugins: str,
    plugin_priorities: str,
    plugin_priorities_file: str | None,
    ignored_patches_dir: str | None,
    optional_flags: str,
    flags_file: str | None,
    plugin_timeout: str,
    output: str,
    quiet: bool,
) -> int | None:
    """Adapt exported resources by plugins that answer with JSON patches; priorities settle where they clash."""
    if context.invoked_subcommand is not None:
        return None
    priorities = priorities_of(plugin_priorities, plugin_priorities_file)
    extras = {**flags_of(flags_file), **json_flags(optional_flags)}
    skipped = names_in(skip_plugins, "--skip-plugins")
    with open_plugins(plugin_folder(plugin_dir), seconds_of(plugin_timeout)) as opened:
        names = [PluginNames(each.name, each.file) for each in opened.plugins]
        out = {place for name in skipped for place in place_of(name, names)}
        warnings = [_unknown(name, "--skip-plugins", names) for name in skipped if not named(name, names)]
        chosen = [each for place, each in enumerate(opened.plugins) if place not in out]
        try:
            runner = Runner([BoundPlugin(each, extras) for each in chosen], priorities)
            warnings += [_unknown(name, "the priorities", names) for name in runner.unknown]
            with _progress(quiet) as progress:
                done = transform_tree(export_dir, transform_dir, runner, ignored_patches_dir, progress=progress)
        except PriorityError as error:
            raise click.UsageError(f"{error.message}: {error.hint}.") from error
        except TreeError as error:
            return _refused(error.message, error.hint)
        problems = [_problem(each.file, each.message, each.hint, each.is_error) for each in opened.problems]
        problems += [_problem(each.place, each.message, each.hint) for each in done.broken]
        problems += [
            _problem(each.place, f"{failed.plugin} fails: {failed.message}", "nothing was written for this resource")
            for each in done.resources
            for failed in each.failures
        ]
        answer = TransformResult(
            resources=len(done.resources),
            whiteouts=[each.place for each in done.resources if each.settled.whiteouts and not each.failures],
            items=[
                TransformedItem(
                    resource=each.place,
                    kept=[msgspec.to_builtins(one.operation) for one in each.settled.kept],
                    ignored=[
                        IgnoredOperation(
                            plugin_name=one.plugin,
                            operation=msgspec.to_builtins(one.operation),
                            reason=one.reason,
                            winner=one.winner,
                        )
                        for one in each.settled.ignored
                    ],
                )
                for each in done.resources
                if not each.failures
            ],
            plugins=[UsedPlugin(name=each.name, file=each.file, version=each.version) for each in chosen],
            diagnostics=[*warnings, *problems],
        )
    if output == "table":
        conflicts = [(each.place, each.settled.ignored) for each in done.resources]
        _print_result(answer, conflicts, transform_dir, len(done.removed), quiet)
    else:
        _print(answer, output)
    return 1 if any(each.severity == "error" for each in answer.diagnostics) else 0


@command.command(
    "apply",
    epilog="""\b
Example:
  fleetform transform apply -e export -t transform --output-dir out
""",
)
@_options(_EXPORT, _TRANSFORM)
@click.option("--output-dir", default="output", show_default=True, metavar="DIR", help="Where to write.")
@_options(_OUTPUT, _QUIET)
def apply(export_dir: str, transform_dir: str, output_dir: str, output: str, quiet: bool) -> int:
    """Write what comes of an export and its transform files."""
    try:
        with _progress(quiet) as progress:
            done = apply_tree(export_dir, transform_dir, output_dir, progress=progress)
    except TreeError as error:
        return _refused(error.message, error.hint)
    answer = AppliedResult(
        written=list(done.written),
        whiteouts=list(done.whiteouts),
        untransformed=list(done.untransformed),
        removed=list(done.removed),
        diagnostics=[_problem(each.place, each.message, each.hint) for each in done.broken],
    )
    if output != "table":
        _print(answer, output)
    else:
        _print_findings(answer.diagnostics)
        parts = [f"{count(len(answer.written), 'file')} in {output_dir}"]
        parts += [f"{len(answer.whiteouts):,} left out"] if answer.whiteouts else []
        parts += [f"{len(answer.untransformed):,} as exported"] if answer.untransformed else []
        parts += [f"{count(len(answer.removed), 'stale file')} removed"] if answer.removed else []
        if not quiet:
            click.echo(" · ".join(parts))
    return 1 if answer.diagnostics else 0


@command.command(
    "list-plugins",
    short_help="Which plugins a run has, in run order.",
    epilog="""\b
Example:
  fleetform transform list-plugins -p plugins
""",
)
@_options(_PLUGIN_DIR, _OUTPUT)
def list_plugins(plugin_dir: str | None, output: str) -> int:
    """Which plugins a run has, in run order, and those that only run where a preset names them."""
    return _list(plugin_dir, output, _print_plugins)


@command.command(
    "optionals",
    short_help="Which options plugins take.",
    epilog="""\b
Example:
  fleetform transform optionals -p plugins -o json
""",
)
@_options(_PLUGIN_DIR, _OUTPUT)
def optionals(plugin_dir: str | None, output: str) -> int:
    """Which options plugins take, by --optional-flags or --flags-file."""
    return _list(plugin_dir, output, _print_options)


def _list(plugin_dir: str | None, output: str, show: Callable[[PluginList], None]) -> int:
    with open_plugins(plugin_folder(plugin_dir), every_built_in=True) as opened:
        answer = PluginList(
            items=[
                ListedPlugin(
                    name=each.name,
                    file=each.file,
                    version=each.version,
                    identity=each.identity,
                    options=[
                        PluginOption(name=one.flag_name, help=one.help, example=one.example)
                        for one in each.optional_fields
                    ],
                )
                for each in opened.plugins
            ],
            diagnostics=[_problem(each.file, each.message, each.hint, each.is_error) for each in opened.problems],
        )
    if output == "table":
        _print_findings(answer.diagnostics)
        show(answer)
    else:
        _print(answer, output)
    return 1 if any(each.severity == "error" for each in answer.diagnostics) else 0


# ---- What is printed


def _unknown(name: str, where: str, names: Sequence[PluginNames]) -> Finding:
    message = f"{where} name {printable(name)}, which is no plugin of this run"
    return Finding(code="unknown-name", severity="warning", message=message, hint=suggestion(name, names))


def _problem(file: str, message: str, hint: str, is_error: bool = True) -> Finding:
    text = f"{printable(file)}: {printable(message)}"
    severity: Severity = "error" if is_error else "warning"
    return Finding(code="transform-problem", severity=severity, message=text, hint=printable(hint))


def _refused(message: str, hint: str) -> int:
    click.echo(f"error: {message}\n  {hint}", err=True)
    return 2


def _print(answer: AnswerRecord, output: str) -> None:
    if output == "json":
        print_json(answer)
    else:
        click.echo(write_yaml(msgspec.to_builtins(answer)).rstrip("\n"))


def _print_findings(found: Iterable[Finding]) -> None:
    paint = Painter(wants_color(sys.stderr))
    for each in found:
        colour = "red" if each.severity == "error" else "yellow"
        click.echo(f"{paint(each.severity, fg=colour, bold=True)}: {each.message}", err=True)
        if each.hint:
            click.echo(f"  {each.hint}", err=True)


def _print_result(
    answer: TransformResult, ignored: Iterable[tuple[str, Any]], folder: str, removed: int, quiet: bool
) -> None:
    _print_findings(answer.diagnostics)
    groups = group_conflicts(ignored)
    for group in groups[:_SHOWN]:
        resources = group.objects[0] if len(group.objects) == 1 else count(len(group.objects), "resource")
        click.echo(f"{group.op} {group.path}: {group.winner} wins over {group.plugin} ({group.reason}) · {resources}")
    if len(groups) > _SHOWN:
        click.echo(f"and {count(len(groups) - _SHOWN, 'other conflict')}: -o json has them all")
    if quiet:
        return
    operations = sum(len(each.kept) for each in answer.items)
    parts = [count(answer.resources, "resource"), f"{count(operations, 'operation')} kept"]
    lost = sum(len(each.ignored) for each in answer.items)
    parts += [f"{lost:,} lost"] if lost else []
    parts += [f"{len(answer.whiteouts):,} left out"] if answer.whiteouts else []
    parts += [f"{count(removed, 'stale file')} removed"] if removed else []
    click.echo(f"{' · '.join(parts)} · in {folder}")


def _print_plugins(answer: PluginList) -> None:
    rows = [(each.name, each.version, each.file or "built in", each.identity[:19]) for each in answer.items]
    click.echo("\n".join(table(("NAME", "VERSION", "FILE", "IDENTITY"), rows)))


def _print_options(answer: PluginList) -> None:
    rows = [
        (one.name, each.name, printable(one.help), printable(one.example))
        for each in answer.items
        for one in each.options
    ]
    click.echo("\n".join(table(("OPTION", "PLUGIN", "WHAT IT DOES", "EXAMPLE"), rows)))


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """Counts resources on a terminal; nothing elsewhere."""
    stream = sys.stderr
    if quiet or not moves_cursor(stream):
        yield None
        return
    done = 0

    def step(_: str) -> None:
        nonlocal done
        done += 1
        if done % 25 == 0:
            stream.write(own(f"\r{done:,} resources"))
            stream.flush()

    try:
        yield step
    finally:
        if done >= 25:
            stream.write(own("\r\x1b[K"))
