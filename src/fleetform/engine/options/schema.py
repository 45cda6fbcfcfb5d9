"""What a revision declares: its options with their defaults, the option a path belongs to, and how values written for
earlier versions are read.

A schema holds while the versions of its definition stay the same: any of them may declare an option secret, or say what
became of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import structs

from fleetform.engine.index.definitions import DefinitionIndex
from fleetform.engine.layers.items import as_a_set
from fleetform.engine.layers.revisions import default_items
from fleetform.engine.versions.choose import versions_between
from fleetform.engine.versions.migrations import migrations_to, retyped
from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import ABSENT, Family, Item, Revision, Settled, SkipReason, Slot, Steps, sort_key
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.variables import variable_references_in
from fleetform.syntax.versions import parse_version

# The name of the option that a path belongs to, and the path inside it; None where no option is declared there.
Route = tuple[str, Steps] | None


class Schema:
    """The options of one revision, given all versions of its definition."""

    def __init__(self, revision: Revision, definitions: DefinitionIndex) -> None:
        name = (revision.object.ref.organization, revision.object.ref.name)
        versions = definitions.versions_of(name)
        self.revision, self._offered = revision, definitions.revisions.get(name, {})
        self._migrations = migrations_to(versions_between(versions, None, revision.version))
        self.secret = definitions.secret_forms(name)
        self.slots = self._slots_in_path_order()
        defaults = sorted(default_items(revision).items(), key=lambda entry: sort_key(entry[0]))
        self.defaults = {revision.options[steps].name: item for steps, item in defaults}
        # Options of which one lies inside another.
        self.nested = families(self.slots.values())
        # What to do about options that must now be set, by path.
        self.hints = dict(self._migrations.hints)
        self._migrates = bool(self._migrations.moves or self._migrations.retypes)
        # Fleets repeat paths.
        self._routes: dict[Steps, Route] = {}
        self._positions: dict[tuple[str, ...], dict[str, int]] = {}

    def _slots_in_path_order(self) -> dict[str, Slot]:
        in_order = sorted(self.revision.options.items(), key=lambda entry: sort_key(entry[0]))
        return {option.name: self.slot(option.name, steps, option) for steps, option in in_order}

    def slot(self, name: str, steps: Steps, option: Option | None = None) -> Slot:
        """An option as it is decided; without a declaration, a path that nobody declares."""
        form = normal_form(steps)
        inside = [each for each in self.secret if len(each) > len(form) and each[: len(form)] == form]
        retypes = self._migrations.retypes_of(form) if option is not None else ()
        return Slot(
            name, steps, option, form in self.secret, tuple(sorted(each[len(form) :] for each in inside)), retypes
        )

    def route(self, steps: Steps) -> Route:
        try:
            return self._routes[steps]
        except KeyError:
            found = self.revision.find(steps)
            route = self._routes[steps] = (found[0].name, found[1]) if found is not None else None
            return route

    def read_all(self, items: Iterable[Item]) -> Iterable[tuple[Item, Route]]:
        """Items as the revision takes them, and the options they belong to.

        Of one layer those that bear an older name come first, so that a newer name in the same object wins.
        """
        if not self._migrates:
            route = self.route
            return [(item, route(item.steps)) for item in items]
        return self._read(items)

    def _read(self, items: Iterable[Item]) -> Iterator[tuple[Item, Route]]:
        for _, layer in groupby(items, key=lambda item: item.layer):
            older: list[tuple[int, Item]] = []
            others: list[Item] = []
            for item in layer:
                moved = self._moved(item)
                older += [(self._migrations.first_move(item.steps), moved)] if moved is not None else []
                others += [item] if moved is None else []
            ages = sorted({age for age, _ in older})
            in_order = [each for age in ages for each in as_a_set([item for one, item in older if one == age])]
            for item in (*in_order, *others):
                route = self.route(item.steps)
                yield (self._converted(item, route[0]) if route is not None and not route[1] else item), route

    def _moved(self, item: Item) -> Item | None:
        """An item whose option was renamed, at the path that it has now; None where nothing is moved."""
        if self.route(item.steps) is not None:
            return None
        steps = self._migrations.moved(item.steps)
        if steps is None or steps == item.steps or self.route(steps) is None:
            return None
        name = self._migrations.moves[self._migrations.first_move(item.steps)].name
        return structs.replace(item, steps=steps, migrated_from=name)

    def _converted(self, item: Item, option: str) -> Item:
        """The item with its value as the option takes it now; one that refers to variables is converted when filled."""
        slot = self.slots[option]
        if not slot.retypes or slot.option is None or item.value is ABSENT or variable_references_in(item.value):
            return item
        value = retyped(slot.option, slot.retypes, item.value)
        return (
            item
            if value is item.value
            else structs.replace(item, value=value, migrated_from=item.migrated_from or option)
        )

    def option_of(self, steps: Steps) -> str | None:
        """The option that a path belongs to, also under a name that it had earlier."""
        moved = self._migrations.moved(steps) if self.route(steps) is None else steps
        route = self.route(moved) if moved is not None else None
        return route[0] if route is not None else None

    def why_skipped(self, steps: Steps) -> SkipReason:
        """Why no value is taken at a path: nobody declares it, a newer version does, or it was removed."""
        if self._migrations.moved(steps) is None:
            return "removed"
        here = parse_version(self.revision.version)
        newer = [each for each in self._offered.values() if parse_version(each.version) > here]
        return "not-yet-known" if any(each.find(steps) is not None for each in newer) else "not-declared"

    def positions(self, options: Sequence[Settled]) -> dict[str, int]:
        """Where each of some options stands, by name; one map for all plugins with the same ones."""
        # All that are declared are among them.
        names = tuple(self.slots) if len(options) == len(self.slots) else tuple([each.slot.name for each in options])
        found = self._positions.get(names)
        if found is None:
            found = self._positions[names] = {name: position for position, name in enumerate(names)}
        return found


def families(slots: Iterable[Slot]) -> dict[str, Family]:
    """Options of which one lies inside another, by the name of each; others have no family.

    Of a list that nobody declares, items are one family: an index is one of the list that all of them make.
    """
    found: dict[str, Family] = {}
    start: Steps = ()
    members: list[Slot] = []
    starting = sorted(((_start(each), each) for each in slots), key=lambda one: (normal_form(one[0]), one[1].name))
    for begins, slot in starting:
        if not members or normal_form(begins)[: len(start)] != normal_form(start):
            start, members = begins, []
        members.append(slot)
        if len(members) > 1 or len(start) < len(slot.steps):
            family = Family(start, tuple(members))
            found.update((each.name, family) for each in members)
    return found


def _start(slot: Slot) -> Steps:
    """Where the value begins that an option is a part of: a path that nobody declares may lead into a list."""
    if slot.option is not None:
        return slot.steps
    index = next((number for number, step in enumerate(slot.steps) if isinstance(step, int)), len(slot.steps))
    return slot.steps[:index] or slot.steps
