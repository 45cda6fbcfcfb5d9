"""What plugins share: each distinct combination of owner, revision, groups and overrides is decided once.

Of a fleet's plugins most have the same definition, preset and overrides. What follows from these is kept from pass to
pass, by owner: as long as nothing that an owner's plugins are made of changes, a plugin that is decided again finds the
very records that all others have. Records are held weakly: what no plugin has any more is forgotten with it, so that
a thousand edits leave no more behind than the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from fleetform.engine.bindings.templates import Template
from fleetform.engine.configs.combine import combine, of_preset
from fleetform.engine.configs.items import ConfigItem, at_place, config_items
from fleetform.engine.configs.references import default_references, instance_configs
from fleetform.engine.index.definitions import gates_of_revision
from fleetform.engine.index.index import Index
from fleetform.engine.index.outputs import Binders
from fleetform.engine.layers.overrides import Override
from fleetform.engine.layers.owners import Group, Owner
from fleetform.engine.options.gates import gates_of_option, missing_configs
from fleetform.engine.options.item_values import ItemValues
from fleetform.engine.options.resolve import all_plain, decide_option, is_simple, outline_of
from fleetform.engine.options.schema import Schema, families
from fleetform.engine.versions.choose import Choice, versions_between
from fleetform.engine.versions.upgrade_gates import Step, step_between
from fleetform.model.objects import Object
from fleetform.model.results.configs import NO_CONFIGS, Configs
from fleetform.model.results.decisions import (
    Entry,
    Family,
    Gate,
    Item,
    Revision,
    Settled,
    Shared,
    Skipped,
    Slot,
    Target,
    sort_key,
)
from fleetform.syntax.option_paths import text_of
from fleetform.syntax.versions import parse_version

# A Plugin beside a preset that names configs of its own.
Holder = Object[Any] | None
Groups = tuple[Group, ...]
# What a combination below overrides is: a revision, groups, and a Plugin with configs of its own.
Below = tuple[Revision, Groups, Holder]


class Routed(NamedTuple):
    """Items by the option they are about: by its name, and all in order; and those that are about none."""

    by_option: dict[str, list[Entry]]
    in_order: list[tuple[str, Entry]]
    skipped: list[Skipped]

    def add(self, option: str, entry: Entry) -> None:
        self.by_option.setdefault(option, []).append(entry)
        self.in_order.append((option, entry))


class OwnerMemory:
    """What is known of one owner's plugins. It holds as long as nothing changes that they are made of."""

    __slots__ = ("below", "configs", "settled", "shared", "targets")

    def __init__(self) -> None:
        self.below: dict[Below, Routed] = {}
        self.configs: dict[Below, tuple[Configs, list[ConfigItem]]] = {}
        self.targets: dict[Revision | Gate, Target] = {}
        self.shared: WeakValueDictionary[tuple[Any, ...], Shared] = WeakValueDictionary()
        self.settled: WeakValueDictionary[tuple[Any, ...], Settled] = WeakValueDictionary()

    def without(self, is_stale: Callable[[Below], bool]) -> OwnerMemory:
        """A copy without some combinations."""
        memory = OwnerMemory()
        memory.targets = self.targets
        memory.below = {each: found for each, found in self.below.items() if not is_stale(each)}
        memory.configs = {each: found for each, found in self.configs.items() if not is_stale(each)}
        for key, shared in self.shared.items():
            revision, groups, _, holder = key
            if not isinstance(revision, Revision) or not is_stale((revision, groups, holder)):
                memory.shared[key] = shared
        for key, settled in self.settled.items():
            if not is_stale(key[0]):
                memory.settled[key] = settled
        return memory


