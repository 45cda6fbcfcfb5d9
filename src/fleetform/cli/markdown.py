"""Changes as a pull request's comment."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.cli.causes import CauseBlock, by_cause
from fleetform.cli.changed_values import shown_changes
from fleetform.cli.changes import (
    block_title,
    cause_text,
    clusters_text,
    config_text,
    headline,
    override_lines,
    row_text,
    what_text,
)
from fleetform.cli.markdown_text import code, fenced, inline, summary
from fleetform.cli.text import count
from fleetform.cli.upgrades import marks_of, option_texts
from fleetform.model.answers.diff import ChangedPlugin, DefinitionUpgrade, Diff

MARKDOWN_LIMIT = 60_000
_ROWS = 40
_ROLLOUTS = 5


def _rollouts(answer: Diff) -> str:
    """The rollouts that a change makes, by the names that approvals have."""
    names = [code(each.name) for each in answer.rollouts]
    left = f" and {len(names) - _ROLLOUTS:,} more" if len(names) > _ROLLOUTS else ""
    return f" · rollout{'s' if len(names) > 1 else ''} {', '.join(names[:_ROLLOUTS])}{left}" if names else ""


def markdown(answer: Diff) -> str:
    """The changes in at most 60 kB, cut between changes, with counts of what is left out."""
    sides = f"{code(answer.from_)} → {code(answer.to)} · change `{answer.change_id[:15]}`{_rollouts(answer)}"
    text = f"### Fleetform: {headline(answer)}\n\n{sides}\n"
    causes, groups = by_cause(answer)
    blocks = ["\n".join(_cause_lines(each)) + "\n" for each in causes]
    blocks += ["\n".join(_group_lines(members)) + "\n" for members in groups]
    blocks += ["\n".join([*_upgrade_lines(each), "", "</details>", ""]) for each in answer.upgrades]
    if overrides := list(override_lines(answer)):
        blocks.append("\n".join(f"- {inline(line)}" for line in overrides) + "\n")
    for number, block in enumerate(blocks):
        if len((text + block).encode()) > MARKDOWN_LIMIT - 200:
            left = count(len(blocks) - number, "group")
            return f"{text}\n…and {left} of changes more: run `fleetform diff` to see them all\n"
        text += "\n" + block
    return text.rstrip()


def _cause_lines(block: CauseBlock) -> Iterator[str]:
    """What one object changes on plugins of several owners."""
    yield from (f"**{inline(block_title(block))}**", "")
    rows = list(block.rows())
    yield from (f"- {inline(row_text(row))}" for row in rows[:_ROWS])
    if len(rows) > _ROWS:
        yield f"- and {count(len(rows) - _ROWS, 'other value')}"


def _group_lines(members: list[ChangedPlugin]) -> Iterator[str]:
    """One change, and the clusters that have it."""
    change = members[0]
    installs = change.action == "install"
    yield from (f"**{inline(what_text(change))}** on {inline(clusters_text(members, 10))}", "")
    options = change.options[:_ROWS] if not installs else []
    if options:
        yield from ("| option | from | to | because of |", "|---|---|---|---|")
        for each in options:
            shown, more = shown_changes(each.from_, each.to, 60)
            for part in shown:
                path, before, after = (code(text) for text in (each.path + part.inside, part.before, part.after))
                yield f"| {path} | {before} | {after} | {inline(cause_text(each))} |"
            if more:
                yield f"| {code(each.path)} | | and {more:,} more inside | |"
        if len(change.options) > len(options):
            yield f"\nand {count(len(change.options) - len(options), 'option')} more"
    variables = change.variables if not installs else []
    for variable in variables[:_ROWS]:
        shown, _ = shown_changes(variable.from_, variable.to, 60)
        for part in shown:
            before, after = code(part.before), code(part.after)
            yield f"- variable {code(variable.name + part.inside)}: {before} → {after}"
    if len(variables) > _ROWS:
        yield f"- and {count(len(variables) - _ROWS, 'variable')} more"
    yield from (f"- config {inline(config_text(each))}" for each in change.configs)
    for manifest in change.manifests[:20]:
        yield from (f"- {inline(manifest.object)}", "", fenced(manifest.unified, 4_000, "diff"), "")
    if also := [each for each in change.also if each not in ("blocked", "configs")]:
        yield f"- also: {inline(', '.join(also))}"
    yield from (f"- blocked: {inline(gate.message)}. {inline(gate.do)}" for gate in change.blocked)


def _upgrade_lines(upgrade: DefinitionUpgrade) -> Iterator[str]:
    """A span of versions, folded: the changelogs as they were written, as code, and what becomes of options."""
    title = f"{upgrade.definition} {upgrade.from_} → {upgrade.to}"
    yield from (f"<details><summary>{summary(title)}</summary>", "")
    for entry in upgrade.changelog:
        if entry.text or entry.breaking:
            yield from (" ".join([f"**{inline(entry.version)}**", *marks_of(entry)]), "")
            if entry.acknowledge:
                yield from (f"To do first: {inline(entry.acknowledge)}", "")
            if entry.text:
                yield from (fenced(entry.text), "")
    yield from (f"- options {word}: {inline(', '.join(texts))}" for word, texts in option_texts(upgrade.options))
