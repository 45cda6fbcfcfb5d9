"""Changes for people: a change is read once, however many clusters it touches."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.cli.causes import CauseBlock, CauseRow, by_cause
from fleetform.cli.changed_values import changed_text
from fleetform.cli.text import Painter, count, place_text, table
from fleetform.cli.upgrades import upgrade_lines
from fleetform.model.answers.diff import (
    ChangedConfig,
    ChangedManifest,
    ChangedOption,
    ChangedPlugin,
    Diff,
)

_SHOWN_OPTIONS = 6
_SHOWN_LINES = 30
_SHOWN_OWNERS = 6
_MARKS: dict[str, str] = {
    "install": "+",
    "delete": "-",
    "retain": "-",
    "downgrade": "↓",
    "upgrade": "↑",
    "handover": "⇄",
    "reconfigure": "~",
}
_COLORS = {"install": "green", "delete": "red", "downgrade": "yellow"}


def change_lines(answer: Diff, paint: Painter, wide: bool) -> Iterator[str]:
    """What changes, the most common change first, then what upgrades bring, then overrides to look at."""
    yield paint(headline(answer), bold=True)
    blocks, groups = by_cause(answer)
    for block in blocks:
        yield from _block_lines(block, paint, wide)
    for members in groups:
        yield from _group_lines(members, paint, wide)
    yield from unknown_lines(answer, wide)
    for upgrade in answer.upgrades:
        span = f"{upgrade.definition} {upgrade.from_} → {upgrade.to}"
        yield f"\n{paint(span, bold=True)} on {count(upgrade.plugins, 'cluster')}"
        lines = upgrade_lines(upgrade.changelog, upgrade.options, upgrade.affected, paint, wide)
        yield from (f"  {line}" for line in lines)
    for number, line in enumerate(override_lines(answer, wide)):
        yield line if number else f"\n{line}"
    if wide and answer.rollouts:
        rows = [[each.name, each.preset, each.change_id] for each in answer.rollouts]
        yield f"\n{paint('rollouts', bold=True)}"
        yield from table((), rows, indent="  ")


def headline(answer: Diff) -> str:
    """How much changes, in one line."""
    summary = answer.summary
    parts = []
    if not answer.changes:
        parts.append("no change" if not summary.unknown else "no known change")
    else:
        # What is blocked does not happen, and counts as nothing else.
        passing: list[str] = [each.action for each in answer.changes if not each.blocked]
        parts.append(count(summary.clusters, "cluster"))
        if passing:
            parts.append(f"{count(len(passing), 'plugin')} changed")
        for action, word in (("install", "installed"), ("upgrade", "upgraded"), ("downgrade", "downgraded")):
            if number := passing.count(action):
                parts.append(f"{number:,} {word}")
        parts.append(f"{summary.deletes:,} deleted" if summary.deletes else "nothing deleted")
        if summary.blocked:
            parts.append(f"{summary.blocked:,} blocked")
    if summary.unknown:
        parts.append(f"{summary.unknown:,} unknown: their secrets or catalogs are not available here")
    return " · ".join(parts)


def unknown_lines(answer: Diff, wide: bool) -> Iterator[str]:
    """The plugins that may change, if all is asked for."""
    for each in answer.unknown if wide else ():
        parts = [*each.options, *(f"variable {name}" for name in each.variables)] or ["its definition"]
        yield f"  ? {each.cluster}   {each.plugin}: {', '.join(parts)} cannot be compared"


def block_title(block: CauseBlock) -> str:
    """`override eu-prod: 240 plugins on 120 clusters   (overrides/eu.yaml:14)`"""
    kind = {"PluginOverride": "override", "PluginPreset": "preset", "PluginDefinition": "definition"}
    what = f"{kind.get(block.cause.kind, block.cause.kind)} {block.cause.name}"
    where = place_text(block.cause.place)
    reached = f"{count(len(block.members), 'plugin')} on {count(block.clusters, 'cluster')}"
    return f"{what}: {reached}" + (f"   ({where})" if where else "")


def row_text(row: CauseRow) -> str:
    """`replicas 3 → 5 on 40 clusters: cert-manager, ingress`"""
    owners = ", ".join(row.owners[:_SHOWN_OWNERS])
    more = f" and {len(row.owners) - _SHOWN_OWNERS:,} more" if len(row.owners) > _SHOWN_OWNERS else ""
    return f"{changed_text(row.path, row.before, row.after)} on {count(row.clusters, 'cluster')}: {owners}{more}"


def _block_lines(block: CauseBlock, paint: Painter, wide: bool) -> Iterator[str]:
    yield f"  {paint('~', fg='cyan', bold=True)} {paint(block_title(block), bold=True)}"
    rows = list(block.rows())
    shown = rows if wide else rows[:_SHOWN_OPTIONS]
    yield from (f"      {row_text(row)}" for row in shown)
    if len(rows) > len(shown):
        yield f"      and {count(len(rows) - len(shown), 'other value')} (-o wide)"


def clusters_text(members: list[ChangedPlugin], limit: int = 3) -> str:
    names = [member.cluster for member in members]
    if len(names) == 1:
        return names[0]
    shown = ", ".join(names[:limit]) + (", …" if len(names) > limit else "")
    return f"{len(names):,} clusters ({shown})"


def what_text(change: ChangedPlugin) -> str:
    """The plugin and what becomes of it."""
    name, action = change.preset or change.plugin, change.action
    before, after = change.version.from_, change.version.to
    if action == "install":
        return f"{name} {after or ''} is installed".replace("  ", " ")
    if action in ("delete", "retain"):
        return f"{name} {before or ''} is {'deleted' if action == 'delete' else 'kept, no longer managed'}"
    if before != after:
        return f"{name} {before or 'none'} → {after or 'none'}"
    return f"{name} {after or ''} is handed over" if action == "handover" else f"{name} {after or ''}"


def _group_lines(members: list[ChangedPlugin], paint: Painter, wide: bool) -> Iterator[str]:
    """One change, and the clusters that have it. Of an install the values are shown where all are asked for."""
    change = members[0]
    mark = paint(_MARKS[change.action], fg=_COLORS.get(change.action, "cyan"), bold=True)
    yield f"  {mark} {paint(clusters_text(members), bold=True)}   {what_text(change)}"
    with_values = wide or change.action != "install"
    texts = []
    for option in change.options if with_values else ():
        where = cause_text(option)
        because = f"   ({where})" if where else ""
        texts.append(f"{changed_text(option.path, option.from_, option.to)}{because}")
    variables = [
        changed_text(f"variable {each.name}", each.from_, each.to) for each in (change.variables if with_values else ())
    ]
    for lines, noun in ((texts, "option"), (variables, "variable")):
        shown = lines if wide else lines[:_SHOWN_OPTIONS]
        yield from (f"      {line}" for line in shown)
        if len(lines) > len(shown):
            yield f"      and {count(len(lines) - len(shown), noun)} more (-o wide)"
    for config in change.configs:
        yield f"      config {config_text(config)}"
    yield from (f"      {_painted(line, paint)}" for line in manifest_lines(change.manifests, wide))
    if also := [each for each in change.also if each not in ("blocked", "configs")]:
        yield f"      {', '.join(also)} differ{'s' if len(also) == 1 else ''}"
    for gate in change.blocked:
        yield f"      {paint('blocked', fg='red')}: {gate.message}"
        yield f"        {gate.do}"


def _painted(line: str, paint: Painter) -> str:
    colors = {"  +": "green", "  -": "red", "  @": "cyan"}
    return paint(line, fg=colors[line[:3]]) if line[:3] in colors else line


def cause_text(option: ChangedOption) -> str:
    """Where the difference is written, or by whom."""
    return (place_text(option.cause.place) or option.cause.name) if option.cause is not None else ""


def manifest_lines(manifests: list[ChangedManifest], wide: bool) -> Iterator[str]:
    """Objects that come, go or change, these as a unified difference; all of it if that is asked for."""
    for each in manifests:
        patch = each.patch
        if patch[0].path == "":
            yield f"{each.object} is {'new' if patch[0].op == 'add' else 'gone'}"
            continue
        # The two lines that name the files say what the title says.
        lines = each.unified.splitlines()[2:]
        shown = lines if wide else lines[:_SHOWN_LINES]
        yield each.object
        yield from (f"  {line}" for line in shown)
        if len(lines) > len(shown):
            yield f"  and {count(len(lines) - len(shown), 'line')} more (-o wide)"


def config_text(config: ChangedConfig) -> str:
    """A config and what became of it."""
    where = f"{config.namespace}/{config.name}" if config.namespace else config.name
    change = {"changed": "has other content", "moved": "has another place in the order"}
    return f"{config.resource} {where} {change.get(config.change, 'is ' + config.change)}"


def override_lines(answer: Diff, all_of_them: bool = False) -> Iterator[str]:
    """Overrides that the change leaves without effect or tied; with all_of_them those that were so before, too."""
    for noted, text in (
        (answer.overrides.dead, "reaches no plugin"),
        (answer.overrides.shadowed, "has no effect: other overrides win everywhere"),
        (answer.overrides.ties, "disagrees with another of its rank"),
    ):
        for each in noted:
            if each.new or all_of_them:
                yield f"override {each.name} {text} ({place_text(each.place)})"