class Sharing:
    """Decides each distinct combination once, and each option in it once."""

    def __init__(self, index: Index, binders: Binders) -> None:
        self._index, self._binders = index, binders
        self._owners: dict[Owner, OwnerMemory] = {}
        self._schemas: dict[Revision, Schema] = {}
        self._routed: dict[Override, dict[Revision, Routed]] = {}
        self._steps: dict[tuple[str, Revision], Step] = {}

    def after(
        self, index: Index, binders: Binders, changed: Iterable[Owner], definitions: Iterable[tuple[str, str]]
    ) -> Sharing:
        """What still holds in the next pass.

        What is forgotten: all of owners that changed, schemas of definitions of which a version came, went or changed,
        and what overrides said that are gone. Two passes share what holds in both: what one adds holds in the other.
        """
        sharing = Sharing(index, binders)
        sharing._owners = dict(self._owners)
        for owner in changed:
            sharing._owners.pop(owner, None)
        gone = {*definitions}
        sharing._schemas = {each: schema for each, schema in self._schemas.items() if _name(each) not in gone}
        if not gone:
            sharing._steps = self._steps
        else:
            for owner in [each for each in sharing._owners if each.definition in {name for _, name in gone}]:
                # Its plugins keep what they have; what it would be routed by is another schema now.
                kept, memory = sharing._owners[owner], OwnerMemory()
                memory.shared, memory.settled, memory.targets = kept.shared, kept.settled, kept.targets
                sharing._owners[owner] = memory
        there = index.compiled_overrides
        for override, routed in self._routed.items():
            if there.get(override.object) is override:
                sharing._routed[override] = (
                    {each: found for each, found in routed.items() if _name(each) not in gone} if gone else routed
                )
        return sharing

    def forget(self, is_stale: Callable[[Owner, Below], bool]) -> None:
        """Forget what owners' plugins share where that no longer holds; other passes keep what they have."""
        for owner, memory in self._owners.items():
            if any(is_stale(owner, each) for each in memory.configs):
                self._owners[owner] = memory.without(partial(is_stale, owner))

    def forget_instances(self, index: Index) -> None:
        """Forget what followed from Plugins beside presets that are gone."""
        plugins = index.snapshot.plugins
        self.forget(lambda _, below: below[2] is not None and plugins.get(below[2].ref) is not below[2])

    # ---- What follows from a revision, or from an owner and a revision

    def schema(self, revision: Revision) -> Schema:
        found = self._schemas.get(revision)
        if found is None:
            definitions, name = self._index.definitions, _name(revision)
            found = Schema(revision, definitions.versions_of(name), definitions.revisions.get(name, {}))
            self._schemas[revision] = found
        return found

    def step(self, running: str, wanted: Revision) -> Step:
        """The way from the version that runs to another, over the versions of the definition that is wanted."""
        found = self._steps.get((running, wanted))
        if found is None:
            low, high = sorted((running, wanted.version), key=parse_version)
            passed = versions_between(self._index.definitions.versions_of(_name(wanted)), low, high)
            found = self._steps[running, wanted] = step_between(running, wanted, passed)
        return found

    def target(self, owner: Owner, chosen: Revision | Gate) -> Target:
        targets = self._memory(owner).targets
        found = targets.get(chosen)
        if found is None:
            choice = self._index.definitions.choice(owner)
            forced = isinstance(choice, Choice) and choice.forced and choice.revision is chosen
            revision = chosen if isinstance(chosen, Revision) else None
            release = owner.release(revision)
            found = Target(owner.object, owner.definition, owner.wanted, revision, *release, forced)
            targets[chosen] = found
        return found

    def _memory(self, owner: Owner) -> OwnerMemory:
        found = self._owners.get(owner)
        if found is None:
            found = self._owners[owner] = OwnerMemory()
        return found

    # ---- What plugins have in common

    def shared(
        self,
        owner: Owner,
        revision: Revision | Gate,
        groups: Groups,
        overrides: tuple[Override, ...],
        holder: Holder = None,
    ) -> Shared:
        """What plugins have in common; holder is a Plugin beside the preset that names configs of its own."""
        memory = self._memory(owner).shared
        key = (revision, groups, overrides, holder)
        found = memory.get(key)
        if found is None:
            found = memory[key] = self._share(owner, *key)
        return found

    def configs(self, owner: Owner, below: Below) -> tuple[Configs, list[ConfigItem]]:
        """The configs that count, from three places, and what they say."""
        memory = self._memory(owner).configs
        found = memory.get(below)
        if found is None:
            revision, groups, holder = below
            configs = self._combine(owner, revision, groups, holder)
            found = memory[below] = (configs, config_items(configs, revision.object.spec.configs or ()))
        return found

    def _combine(self, owner: Owner, revision: Revision, groups: Groups, holder: Holder) -> Configs:
        supported = revision.object.spec.configs or ()
        mode = owner.config_mode or revision.object.spec.config_mode or "OverrideByGVK"
        second, hidden = of_preset(() if owner.by_hand else owner.configs, [each.configs for each in groups], mode)
        third = owner.configs if owner.by_hand else instance_configs(holder) if holder is not None else ()
        if not supported and not second and not third and not hidden:
            return NO_CONFIGS
        references = [*default_references(revision.object), *second, *third]
        return combine(mode, supported, references, self._index.configs, hidden)

    def _share(
        self, owner: Owner, revision: Revision | Gate, groups: Groups, overrides: tuple[Override, ...], holder: Holder
    ) -> Shared:
        applied = tuple([each.object for each in overrides])
        if isinstance(revision, Gate):
            return Shared((), (), applied, (), (revision,))
        base: Below = (revision, groups, holder)
        below = self._under(owner, base)
        above = [self._route_override(revision, override) for override in overrides]
        skipped = [*below.skipped, *(one for each in above for one in each.skipped)]
        if owner.program is not None:
            skipped += self._left_out(owner, revision, (below, *above))
        options = self._settle_all(owner, base, below, above)
        schema = self.schema(revision)
        configs, _ = self.configs(owner, base)
        gates = (
            *gates_of_revision(self._index.snapshot, revision),
            *missing_configs(configs),
            *(gate for each in options if each.decision for gate in gates_of_option(each.decision, schema.hints)),
        )
        return Shared(
            options,
            tuple([each for each in options if each.decision is None]),
            applied,
            tuple(skipped),
            gates,
            configs,
            tuple([each.decision for each in options if each.decision and each.decision.unresolved]),
            schema.positions(tuple([each.slot.name for each in options])),
        )

    def _left_out(self, owner: Owner, revision: Revision, routed: Iterable[Routed]) -> list[Skipped]:
        """What refers to an optional variable without a value, whatever the cluster."""
        item_values = self._everywhere(owner, revision)
        items = [item for each in routed for _, (item, _) in each.in_order]
        return [
            Skipped(item, "left-out")
            for item in items
            if item.expression is None and not self._varies(owner, item) and item_values.is_left_out(item)
        ]

    def _everywhere(self, owner: Owner, revision: Revision) -> ItemValues:
        """The values of items that are the same on every cluster."""
        binder = self._binders.of(owner)
        frame = binder.everywhere if binder is not None else None
        return ItemValues(binder, frame, None, owner.definition, revision.version)

    def _under(self, owner: Owner, base: Below) -> Routed:
        """Defaults, the owner's values and its groups', by option; configs of a place go right below its values."""
        memory = self._memory(owner).below
        found = memory.get(base)
        if found is None:
            revision, groups, _ = base
            found = Routed({}, [], [])
            for name, item in self.schema(revision).defaults.items():
                found.add(name, (item, ()))
            for items in _layers_below(owner, groups, self.configs(owner, base)[1]):
                self.route(revision, items, found, owner.passes_undeclared)
            memory[base] = found
        return found

    def _route_override(self, revision: Revision, override: Override) -> Routed:
        memory = self._routed.setdefault(override, {})
        found = memory.get(revision)
        if found is None:
            found = memory[revision] = Routed({}, [], [])
            self.route(revision, override.items, found, override.allow_undeclared)
        return found

    def route(self, revision: Revision, items: Iterable[Item], into: Routed, pass_undeclared: bool) -> None:
        """Sort items by the option they are about. A path that nobody declares is an option of its own."""
        schema = self.schema(revision)
        by_option, in_order = into.by_option, into.in_order
        for item, route in schema.read_all(items):
            if route is not None:
                name, inside = route
                entry = (item, inside)
                by_option.setdefault(name, []).append(entry)
                in_order.append((name, entry))
            elif pass_undeclared or item.layer.name == "config":
                # A definition's author says where configs go: there need be no option of that name.
                into.add(text_of(item.steps), (item, ()))
            else:
                into.skipped.append(Skipped(item, schema.why_skipped(item.steps)))

    def own(self, owner: Owner, revision: Revision, items: Iterable[Item]) -> Routed:
        """What one cluster says alone, by option."""
        found = Routed({}, [], [])
        self.route(revision, items, found, owner.passes_undeclared)
        return found

    def _settle_all(self, owner: Owner, base: Below, below: Routed, above: Sequence[Routed]) -> tuple[Settled, ...]:
        schema = self.schema(base[0])
        slots, kin = schema.slots, schema.nested
        overs: dict[str, list[Entry]] = {}
        for routed in above:
            for name, entries in routed.by_option.items():
                overs.setdefault(name, []).extend(entries)
        undeclared = (below.by_option.keys() | overs.keys()) - slots.keys()
        if undeclared:
            extra = {
                name: schema.slot(name, (below.by_option.get(name) or overs[name])[0][0].steps) for name in undeclared
            }
            slots = dict(sorted({**slots, **extra}.items(), key=lambda entry: sort_key(entry[1].steps)))
            kin = families(slots.values())
        memory = self._memory(owner).settled
        settled = []
        for name, slot in slots.items():
            family = kin.get(name)
            over = tuple(overs.get(name, ())) if family is None else in_family(family, *(one.in_order for one in above))
            key = (base, name, over)
            found = memory.get(key)
            if found is None:
                under = below.by_option.get(name, ()) if family is None else in_family(family, below.in_order)
                found = memory[key] = self._decided(owner, base[0], slot, tuple(under), over, family)
            settled.append(found)
        return tuple(settled)

    def _decided(
        self,
        owner: Owner,
        revision: Revision,
        slot: Slot,
        below: tuple[Entry, ...],
        above: tuple[Entry, ...],
        family: Family | None,
    ) -> Settled:
        entries = (*below, *above)
        dynamic = any(item.expression is not None or self._varies(owner, item) for item, _ in entries)
        plain = is_simple(slot, family) and all_plain(entries)
        if dynamic:
            templates = [self._template(owner, item) for item, _ in entries]
            sure = plain and not any(each.optional for each in templates if each is not None)
            return Settled(slot, None, below, above, plain, outline_of(slot, entries) if sure else None, family)
        if owner.program is None:
            decision = decide_option(slot, entries, family=family)
            return Settled(slot, decision, below, above, plain, family=family)
        item_values = self._everywhere(owner, revision)
        below, above = tuple(item_values.spoken(below)), tuple(item_values.spoken(above))
        entries = (*below, *above)
        decision = decide_option(slot, entries, item_values, family)
        plain = is_simple(slot, family) and all_plain(entries)
        return Settled(slot, decision, below, above, plain, family=family)

    def _template(self, owner: Owner, item: Item) -> Template | None:
        """What an item's variable references make of its value; None where it refers to no variable."""
        binder = self._binders.of(owner)
        return binder.template(item) if binder is not None else None

    def _varies(self, owner: Owner, item: Item) -> bool:
        """Whether the variables that an item refers to have another value on another cluster."""
        template = self._template(owner, item)
        return template is not None and template.varies


def in_family(family: Family, *routed: Iterable[tuple[str, Entry]]) -> tuple[Entry, ...]:
    """What is said of the members of a family, in order, with paths that start where it does."""
    start = len(family.steps)
    inside = {each.name: each.steps[start:] for each in family.members}
    return tuple([(item, (*inside[name], *rest)) for each in routed for name, (item, rest) in each if name in inside])


def _name(revision: Revision) -> tuple[str, str]:
    return revision.object.ref.organization, revision.object.ref.name


def _layers_below(owner: Owner, groups: Groups, said: list[ConfigItem]) -> Iterator[Iterable[Item]]:
    """The items of everything below what one cluster says, in order of application."""
    if not said:
        yield owner.items
        yield from (group.items for group in groups)
        return
    yield at_place(said, 1)
    yield at_place(said, 2, "")
    if owner.by_hand:
        yield at_place(said, 3)
    yield owner.items
    for group in groups:
        yield at_place(said, 2, group.name)
        yield group.items
