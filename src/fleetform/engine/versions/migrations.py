"""Migrate: values written for an earlier version, read as a later one takes them.

Applied in memory, to every layer alike, across all versions up to the one that is wanted; nothing a person wrote is
changed. A path that the wanted revision declares is never renamed, and a value that fits is never converted, so that
what was migrated by hand already stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import ABSENT, Retype, Revision, Secret, Steps
from fleetform.syntax.cel import ExpressionError, evaluate_value
from fleetform.syntax.option_paths import PathError, normal_form, parse_path, text_of
from fleetform.syntax.option_rules import breaks_rules
from fleetform.syntax.versions import parse_version

Form = tuple[str, ...]


class Move(NamedTuple):
    """An option that was renamed, or removed: its name then, and its path now."""

    name: str
    form: Form
    to: Steps | None

    def concerns(self, steps: Steps) -> bool:
        return normal_form(steps)[: len(self.form)] == self.form


class Migrations(Struct, frozen=True, eq=False):
    """What happened to options on the way to a revision, oldest first.

    hints say what to do about an option that must now be set.
    """

    moves: tuple[Move, ...] = ()
    retypes: tuple[tuple[Form, Retype], ...] = ()
    hints: tuple[tuple[Form, str], ...] = ()

    def moved(self, steps: Steps) -> Steps | None:
        """Where a path went; None if it was removed; the path itself if nothing happened to it."""
        for move in self.moves:
            if move.concerns(steps):
                if move.to is None:
                    return None
                steps = (*move.to, *steps[len(move.form) :])
        return steps

    def first_move(self, steps: Steps) -> int:
        """Which move is the first to take a path somewhere else; it has an older name the earlier that is."""
        return next((number for number, move in enumerate(self.moves) if move.concerns(steps)), len(self.moves))

    def retypes_of(self, form: Form) -> tuple[Retype, ...]:
        """What retypes an option, oldest first."""
        return tuple(retype for name, retype in self.retypes if name == form)


def retyped(option: Option, retypes: Sequence[Retype], value: Any) -> Any:
    """A value as the option takes it now, if retypes say how; else the very value.

    What fits a version on the way was written for it, or a later one, and is not converted there. What is made of a
    secret is one, whatever else is in it (B18).
    """
    if breaks_rules(option, value) is None:
        return value
    plain = _in_plain(value)
    if plain is ABSENT:
        return value
    converted = plain
    for there, expression in retypes:
        if there is not None and breaks_rules(there, converted) is None:
            continue
        try:
            converted = evaluate_value(expression, converted)
        except ExpressionError:
            continue
    if breaks_rules(option, converted) is not None:
        return value
    return converted if plain is value else Secret(None, converted)


def _in_plain(value: Any) -> Any:
    """A value with what its secrets hold; the very value if there is none in it, ABSENT if one cannot be read here."""
    if isinstance(value, Secret):
        return ABSENT if value.plain is None else value.plain
    if not isinstance(value, dict | list):
        return value
    held = value if isinstance(value, dict) else dict(enumerate(value))
    opened = {key: _in_plain(each) for key, each in held.items()}
    if all(opened[key] is each for key, each in held.items()):
        return value
    if any(each is ABSENT for each in opened.values()):
        return ABSENT
    return opened if isinstance(value, dict) else list(opened.values())


def secret_forms(versions: Iterable[Revision]) -> frozenset[Form]:
    """The options that any version of a definition declares secret, under every name that they ever have.

    A value does not become harmless by another name, and may be written under it before the version that has it runs.
    """
    revisions = sorted(versions, key=lambda each: parse_version(each.version))
    found = {form for each in revisions for form, option in each.forms.items() if option.type == "secret"}
    for move in migrations_to(revisions).moves:
        if move.form in found and move.to is not None:
            found.add(normal_form(move.to))
    return frozenset(found)


def migrations_to(passed: Iterable[Revision]) -> Migrations:
    """The migrations of revisions, oldest first."""
    moves: list[Move] = []
    retypes: list[tuple[Form, Retype]] = []
    hints: list[tuple[Form, str]] = []
    for revision in passed:
        changes = revision.object.spec.changes
        for step in (changes.migrations if changes is not None else None) or []:
            try:
                if step.rename is not None:
                    move = _move(step.rename.from_, parse_path(step.rename.to))
                    moves.append(move)
                    # What was retyped before is another name's value from here on. An option may come back under the
                    # old one: what was written for it before it was retyped is still there.
                    names = (move.form, normal_form(parse_path(step.rename.to)))
                    retypes = [
                        (name, each) for form, each in retypes for name in (names if form == move.form else (form,))
                    ]
                elif step.remove is not None:
                    moves.append(_move(step.remove.name, None))
                elif step.retype is not None:
                    form = normal_form(parse_path(step.retype.name))
                    retypes.append((form, (revision.forms.get(form), step.retype.expression)))
                elif step.require is not None and step.require.hint:
                    hints.append((normal_form(parse_path(step.require.name)), step.require.hint))
            except PathError:
                # Reported where the definition is checked.
                continue
    return Migrations(tuple(moves), tuple(retypes), tuple(hints))


def _move(name: str, to: Steps | None) -> Move:
    steps = parse_path(name)
    return Move(text_of(steps), normal_form(steps), to)
