"""What explain prints about variables, and about fields of rendered objects."""

from __future__ import annotations

import click
from msgspec import UNSET, structs

from fleetform.app.errors import NotFoundError
from fleetform.app.explain import explain
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.field_causes import Asked, trace
from fleetform.cli.derivation import limit_of, option_lines, title
from fleetform.cli.options import Flags
from fleetform.cli.progress import progress
from fleetform.cli.text import Painter, place_text, table, value_text
from fleetform.engine.bindings.compile import substitutions
from fleetform.model.answers.explanation import Explanation, FieldCause, FieldChange, FieldRead
from fleetform.model.results.decisions import PluginDecision


def print_bindings(flags: Flags, answer: Explanation) -> None:
    """Every variable, its value, where it is resolved and what it is read from."""
    paint = Painter(flags.color)
    click.echo(f"{paint(answer.plugin, bold=True)}  {paint(title(answer), dim=True)}")
    rows = []
    for each in answer.bindings:
        value = value_text(each.value, 48) if each.problem is UNSET else "-"
        source = f"{each.from_.kind} {each.from_.name}"
        rows.append((each.name, value, each.resolved, source, place_text(each.place)))
    for line in table(("NAME", "VALUE", "RESOLVED", "FROM", "WHERE"), rows, "  ", flags.width) if rows else ():
        click.echo(line)
    for each in answer.bindings:
        if each.read is not UNSET and each.read.since is not None:
            click.echo(f"  {paint(_read_text(each.name, each.read), dim=True)}")
    # Variables that refer to one that cannot be resolved cannot be resolved for the same reason.
    pending = {each.problem: each.do for each in answer.bindings if each.resolved == "pending"}
    for problem, do in pending.items():
        click.echo(f"  {paint('pending', fg='yellow')} {problem}")
        if do:
            click.echo(f"    {paint(do, fg='green')}")
    if not rows:
        built_in = "$(CLUSTER_NAME), $(ORGANIZATION), labels and facts"
        flags.say(f"nothing is bound; {built_in} are built in for owners that have bindings")


def _read_text(name: str, read: FieldRead) -> str:
    """Where and when a value was read."""
    where = f"{read.namespace}/{read.name}" if read.namespace else read.name
    text = f"{name} was read on {read.cluster}: {read.kind} {where} {read.path}, the same since {read.since}"
    return f"{text}; it cannot be read now: {read.problem}" if read.problem is not UNSET else text


def explain_manifest(flags: Flags, fleet: Fleet, plugin: PluginDecision, asked: Asked) -> int:
    """A field of a rendered object, and the options behind it."""
    output = flags.only("table", "wide", "json", "yaml")
    with progress(f"rendering {plugin.name} with other values", quiet=flags.quiet):
        found = trace(fleet, plugin, flags.renderers(), asked)
    answer = structs.replace(explain(fleet, plugin), manifest=found)
    if output in ("json", "yaml"):
        flags.print_data(answer)
        return 0
    paint = Painter(flags.color)
    head = f"{found.object}:{found.path} = {value_text(found.value, 60)}"
    click.echo(f"{paint(head, bold=True)}{' ' * max(2, 58 - len(head))}{paint(title(answer), dim=True)}")
    if isinstance(found.changed_by, FieldChange):
        change = found.changed_by
        what = f"the transform {change.name}" if change.what == "transform" else change.name
        where = f"{change.object.kind} {change.object.name}, {place_text(change.object.place)}"
        click.echo(f"  {what} sets it after the render: {where}")
        return 0
    for cause in found.causes:
        _print_cause(flags, fleet, plugin, cause)
    if found.release:
        click.echo(f"  it is made of {' and '.join(found.release)}")
    elif not found.causes:
        rest = " among those that could be tried" if found.untold else ""
        click.echo(f"  no option changes it{rest}: it is written in what is rendered")
    if found.unsteady:
        click.echo("  the chart renders differently every time, so what changes this cannot be found out")
    elif found.untold:
        names = ", ".join(found.untold[:8]) + (", …" if len(found.untold) > 8 else "")
        click.echo(f"  unknown for {names}: with another value nothing is rendered")
    return 0


def _print_cause(flags: Flags, fleet: Fleet, plugin: PluginDecision, cause: FieldCause) -> None:
    path = cause.path
    if not cause.set:
        click.echo(f"  the chart's own default; the option {path} would set it")
        return
    how = "is passed there" if cause.how == "passed" else "decides it"
    try:
        option = explain(fleet, plugin, path).options[0]
    except NotFoundError:
        owner = plugin.target.owner
        at = next((at for each, at, _ in substitutions(owner) if each == path), ("spec",))
        place = place_text(fleet.input.locator.place(owner.at(*at)))
        click.echo(f"  the variable {path} {how}: {owner.ref.kind} {owner.ref.name}, {place}")
        return
    click.echo(f"  {path} {how}:")
    for line in option_lines(option, path, Painter(flags.color), limit_of(flags), flags.width):
        click.echo(f"  {line}")
