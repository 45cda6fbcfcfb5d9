"""What plugins share: each distinct combination of owner, revision, groups and overrides is decided once.

Of a fleet's plugins most have the same definition, preset and overrides. What follows from these is kept from pass to
pass, by owner: as long as nothing that an owner's plugins are made of changes, a plugin that is decided again finds the
very records that all others have. Records are held weakly: what no plugin has any more is forgotten with it, so that
a thousand edits leave no more behind than the last of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any
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
from fleetform.engine.options.routing import Routed, in_family, route
from fleetform.engine.options.schema import Schema, families
from fleetform.engine.versions.choose import Choice, versions_between
from fleetform.engine.versions.upgrade_gates import Step, step_between
from fleetform.model.objects import Object
from fleetform.model.results.configs import NO_CONFIGS, Configs
from fleetform.model.results.decisions import (
    ABSENT,
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
from fleetform.syntax.versions import parse_version

# A Plugin beside a preset that names configs of its own.
Holder = Object[Any] | None
Groups = tuple[Group, ...]
# What a combination below overrides is: a revision, groups, and a Plugin with configs of its own.
Below = tuple[Revision, Groups, Holder]


class OwnerMemory:
    """What is known of one owner's plugins. It holds as long as nothing changes that they are made of."""

    __slots__ = ("below", "configs", "settled", "shared", "targets")

    def __init__(self) -> None:
        self.below: dict[Below, Routed] = {}
        self.configs: dict[Below, tuple[Configs, list[ConfigItem]]] = {}
        self.targets: dict[Revision | Gate, Target] = {}
        self.shared: WeakValueDictionary[tuple[Any, ...], Shared] = WeakValueDictionary()
        self.settled: dict[Below, WeakValueDictionary[tuple[str, tuple[Routed, ...]], Settled]] = {}

    def settled_over(self, below: Below) -> WeakValueDictionary[tuple[str, tuple[Routed, ...]], Settled]:
        """What options are above one combination, by name and what overrides say of them."""
        found = self.settled.get(below)
        if found is None:
            found = self.settled[below] = WeakValueDictionary()
        return found

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
        memory.settled = {each: found for each, found in self.settled.items() if not is_stale(each)}
        return memory


class Sharing:
    """Decides each distinct combination once, and each option in it once."""

    def __init__(self, index: Index, binders: Binders) -> None:
        self._index, self._binders = index, binders
        self._owners: dict[Owner, OwnerMemory] = {}
        self._schemas: dict[Revision, Schema] = {}
        self._routed: dict[Revision, dict[Override, Routed]] = {}
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
        before, there = self._index.compiled_overrides, index.compiled_overrides
        outdated = [each for object_, each in before.items() if there.get(object_) is not each]
        for revision, routed in self._routed.items():
            if _name(revision) not in gone:
                still = sharing._routed[revision] = dict(routed)
                for override in outdated:
                    still.pop(override, None)
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
            found = self._schemas[revision] = Schema(revision, self._index.definitions)
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
        above = self._over(revision, overrides)
        skipped = below.skipped + [one for each in above for one in each.skipped]
        if owner.program is not None:
            skipped += self._left_out(owner, revision, (below, *above))
        options = self._settle_all(owner, base, below, above)
        decisions = [each.decision for each in options if each.decision is not None]
        without = [each for each in decisions if each.value is ABSENT or each.problem is not None]
        schema = self.schema(revision)
        configs, _ = self.configs(owner, base)
        gates = (
            *gates_of_revision(self._index.snapshot, revision),
            *missing_configs(configs),
            *(gate for each in without for gate in gates_of_option(each, schema.hints)),
        )
        return Shared(
            options,
            tuple([each for each in options if each.decision is None]) if len(decisions) < len(options) else (),
            applied,
            tuple(skipped),
            gates,
            configs,
            tuple([each for each in without if each.unresolved]),
            schema.positions(options),
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
            schema, found = self.schema(revision), Routed()
            for name, item in schema.defaults.items():
                found.add(name, (item, ()))
            for items in _layers_below(owner, groups, self.configs(owner, base)[1]):
                found.add_all(schema, items, owner.passes_undeclared)
            memory[base] = found
        return found

    def _over(self, revision: Revision, overrides: tuple[Override, ...]) -> list[Routed]:
        """What overrides say, by option."""
        memory = self._routed.setdefault(revision, {})
        for override in overrides:
            if override not in memory:
                memory[override] = route(self.schema(revision), override.items, override.allow_undeclared)
        return [memory[override] for override in overrides]

    def _settle_all(self, owner: Owner, base: Below, below: Routed, above: Sequence[Routed]) -> tuple[Settled, ...]:
        schema = self.schema(base[0])
        slots, kin = schema.slots, schema.nested
        # Which overrides speak of an option: all that differs between plugins that have the same below them.
        speaking: defaultdict[str, list[Routed]] = defaultdict(list)
        for each in above:
            for name in each.by_option:
                speaking[name].append(each)
        undeclared = (below.by_option.keys() | speaking.keys()) - slots.keys()
        if undeclared:
            first = {name: _said(name, None, (below, *above))[0][0] for name in undeclared}
            extra = {name: schema.slot(name, item.steps) for name, item in first.items()}
            slots = dict(sorted({**slots, **extra}.items(), key=lambda entry: sort_key(entry[1].steps)))
            kin = families(slots.values())
        memory = self._memory(owner).settled_over(base)
        settled = []
        for name, slot in slots.items():
            family = kin.get(name)
            if family is None:
                over = tuple(speaking[name]) if name in speaking else ()
            else:
                over = tuple([one for one in above if any(each.name in one.by_option for each in family.members)])
            found = memory.get((name, over))
            if found is None:
                found = memory[name, over] = self._decided(
                    owner, base[0], slot, _said(name, family, (below,)), _said(name, family, over), family
                )
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


def _said(name: str, family: Family | None, routed: Sequence[Routed]) -> tuple[Entry, ...]:
    """What is said of an option, and of those of its family."""
    if family is not None:
        return in_family(family, *(each.in_order for each in routed))
    return tuple([entry for each in routed for entry in each.by_option.get(name, ())])


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
