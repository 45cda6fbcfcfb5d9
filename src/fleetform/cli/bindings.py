"""What explain prints about names, and about fields of rendered objects."""

from __future__ import annotations

from typing import Any

import click

from fleetform.app.errors import NotFoundError
from fleetform.app.explain import explain
from fleetform.app.fleet import Fleet
from fleetform.app.trace import Asked, trace, trace_view
from fleetform.cli.derivation import limit_of, option_lines, title
from fleetform.cli.options import Flags
from fleetform.cli.text import Painter, patience, place_text, table, value_text
from fleetform.engine.bindings.compile import substitutions
from fleetform.model.results.decisions import PluginDecision
from fleetform.wiring import open_renderers


def print_bindings(flags: Flags, view: dict[str, Any], head: str) -> None:
    """Every name, its value, where it is resolved and what it is read from."""
    paint = Painter(flags.color)
    click.echo(f"{paint(view['plugin'], bold=True)}  {paint(head, dim=True)}")
    rows = [_row(each) for each in view["bindings"]]
    for line in table(("NAME", "VALUE", "RESOLVED", "FROM", "WHERE"), rows, "  ") if rows else ():
        click.echo(line)
    # Names that mention one that cannot be resolved do so for the same reason.
    pending = {each["problem"]: each["do"] for each in view["bindings"] if each["resolved"] == "pending"}
    for problem, do in pending.items():
        click.echo(f"  {paint('pending', fg='yellow')} {problem}")
        if do:
            click.echo(f"    {paint(do, fg='green')}")
    if not rows:
        flags.say("nothing is bound; $(CLUSTER_NAME), $(ORGANIZATION), labels and facts are given where bindings are")


def _row(bound: dict[str, Any]) -> tuple[str, ...]:
    value = "-" if "problem" in bound else value_text(bound["value"], 48)
    source = f"{bound['from']['kind']} {bound['from']['name']}"
    return bound["name"], value, bound["resolved"], source, place_text(bound["place"])


def explain_manifest(flags: Flags, fleet: Fleet, plugin: PluginDecision, asked: Asked) -> int:
    """A field of a rendered object, and the options behind it."""
    output = flags.only("table", "wide", "json", "yaml")
    with patience(f"rendering {plugin.name} with other values", flags.quiet):
        found = trace_view(trace(fleet, plugin, open_renderers(flags.fetching == "all"), asked))
    view = {**explain(fleet, plugin), "manifest": found}
    if output in ("json", "yaml"):
        flags.print_data(view)
        return 0
    paint = Painter(flags.color)
    head = f"{found['object']}:{found['path']} = {value_text(found['value'], 60)}"
    wanted = title(view, plugin.target.wanted)
    click.echo(f"{paint(head, bold=True)}{' ' * max(2, 58 - len(head))}{paint(wanted, dim=True)}")
    for cause in found["causes"]:
        _print_cause(flags, fleet, plugin, cause)
    _print_limits(found)
    return 0


def _print_cause(flags: Flags, fleet: Fleet, plugin: PluginDecision, cause: dict[str, Any]) -> None:
    path = cause["path"]
    if not cause["set"]:
        click.echo(f"  the chart's own default; the option {path} would set it")
        return
    how = "is passed there" if cause["how"] == "passed" else "decides it"
    try:
        option = explain(fleet, plugin, path)["options"][0]
    except NotFoundError:
        click.echo(f"  the variable {path} {how}: {_place_of_variable(fleet, plugin, path)}")
        return
    click.echo(f"  {path} {how}:")
    for line in option_lines(option, path, Painter(flags.color), limit_of(flags)):
        click.echo(f"  {line}")


def _place_of_variable(fleet: Fleet, plugin: PluginDecision, name: str) -> str:
    owner = plugin.target.owner
    path = next((path for each, path, _ in substitutions(owner) if each == name), ("spec",))
    place = fleet.input.locator.place(owner.at(*path))
    return f"{owner.ref.kind} {owner.ref.name}, {place.file}:{place.line}"


def _print_limits(found: dict[str, Any]) -> None:
    if found["release"]:
        click.echo(f"  it is made of {' and '.join(found['release'])}")
    elif not found["causes"]:
        rest = " among those that can be told" if found["untold"] else ""
        click.echo(f"  no option changes it{rest}: it is written in what is rendered")
    if found["unsteady"]:
        click.echo("  the chart comes out otherwise each time, so what changes it cannot be told from chance")
    elif found["untold"]:
        names = ", ".join(found["untold"][:8]) + (", …" if len(found["untold"]) > 8 else "")
        click.echo(f"  cannot tell about {names}: with another value nothing is rendered")
