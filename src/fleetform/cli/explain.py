"""fleetform explain"""

from __future__ import annotations

from typing import Any

import click

from fleetform.app.explain import explain, find_option, find_plugin
from fleetform.app.placements import explain_placement
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, count, cut, is_masked, place_text, table, value_text
from fleetform.cli.upgrades import upgrade_lines
from fleetform.engine.paths import get_in, normal_form, parse_path, text_of
from fleetform.model.results.decisions import ABSENT, Steps


@click.command(
    epilog="""\b
Examples:
  fleetform explain cert-manager -c eu-prod-1              all options at a glance
  fleetform explain cert-manager -c eu-prod-1 replicas     one option, the whole derivation
  fleetform explain cert-manager-eu-prod-1 -o json
  fleetform explain -c eu-prod-1 --definition cert-manager replicas
  fleetform explain cert-manager -c eu-prod-1 --configs    its configs, from three places
  fleetform explain --placement canaries -c eu-prod-1      is it chosen, and why not
"""
)
@click.argument("name", required=False, metavar="PLUGIN|PRESET")
@click.argument("option", required=False)
@click.option("--definition", metavar="NAME", help="The plugin of this definition on the cluster given with -c.")
@click.option("--placement", metavar="NAME", help="Whether this placement chooses the cluster given with -c, and why.")
@click.option("--configs", is_flag=True, help="The configs that count, in order, and those that are hidden.")
@shared_flags
def command(
    flags: Flags, name: str | None, option: str | None, definition: str | None, placement: str | None, configs: bool
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
    output = flags.only("table", "wide", "json", "yaml", "name")
    fleet = flags.fleet()
    plugin = find_plugin(fleet, flags.scope(fleet), name, definition)
    if option is not None and output in ("table", "wide"):
        find_option(plugin, option)
    view = explain(fleet, plugin, option)
    if output in ("json", "yaml"):
        flags.print_data(view)
    elif output == "name":
        click.echo(f"plugin/{view['plugin']}")
    elif configs:
        _print_configs(flags, view, plugin.target.wanted)
    elif option is not None:
        _print_option(flags, view, option, plugin.target.wanted)
    else:
        _print_plugin(flags, view, plugin.target.wanted)
    return 0


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


def _title(view: dict[str, Any], wanted: str | None) -> str:
    version = view["target"]["version"] or "no version"
    if view["wanted"]["version"] != view["target"]["version"]:
        version = f"{version} → {view['wanted']['version'] or 'none'}"
    pinned = f" ({wanted})" if wanted is not None else ""
    return f"{view['definition']} {version}{pinned} on {view['cluster']} · {view['organization']}"


# ---- One option


def _print_option(flags: Flags, view: dict[str, Any], asked: str, wanted: str | None) -> None:
    paint, option = Painter(flags.color), view["options"][0]
    inside = parse_path(asked)[len(parse_path(option["path"])) :]
    shown = get_in(option["value"], inside) if inside else option["value"]
    limit = _limit(flags)
    head = f"{asked} is not set" if shown is None or shown is ABSENT else f"{asked} = {value_text(shown, limit)}"
    title = paint(_title(view, wanted), dim=True)
    click.echo(f"{paint(head, bold=True)}{' ' * max(2, 58 - len(head))}{title}")
    if inside:
        click.echo(f"  {text_of(inside)} inside the option {option['path']}")
    parts = [part for part in option.get("parts", []) if _touches(part["inside"], inside)]
    covered = any(len(parse_path(part["inside"])) <= len(inside) for part in parts)
    if not covered:
        for line in _derivation(option, paint, "  ", limit, inside):
            click.echo(line)
    for part in parts:
        if not covered:
            value = value_text(part["value"], limit) if part["value"] is not None else "removed"
            click.echo(f"  {paint(part['path'], bold=True)} = {value}")
        for line in _derivation(part, paint, "  " if covered else "    ", limit):
            click.echo(line)
    _print_blocked([each for each in view["blocked"] if each["option"] in (None, option["path"])], paint)


def _limit(flags: Flags) -> int:
    """How much of a value is shown."""
    return 100_000 if flags.output == "wide" else 60


def _touches(part: str, asked: Steps) -> bool:
    """Whether a part lies above or below what was asked for."""
    one, other = normal_form(parse_path(part)), normal_form(asked)
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _derivation(option: dict[str, Any], paint: Painter, indent: str, limit: int, inside: Steps = ()) -> list[str]:
    """Who says what, the winner first; of a path inside the option, what each says there."""
    rows = []
    if option.get("removedBy"):
        rows.append(_row("●", "removed", option["removedBy"]))
    if option["winner"]:
        mark = "○" if option.get("removedBy") else "●"
        rows.append(_row(mark, _shown(option["value"], limit, inside), option["winner"]))
    for each in option["hidden"]:
        removed = each.get("strategy") == "Remove"
        rows.append(_row("○", "removed" if removed else _shown(each["value"], limit, inside), each))
    lines = table((), rows, indent)
    return [paint(line, bold=True) if "●" in line[:6] else paint(line, dim=True) for line in lines]


def _shown(value: Any, limit: int, inside: Steps) -> str:
    if inside and isinstance(value, dict | list) and not is_masked(value):
        value = get_in(value, inside)
    return "-" if value is ABSENT or value is None else value_text(value, min(limit, 40) if limit < 1000 else limit)


def _row(mark: str, value: str, speaker: dict[str, Any]) -> tuple[str, ...]:
    tie = {"created": " (newer)", "name": " (tie, by name)"}.get(speaker.get("tie") or "", "")
    scope = {"override": speaker.get("part", ""), "group": "group", "cluster": "per cluster"}.get(speaker["layer"], "")
    by = f" = {cut(speaker['expression'], 40)}" if mark == "●" and "expression" in speaker else ""
    if "migratedFrom" in speaker:
        by += f" (migrated from {speaker['migratedFrom']})"
    return f"{mark} {value}", _speaker(speaker) + by, scope + tie, place_text(speaker["object"].get("place"))


def _speaker(speaker: dict[str, Any]) -> str:
    layer, name = speaker["layer"], speaker["object"]["name"]
    if layer == "default":
        return f"default of {speaker.get('part')}"
    if layer == "group":
        return f"preset {name}/{speaker.get('part')}"
    kind = {"instance": "plugin", "cluster": "preset"}.get(layer, layer)
    return f"{kind} {name}"


# ---- Configs


def _print_configs(flags: Flags, view: dict[str, Any], wanted: str | None) -> None:
    paint = Painter(flags.color)
    click.echo(f"{paint(view['plugin'], bold=True)}  {paint(_title(view, wanted), dim=True)}")
    click.echo(f"  mode {view['configMode']}")
    rows = [_config_row("●", each) for each in view["configs"]]
    rows += [_config_row("○", each) for each in view["configsHidden"]]
    for line in table((" TYPE", "CONFIG", "HASH", "PLACE", "NAMED BY", "WHERE"), rows, "  "):
        click.echo(paint(line, dim=True) if "○" in line[:4] else line)
    _print_blocked([each for each in view["blocked"] if each["gate"] == "config-missing"], paint)
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
    click.echo(f"{paint(view['plugin'], bold=True)}  {paint(_title(view, wanted), dim=True)}")
    _print_blocked(view["blocked"], paint)
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
            click.echo(f"  skipped {skipped['path']}: {_speaker(skipped)} ({skipped['reason']})")
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
    return option["path"] + parts, value, _speaker(first), place_text(first["object"].get("place"))


def _print_blocked(gates: list[dict[str, Any]], paint: Painter) -> None:
    for gate in gates:
        click.echo(f"  {paint('blocked', fg='red')} [{gate['gate']}] {gate['message']}")
        if gate["do"]:
            click.echo(f"    {paint(gate['do'], fg='green')}")
