"""What explain prints about one option: the provenance of its value, the winner first."""

from __future__ import annotations

import click
from msgspec import UNSET

from fleetform.cli.options import Flags
from fleetform.cli.text import Painter, cut, place_text, table, value_text
from fleetform.model.answers.base import Json
from fleetform.model.answers.explanation import Explanation
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.answers.options import (
    ExplainedOption,
    ExplainedPart,
    HiddenItem,
    Provenance,
    SkippedItem,
    WinningItem,
)
from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.syntax.option_paths import get_in, normal_form, parse_inside, parse_path, text_of


def title(answer: Explanation) -> str:
    """The plugin's definition, version, cluster and organization, in one line."""
    version = answer.target.version or "no version"
    if answer.wanted.version != answer.target.version:
        version = f"{version} → {answer.wanted.version or 'none'}"
    pinned = f" ({answer.wanted.range})" if answer.wanted.range is not None else ""
    return f"{answer.definition} {version}{pinned} on {answer.cluster} · {answer.organization}"


def print_option(flags: Flags, answer: Explanation, asked: str) -> None:
    """The whole derivation of an option, or of a path inside it."""
    paint, option = Painter(flags.color), answer.options[0]
    inside = parse_path(asked)[len(parse_path(option.path)) :]
    shown = get_in(option.value, inside) if inside else option.value
    limit = limit_of(flags)
    head = f"{asked} is not set" if shown is None or shown is ABSENT else f"{asked} = {value_text(shown, limit)}"
    about, width = title(answer), flags.width
    pad = max(2, 58 - len(head)) if width is None or 58 + len(about) <= width else 2
    click.echo(f"{paint(head, bold=True)}{' ' * pad}{paint(about, dim=True)}")
    for line in option_lines(option, asked, paint, limit, width):
        click.echo(line)
    for each in answer.skipped:
        if each.reason == "left-out" and normal_form(parse_path(each.path)) == normal_form(parse_path(asked)):
            why = "refers to an optional variable that cannot be resolved"
            click.echo(f"  left out: {layer_text(each)} {why}   {place_text(each.object.place)}")
    print_blocked([each for each in answer.blocked if each.option in (None, option.path)], paint)


def option_lines(
    option: ExplainedOption, asked: str, paint: Painter, limit: int, width: int | None = None
) -> list[str]:
    """The items that an option has, or a path inside it."""
    inside = parse_path(asked)[len(parse_path(option.path)) :]
    lines = [f"  {text_of(inside)} inside the option {option.path}"] if inside else []
    # Those that lie above or below what was asked for.
    forms = [(part, normal_form(parse_inside(part.inside)), normal_form(inside)) for part in option.parts or ()]
    parts = [part for part, one, other in forms if all(a == b for a, b in zip(one, other, strict=False))]
    covered = any(len(parse_inside(part.inside)) <= len(inside) for part in parts)
    if not covered:
        lines += _derivation(option, paint, "  ", limit, width, inside)
    for part in parts:
        if not covered:
            value = value_text(part.value, limit) if part.value is not None else "removed"
            lines.append(f"  {paint(part.path, bold=True)} = {value}")
        lines += _derivation(part, paint, "  " if covered else "    ", limit, width)
    if option.mentions:
        names = ", ".join(option.mentions)
        lines.append(f"  {paint(f'refers to {names}: see --bindings', dim=True)}")
    return lines


def limit_of(flags: Flags) -> int:
    """How much of a value is shown."""
    return 100_000 if flags.output == "wide" else 60


def _derivation(
    option: ExplainedOption | ExplainedPart,
    paint: Painter,
    indent: str,
    limit: int,
    width: int | None,
    inside: Steps = (),
) -> list[str]:
    """Every item, the winner first; of a path inside the option, what each has there.

    Where the lines are too wide, places stand below them.
    """
    rows = []
    removed_by = option.removed_by if isinstance(option, ExplainedOption) else UNSET
    if removed_by is not UNSET:
        rows.append(_row("●", "removed", removed_by))
    if option.winner is not None:
        mark = "○" if removed_by is not UNSET else "●"
        rows.append(_row(mark, _shown(option.value, limit, inside), option.winner))
    for each in option.hidden:
        removed = each.strategy == "Remove"
        rows.append(_row("○", "removed" if removed else _shown(each.value, limit, inside), each))
    lines = table((), rows, indent)
    if width is not None and max(map(len, lines), default=0) > width:
        places = [row[-1] for row in rows]
        lines = table((), [row[:-1] for row in rows], indent)
        lines = [f"{line}\n{indent}    {place}" if place else line for line, place in zip(lines, places, strict=True)]
    return [paint(line, bold=True) if "●" in line[:6] else paint(line, dim=True) for line in lines]


def _shown(value: Json, limit: int, inside: Steps) -> str:
    if inside and isinstance(value, dict | list):
        value = get_in(value, inside)
    return "-" if value is ABSENT or value is None else value_text(value, min(limit, 40) if limit < 1000 else limit)


def _row(mark: str, value: str, item: Provenance | WinningItem | HiddenItem) -> tuple[str, ...]:
    tie = item.tie if isinstance(item, WinningItem) else None
    settled = {"created": " (newer)", "name": " (tie, by name)"}.get(tie or "", "")
    scope = {"override": item.part or "", "group": "group", "cluster": "per cluster"}.get(item.layer, "")
    by = f" = {cut(item.expression, 40)}" if mark == "●" and item.expression is not UNSET else ""
    if item.migrated_from is not UNSET:
        by += f" (migrated from {item.migrated_from})"
    return f"{mark} {value}", layer_text(item) + by, scope + settled, place_text(item.object.place)


def layer_text(item: Provenance | SkippedItem) -> str:
    """The layer that an item belongs to: `override more`, `default of 1.2.0`."""
    if item.layer == "default":
        return f"default of {item.part or None}"
    if item.layer == "group":
        return f"preset {item.object.name}/{item.part or None}"
    kind = {"instance": "plugin", "cluster": "preset"}.get(item.layer, item.layer)
    return f"{kind} {item.object.name}"


def print_blocked(gates: list[ReportedGate], paint: Painter) -> None:
    for gate in gates:
        click.echo(f"  {paint('blocked', fg='red')} [{gate.gate}] {gate.message}")
        if gate.do:
            click.echo(f"    {paint(gate.do, fg='green')}")
