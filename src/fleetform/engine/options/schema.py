"""What a revision declares: its options with their defaults, the option a path belongs to, and how values written for
earlier versions are read.

A schema holds while the versions of its definition stay the same: any of them may declare an option secret, or say what
became of one.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from fleetform.engine.layers.revisions import default_items
from fleetform.engine.versions.choose import versions_between
from fleetform.engine.versions.migrations import migrations_to
from fleetform.model.results.decisions import Item, Revision, SkipReason, Slot, Steps, sort_key
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.versions import parse_version

# The name of the option that a path belongs to, and the path inside it; None where no option is declared there.
Route = tuple[str, Steps] | None


class Schema:
    """The options of one revision, given all versions of its definition and those among them that are offered."""

    def __init__(self, revision: Revision, versions: Mapping[str, Revision], offered: Mapping[str, Revision]) -> None:
        self.revision, self._versions, self._offered = revision, versions, offered
        self._migrations = migrations_to(versions_between(versions, None, revision.version))
        self.secret = self._secret_forms()
        self.slots = self._slots_in_path_order()
        self.defaults = {revision.options[steps].name: item for steps, item in default_items(revision).items()}
        # What to do about options that must now be set, by path.
        self.hints = dict(self._migrations.hints)
        self._migrates = bool(self._migrations.moves or self._migrations.retypes)
        # Fleets repeat paths.
        self._routes: dict[Steps, Route] = {}
        self._positions: dict[tuple[str, ...], dict[str, int]] = {}

    def _secret_forms(self) -> frozenset[tuple[str, ...]]:
        """The options that any version of the definition declares secret, under the names they have now, too."""
        forms = [each.forms for each in self._versions.values()]
        secret = {form for each in forms for form, option in each.items() if option.type == "secret"}
        for old, new in self._migrations.moves:
            # A value does not become harmless by another name.
            if old in secret and new is not None:
                secret.add(normal_form(new))
        return frozenset(secret)

    def _slots_in_path_order(self) -> dict[str, Slot]:
        in_order = sorted(self.revision.options.items(), key=lambda entry: sort_key(entry[0]))
        return {
            option.name: Slot(option.name, steps, option, tuple(map(str, steps)) in self.secret)
            for steps, option in in_order
        }

    def route(self, steps: Steps) -> Route:
        if steps not in self._routes:
            found = self.revision.find(steps)
            self._routes[steps] = (found[0].name, found[1]) if found is not None else None
        return self._routes[steps]

    def read(self, item: Item) -> tuple[Item, Route]:
        """The item as the revision takes it, and the option it belongs to."""
        route = self.route(item.steps)
        if not self._migrates:
            return item, route
        if route is None:
            steps = self._migrations.moved(item.steps)
            if steps is None or steps == item.steps:
                return item, None
            route = self.route(steps)
            item = structs.replace(item, steps=steps, migrated_from=item.text) if route is not None else item
        if route is not None and not route[1]:
            option = self.slots[route[0]].option
            item = self._migrations.converted(item, option) if option is not None else item
        return item, route

    def why_skipped(self, steps: Steps) -> SkipReason:
        """Why no value is taken at a path: nobody declares it, a newer version does, or it was removed."""
        if self._migrations.moved(steps) is None:
            return "removed"
        here = parse_version(self.revision.version)
        newer = [each for each in self._offered.values() if parse_version(each.version) > here]
        return "not-yet-known" if any(each.find(steps) is not None for each in newer) else "not-declared"

    def positions(self, names: tuple[str, ...]) -> dict[str, int]:
        """Where each of some options stands; one map for all plugins with the same ones."""
        found = self._positions.get(names)
        if found is None:
            found = self._positions[names] = {name: position for position, name in enumerate(names)}
        return found
