"""An upgrade for people: the changelogs of versions that it passes, what becomes of options, what it affects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetform.cli.changed_values import changed_text
from fleetform.cli.text import Painter, count, place_text
from fleetform.model.answers.upgrades import AffectedValue, ChangelogEntry, OptionsOfUpgrade

_SHOWN = 8
_EFFECTS = {
    "migrated": "is read as its new option",
    "retyped": "has another type now",
    "removed": "is no longer read",
    "default": "follows the new default",
}


def upgrade_lines(
    changelog: Sequence[ChangelogEntry],
    options: OptionsOfUpgrade,
    affected: Sequence[AffectedValue],
    paint: Painter,
    wide: bool,
) -> Iterator[str]:
    """The texts of the versions passed, oldest first, then the options, then the values."""
    for entry in changelog:
        marks = marks_of(entry)
        if entry.text or marks:
            title = paint(f"{entry.definition} {entry.version}", bold=True)
            yield f"{title}{' · ' if marks else ''}{', '.join(marks)}"
            if entry.acknowledge:
                yield f"  to do first: {entry.acknowledge}"
            yield from (f"  {line}" for line in entry.text.rstrip().splitlines())
    limit = 10_000 if wide else _SHOWN
    for word, texts in option_texts(options):
        more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
        yield f"options {word}: {', '.join(texts[:limit])}{more}"
    for each in affected[:limit]:
        yield f"{each.path} {_EFFECTS[each.effect]}   ({place_text(each.object.place)})"
    if len(affected) > limit:
        yield f"and {count(len(affected) - limit, 'value')} more (-o wide)"


def marks_of(entry: ChangelogEntry) -> list[str]:
    """What a version says of itself in a word."""
    return [word for word, holds in (("breaking", entry.breaking), ("irreversible", entry.irreversible)) if holds]


def option_texts(options: OptionsOfUpgrade) -> Iterator[tuple[str, list[str]]]:
    """What became of options, by what it is called."""
    texts = {
        "added": [each.path + (" (required)" if each.required else "") for each in options.added],
        "renamed": [f"{each.from_} → {each.to}" for each in options.renamed],
        "removed": [each.path for each in options.removed],
        "of another type": [f"{each.path} {each.from_} → {each.to}" for each in options.retyped],
        "with another default": [changed_text(each.path, each.from_, each.to) for each in options.redefaulted],
        "now required": [each.path for each in options.required],
    }
    return ((word, listed) for word, listed in texts.items() if listed)
