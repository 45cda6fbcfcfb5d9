"""What one cluster says alone, laid between what is below it and above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fleetform.engine.configs.items import ConfigItem, at_place
from fleetform.engine.layers.owners import Owner, block_items, instance_items
from fleetform.engine.options.routing import Routed, in_family
from fleetform.engine.options.schema import Schema, families
from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Entry, Family, Item, Settled, Shared


def own_items(
    owner: Owner, cluster: str, instance: Object[PluginSpec] | None, said: Sequence[ConfigItem]
) -> tuple[Item, ...]:
    """What one cluster alone says: the preset's block for it, then a Plugin beside the preset.

    What the configs of that Plugin say goes right below its own values.
    """
    blocks = owner.blocks.get(cluster) if owner.blocks else None
    items = block_items(owner.object, blocks) if blocks else ()
    if instance is None:
        return items
    return (*items, *(at_place(said, 3) if instance.spec.configs else ()), *instance_items(instance))


def touched_by(shared: Shared, said: Routed, schema: Schema) -> Iterable[tuple[Settled, Sequence[Entry]]]:
    """The options that are decided for one plugin alone, each with the items that its cluster has for it.

    These are those that differ from cluster to cluster, those that the cluster speaks of, and all of their families.
    """
    spoken = said.by_option
    options, positions = shared.options, shared.positions
    touched: list[tuple[Settled, Sequence[Entry]]] = [(each, spoken.get(each.slot.name, ())) for each in shared.dynamic]
    for name, entries in spoken.items():
        place = positions.get(name)
        if place is None or options[place].family is not None:
            return _with_families(shared, said, schema)
        if options[place].decision is not None:
            touched.append((options[place], entries))
    return touched


def _with_families(shared: Shared, said: Routed, schema: Schema) -> Iterator[tuple[Settled, Sequence[Entry]]]:
    spoken, options, positions = said.by_option, shared.options, shared.positions
    slots = {each.slot.name: each.slot for each in options}
    for name, entries in spoken.items():
        if name not in slots:
            slots[name] = schema.slot(name, entries[0][0].steps)
    kin = families(slots.values())
    touched = {each.slot.name for each in shared.dynamic} | spoken.keys()
    touched |= {member.name for name in touched if name in kin for member in kin[name].members}
    for name in [each for each in slots if each in touched]:
        family, position = kin.get(name), positions.get(name)
        settled = options[position] if position is not None else Settled(slots[name], None, (), (), False)
        if family is None:
            yield settled, spoken.get(name, ())
        else:
            yield _of_family(shared, settled, family), in_family(family, said.in_order)


def _of_family(shared: Shared, settled: Settled, family: Family) -> Settled:
    """An option as it is before its cluster says anything: a cluster may be the first to join some to one family."""
    names = [each.name for each in family.members]
    if settled.family is not None and [each.name for each in settled.family.members] == names:
        return settled
    below: list[Entry] = []
    above: list[Entry] = []
    seen: set[Family] = set()
    # Those that were no family before do not meet, so that it does not matter which of them come first.
    for each in shared.options:
        if each.slot.name in names and (each.family is None or each.family not in seen):
            way = each.start[len(family.steps) :]
            below += [(item, (*way, *inside)) for item, inside in each.below]
            above += [(item, (*way, *inside)) for item, inside in each.above]
            seen |= {each.family} if each.family is not None else set()
    return Settled(settled.slot, None, tuple(below), tuple(above), False, family=family)
