"""fleetform explain"""

from __future__ import annotations

from typing import Any

import click

from fleetform.app.explain import explain, find_option, find_plugin
from fleetform.app.placements import explain_placement
from fleetform.app.trace import Asked, parse_asked
from fleetform.cli.bindings import explain_manifest, print_bindings
from fleetform.cli.derivation import print_blocked, print_option, speaker_text, title
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, count, cut, place_text, table, value_text
from fleetform.cli.upgrades import upgrade_lines


def _asked(_: click.Context, __: click.Parameter, text: str | None) -> Asked | None:
    try:
        return parse_asked(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(
    epilog="""\b
Examples:
  fleetform explain cert-manager -c eu-prod-1              all options at a glance
  fleetform explain cert-manager -c eu-prod-1 replicas     one option, the whole derivation
  fleetform explain cert-manager-eu-prod-1 -o json
  fleetform explain -c eu-prod-1 --definition cert-manager replicas
  fleetform explain cert-manager -c eu-prod-1 --configs    its configs, from three places
  fleetform explain cert-manager -c eu-prod-1 --bindings   what its names stand for
  fleetform explain cert-manager -c eu-prod-1 --manifest Deployment/web:/spec/replicas
  fleetform explain --placement canaries -c eu-prod-1      is it chosen, and why not
"""
)
@click.argument("name", required=False, metavar="PLUGIN|PRESET")
@click.argument("option", required=False)
@click.option("--definition", metavar="NAME", help="The plugin of this definition on the cluster given with -c.")
@click.option("--placement", metavar="NAME", help="Whether this placement chooses the cluster given with -c, and why.")
@click.option("--configs", is_flag=True, help="The configs that count, in order, and those that are hidden.")
@click.option("--bindings", is_flag=True, help="The names it may mention, and what they stand for here.")
@click.option(
    "--manifest",
    metavar="KIND/NAME:/POINTER",
    callback=_asked,
    help="Which options make a field of a rendered object what it is.",
)
@shared_flags
def command(
    flags: Flags,
    name: str | None,
    option: str | None,
    definition: str | None,
    placement: str | None,
    configs: bool,
    bindings: bool,
    manifest: Asked | None,
) -> int:
    """Show what one plugin on one cluster gets, and why.

    The winner comes first, then what it hid, from specific to generic, each with the place where it is written.
    """
    if placement is not None:
        return _explain_placement(flags, placement)
    if definition is not None:
        # With --definition the one word is the option.
        name, option = None, option or name
        if flags.cluster is None:
            raise click.UsageError("--definition needs a cluster: give one with -c.")
    elif name is None:
        raise click.UsageError("Name a plugin, a preset with -c CLUSTER, or give --definition with -c CLUSTER.")
    _refuse_two({"--configs": configs, "--bindings": bindings, "--manifest": manifest, "an option": option})
    output = flags.only("table", "wide", "json", "yaml", "name")
    fleet = flags.fleet()
    plugin = find_plugin(fleet, flags.scope(fleet), name, definition)
    if option is not None and output in ("table", "wide"):
        find_option(plugin, option)
    if manifest is not None:
        return explain_manifest(flags, fleet, plugin, manifest)
    view = explain(fleet, plugin, option)
    if output in ("json", "yaml"):
        flags.print_data(view)
    elif output == "name":
        click.echo(f"plugin/{view['plugin']}")
    elif configs:
        _print_configs(flags, view, plugin.target.wanted)
    elif bindings:
        print_bindings(flags, view, title(view, plugin.target.wanted))
    elif option is not None:
        print_option(flags, view, option, title(view, plugin.target.wanted))
    else:
        _print_plugin(flags, view, plugin.target.wanted)
    return 0


def _refuse_two(questions: dict[str, Any]) -> None:
    given = [name for name, value in questions.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} are two questions: ask one at a time.")


def _explain_placement(flags: Flags, name: str) -> int:
    output = flags.only("table", "wide", "json", "yaml")
    fleet = flags.fleet()
    view = explain_placement(fleet, flags.scope(fleet), name, flags.cluster)
    if output in ("json", "yaml"):
        flags.print_data(view)
        return 0
    rows = [
        (each["cluster"], "chosen" if each["chosen"] else "not chosen", each["reason"] or "") for each in view["items"]
    ]
    for line in table((), rows):
        click.echo(line)
    return 0


# ---- Configs


def _print_configs(flags: Flags, view: dict[str, Any], wanted: str | None) -> None:
    paint = Painter(flags.color)
    click.echo(f"{paint(view['plugin'], bold=True)}  {paint(title(view, wanted), dim=True)}")
    click.echo(f"  mode {view['configMode']}")
    rows = [_config_row("●", each) for each in view["configs"]]
    rows += [_config_row("○", each) for each in view["configsHidden"]]
    for line in table((" TYPE", "CONFIG", "HASH", "PLACE", "NAMED BY", "WHERE"), rows, "  "):
        click.echo(paint(line, dim=True) if "○" in line[:4] else line)
    print_blocked([each for each in view["blocked"] if each["gate"] == "config-missing"], paint)
    if not rows:
        flags.say("no configs are named")


def _config_row(mark: str, config: dict[str, Any]) -> tuple[str, ...]:
    type_ = f"{config['resource']}.{config['group']}" if config["group"] else config["resource"]
    name = f"{config['namespace']}/{config['name']}" if config["namespace"] else config["name"]
    hash_ = config.get("reason") or config["specHash"][:12] or "missing"
    part = f" ({config['part']})" if "part" in config else ""
    by = f"{config['from']['kind']} {config['from']['name']}{part}"
    place = f"{config['place']}.{config['index']}"
    return f"{mark} {type_}", name, hash_, place, by, place_text(config["from"].get("place"))


# ---- A whole plugin


def _print_plugin(flags: Flags, view: dict[str, Any], wanted: str | None) -> None:
    paint = Painter(flags.color)
    click.echo(f"{paint(view['plugin'], bold=True)}  {paint(title(view, wanted), dim=True)}")
    print_blocked(view["blocked"], paint)
    for waiting in view["waiting"]:
        click.echo(f"  {paint('waiting', fg='yellow')} [{waiting['gate']}] {waiting['message']}")
    if view["upgrade"] and "changelog" in view["upgrade"]:
        for line in upgrade_lines(view["upgrade"], paint, flags.output == "wide"):
            click.echo(f"  {line}")
    applied = view["appliedOverrides"]
    if applied:
        names = ", ".join(each["name"] + ("" if each["won"] else " (hidden)") for each in applied)
        order = ", in order of application" if len(applied) > 1 else ""
        click.echo(f"  {count(len(applied), 'override')}{order}: {cut(names, 400)}")
    rows = [_option_row(each) for each in view["options"]]
    header = ("OPTION", "VALUE", "FROM", "WHERE")
    for number, line in enumerate(table(header, rows, "  ")):
        unset = number and rows[number - 1][1] == "-"
        click.echo(paint(line, dim=True) if unset or not number else line)
    if flags.output == "wide":
        for skipped in view["skipped"]:
            click.echo(f"  skipped {skipped['path']}: {speaker_text(skipped)} ({skipped['reason']})")
    if rows:
        example = next((row[0] for row in rows if row[1] != "-"), rows[0][0]).rstrip(" *")
        flags.say(
            paint(f"\nthe whole derivation: fleetform explain {view['plugin']} {example}{flags.again()}", dim=True)
        )


def _option_row(option: dict[str, Any]) -> tuple[str, ...]:
    winner = option.get("removedBy") or option["winner"]
    parts = " *" if option.get("parts") else ""
    value = value_text(option["value"], 48) if option["value"] is not None else "-"
    if winner is None and not option.get("parts"):
        return option["path"], value, "", ""
    first = winner or option["parts"][0]["winner"]
    return option["path"] + parts, value, speaker_text(first), place_text(first["object"].get("place"))
