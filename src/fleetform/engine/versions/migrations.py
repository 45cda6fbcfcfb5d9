"""Migrate: values written for an earlier version, read as a later one takes them.

Applied in memory, to every layer alike, across all versions up to the one that is wanted; nothing a person wrote is
changed. A path that the wanted revision declares is never renamed, and a value that fits is never converted, so that
what was migrated by hand already stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import ABSENT, Item, Revision, Steps
from fleetform.syntax.cel import ExpressionError, evaluate_value
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.option_rules import breaks_rules

Form = tuple[str, ...]


class Migrations(Struct, frozen=True, eq=False):
    """What happened to options on the way to a revision, oldest first: (from, to), with to None for a removal.

    hints say what to do about an option that must now be set.
    """

    moves: tuple[tuple[Form, Steps | None], ...] = ()
    retypes: tuple[tuple[Form, str], ...] = ()
    hints: tuple[tuple[Form, str], ...] = ()

    def moved(self, steps: Steps) -> Steps | None:
        """Where a path went; None if it was removed; the path itself if nothing happened to it."""
        for old, new in self.moves:
            if normal_form(steps)[: len(old)] == old:
                if new is None:
                    return None
                steps = (*new, *steps[len(old) :])
        return steps

    def converted(self, item: Item, option: Option) -> Item:
        """The item with its value as the option takes it now, if a retype says how."""
        if item.value is ABSENT or breaks_rules(option, item.value) is None:
            return item
        form = normal_form(parse_path(option.name))
        value: object = item.value
        for name, expression in self.retypes:
            if name == form:
                try:
                    value = evaluate_value(expression, value)
                except ExpressionError:
                    continue
        if breaks_rules(option, value) is not None:
            return item
        return structs.replace(item, value=value, migrated_from=item.text)


def migrations_to(passed: Iterable[Revision]) -> Migrations:
    """The migrations of revisions, oldest first."""
    moves: list[tuple[Form, Steps | None]] = []
    retypes: list[tuple[Form, str]] = []
    hints: list[tuple[Form, str]] = []
    for revision in passed:
        changes = revision.object.spec.changes
        for step in (changes.migrations if changes is not None else None) or []:
            try:
                if step.rename is not None:
                    moves.append((normal_form(parse_path(step.rename.from_)), parse_path(step.rename.to)))
                elif step.remove is not None:
                    moves.append((normal_form(parse_path(step.remove.name)), None))
                elif step.retype is not None:
                    retypes.append((normal_form(parse_path(step.retype.name)), step.retype.expression))
                elif step.require is not None and step.require.hint:
                    hints.append((normal_form(parse_path(step.require.name)), step.require.hint))
            except PathError:
                # Reported where the definition is checked.
                continue
    return Migrations(tuple(moves), tuple(retypes), tuple(hints))
