"""What explain prints about one option: who says what, the winner first."""

from __future__ import annotations

from typing import Any

import click

from fleetform.cli.options import Flags
from fleetform.cli.text import Painter, cut, is_masked, place_text, table, value_text
from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.syntax.option_paths import get_in, normal_form, parse_path, text_of


def title(view: dict[str, Any], wanted: str | None) -> str:
    version = view["target"]["version"] or "no version"
    if view["wanted"]["version"] != view["target"]["version"]:
        version = f"{version} → {view['wanted']['version'] or 'none'}"
    pinned = f" ({wanted})" if wanted is not None else ""
    return f"{view['definition']} {version}{pinned} on {view['cluster']} · {view['organization']}"


def print_option(flags: Flags, view: dict[str, Any], asked: str, head: str) -> None:
    """The whole derivation of an option, or of a path inside it."""
    paint, option = Painter(flags.color), view["options"][0]
    inside = parse_path(asked)[len(parse_path(option["path"])) :]
    shown = get_in(option["value"], inside) if inside else option["value"]
    limit = limit_of(flags)
    said = f"{asked} is not set" if shown is None or shown is ABSENT else f"{asked} = {value_text(shown, limit)}"
    click.echo(f"{paint(said, bold=True)}{' ' * max(2, 58 - len(said))}{paint(head, dim=True)}")
    for line in option_lines(option, asked, paint, limit):
        click.echo(line)
    for each in view["skipped"]:
        if each["reason"] == "left-out" and normal_form(parse_path(each["path"])) == normal_form(parse_path(asked)):
            where = place_text(each["object"].get("place"))
            click.echo(f"  left out: {speaker_text(each)} mentions an optional name that cannot be resolved   {where}")
    print_blocked([each for each in view["blocked"] if each["option"] in (None, option["path"])], paint)


def option_lines(option: dict[str, Any], asked: str, paint: Painter, limit: int) -> list[str]:
    """Who says what about an option, or about a path inside it."""
    inside = parse_path(asked)[len(parse_path(option["path"])) :]
    lines = [f"  {text_of(inside)} inside the option {option['path']}"] if inside else []
    parts = [part for part in option.get("parts", []) if _touches(part["inside"], inside)]
    covered = any(len(parse_path(part["inside"])) <= len(inside) for part in parts)
    if not covered:
        lines += _derivation(option, paint, "  ", limit, inside)
    for part in parts:
        if not covered:
            value = value_text(part["value"], limit) if part["value"] is not None else "removed"
            lines.append(f"  {paint(part['path'], bold=True)} = {value}")
        lines += _derivation(part, paint, "  " if covered else "    ", limit)
    if option["mentions"]:
        names = ", ".join(option["mentions"])
        lines.append(f"  {paint(f'mentions {names}: see --bindings', dim=True)}")
    return lines


def limit_of(flags: Flags) -> int:
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
    return f"{mark} {value}", speaker_text(speaker) + by, scope + tie, place_text(speaker["object"].get("place"))


def speaker_text(speaker: dict[str, Any]) -> str:
    layer, name = speaker["layer"], speaker["object"]["name"]
    if layer == "default":
        return f"default of {speaker.get('part')}"
    if layer == "group":
        return f"preset {name}/{speaker.get('part')}"
    kind = {"instance": "plugin", "cluster": "preset"}.get(layer, layer)
    return f"{kind} {name}"


def print_blocked(gates: list[dict[str, Any]], paint: Painter) -> None:
    for gate in gates:
        click.echo(f"  {paint('blocked', fg='red')} [{gate['gate']}] {gate['message']}")
        if gate["do"]:
            click.echo(f"    {paint(gate['do'], fg='green')}")
