"""Routing: which option each item is about, and what is said of options that lie inside each other."""

from __future__ import annotations

from collections.abc import Iterable

from fleetform.engine.options.schema import Schema
from fleetform.model.results.decisions import Entry, Family, Item, Skipped
from fleetform.syntax.option_paths import text_of


class Routed:
    """Items by the option they are about: by its name, and all in order; and those that are about none.

    Compared by identity: what one object says of one revision is routed once.
    """

    __slots__ = ("by_option", "in_order", "skipped")

    def __init__(self) -> None:
        self.by_option: dict[str, list[Entry]] = {}
        self.in_order: list[tuple[str, Entry]] = []
        self.skipped: list[Skipped] = []

    def add(self, option: str, entry: Entry) -> None:
        said = self.by_option.get(option)
        if said is None:
            self.by_option[option] = [entry]
        else:
            said.append(entry)
        self.in_order.append((option, entry))

    def add_all(self, schema: Schema, items: Iterable[Item], pass_undeclared: bool) -> None:
        """Sort items by the option they are about. A path that nobody declares is an option of its own."""
        for item, route in schema.read_all(items):
            if route is not None:
                self.add(route[0], (item, route[1]))
            elif pass_undeclared or item.layer.name == "config":
                # A definition's author says where configs go: there need be no option of that name.
                self.add(text_of(item.steps), (item, ()))
            else:
                self.skipped.append(Skipped(item, schema.why_skipped(item.steps)))


def route(schema: Schema, items: Iterable[Item], pass_undeclared: bool) -> Routed:
    found = Routed()
    found.add_all(schema, items, pass_undeclared)
    return found


def in_family(family: Family, *said: Iterable[tuple[str, Entry]]) -> tuple[Entry, ...]:
    """What is said of the members of a family, in order, with paths that start where it does."""
    start = len(family.steps)
    inside = {each.name: each.steps[start:] for each in family.members}
    return tuple([(item, (*inside[name], *rest)) for each in said for name, (item, rest) in each if name in inside])
