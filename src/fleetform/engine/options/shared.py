"""What plugins share: each distinct combination of owner, revision, groups and overrides is decided once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fleetform.engine.bindings.outputs import Binders
from fleetform.engine.configs.items import Said, at_place, config_items
from fleetform.engine.index.layers import Group, Override, Owner
from fleetform.engine.index.prepare import Prepared
from fleetform.engine.options.resolve import all_plain, decide_option, outline_of
from fleetform.engine.options.values import Valuing
from fleetform.model.objects import Object
from fleetform.model.results.configs import Configs
from fleetform.model.results.decisions import (
    ABSENT,
    Entry,
    Gate,
    Item,
    OptionDecision,
    Revision,
    Settled,
    Shared,
    Skipped,
    Slot,
    sort_key,
)
from fleetform.syntax.option_paths import normal_form, text_of

# A Plugin that names configs of its own.
Holder = Object[Any] | None
Routed = tuple[dict[str, list[Entry]], list[Skipped]]


class Sharing:
    """Decides each distinct combination once, and each option in it once."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.binders = Binders(prepared)
        self._shared: dict[tuple[Any, ...], Shared] = {}
        self._below: dict[tuple[Owner, Revision, tuple[Group, ...], Holder], Routed] = {}
        self._configs: dict[tuple[Owner, Revision, tuple[Group, ...], Holder], tuple[Configs, list[Said]]] = {}
        self._settled: dict[tuple[Any, ...], Settled] = {}
        self._routed: dict[tuple[Revision, Override], Routed] = {}
        self._positions: dict[tuple[str, ...], dict[str, int]] = {}
        self._positions_of: dict[Shared, dict[str, int]] = {}

    def shared(
        self,
        owner: Owner,
        revision: Revision | Gate,
        groups: tuple[Group, ...],
        overrides: tuple[Override, ...],
        holder: Holder = None,
    ) -> Shared:
        """What plugins have in common; holder is a Plugin beside the preset that names configs of its own."""
        key = (owner, revision, groups, overrides, holder)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._share(*key)
        return found

    def positions(self, shared: Shared) -> dict[str, int]:
        """Where each option stands in a Shared; the same map for all with the same options."""
        found = self._positions_of.get(shared)
        if found is None:
            names = tuple([each.slot.name for each in shared.options])
            found = self._positions.setdefault(names, {name: position for position, name in enumerate(names)})
            self._positions_of[shared] = found
        return found

    def configs(
        self, owner: Owner, revision: Revision, groups: tuple[Group, ...], holder: Holder
    ) -> tuple[Configs, list[Said]]:
        """The configs that count, and what they say."""
        key = (owner, revision, groups, holder)
        found = self._configs.get(key)
        if found is None:
            configs = self._prepared.configs_of(owner, revision, groups, holder)
            found = self._configs[key] = (configs, config_items(configs, revision.object.spec.configs or ()))
        return found

    def _share(
        self,
        owner: Owner,
        revision: Revision | Gate,
        groups: tuple[Group, ...],
        overrides: tuple[Override, ...],
        holder: Holder,
    ) -> Shared:
        applied = tuple([each.object for each in overrides])
        if isinstance(revision, Gate):
            return Shared((), (), applied, (), (revision,))
        below, skipped = self._under(owner, groups, revision, holder)
        above: dict[str, list[Entry]] = {}
        for override in overrides:
            routed, left_out = self._route_override(revision, override)
            skipped = skipped + left_out
            for name, entries in routed.items():
                above.setdefault(name, []).extend(entries)
        if owner.program is not None:
            skipped = skipped + self._left_out(owner, revision, below, above)
        options = self._settle_all((owner, revision, groups, holder), revision, below, above)
        dynamic = tuple(each for each in options if each.decision is None)
        hints = self._prepared.hints(revision)
        gates = tuple(gate for each in options if each.decision for gate in gates_of_option(each.decision, hints))
        configs, _ = self.configs(owner, revision, groups, holder)
        gates = (*self._prepared.gates_of_revision(revision), *missing_configs(configs), *gates)
        unbound = tuple(each.decision for each in options if each.decision and each.decision.missing)
        return Shared(options, dynamic, applied, tuple(skipped), gates, configs, unbound)

    def _left_out(
        self, owner: Owner, revision: Revision, below: dict[str, list[Entry]], above: dict[str, list[Entry]]
    ) -> list[Skipped]:
        """What mentions an optional name that stands for nothing, whatever the cluster."""
        valuing = self._everywhere(owner, revision)
        items = [item for entries in (*below.values(), *above.values()) for item, _ in entries]
        return [
            Skipped(item, "left-out")
            for item in items
            if not self._varies(owner, item) and item.expression is None and valuing.is_left_out(item)
        ]

    def _everywhere(self, owner: Owner, revision: Revision) -> Valuing:
        """The values of items that are the same on every cluster."""
        binder = self.binders.of(owner)
        frame = binder.everywhere if binder is not None else None
        return Valuing(binder, frame, None, owner.definition, revision.version)

    def _under(self, owner: Owner, groups: tuple[Group, ...], revision: Revision, holder: Holder) -> Routed:
        """Defaults, the owner's values and its groups', by option; configs of a place go right below its values."""
        key = (owner, revision, groups, holder)
        found = self._below.get(key)
        if found is None:
            below: dict[str, list[Entry]] = {}
            skipped: list[Skipped] = []
            for steps, item in self._prepared.defaults(revision).items():
                below[revision.options[steps].name] = [(item, ())]
            for items in _layers_below(owner, groups, self.configs(*key)[1]):
                skipped += self.route(revision, items, below, owner.passes_undeclared)
            found = self._below[key] = (below, skipped)
        return found

    def _route_override(self, revision: Revision, override: Override) -> Routed:
        found = self._routed.get((revision, override))
        if found is None:
            routed: dict[str, list[Entry]] = {}
            skipped = self.route(revision, override.items, routed, override.allow_undeclared)
            found = self._routed[revision, override] = (routed, skipped)
        return found

    def route(
        self, revision: Revision, items: Iterable[Item], into: dict[str, list[Entry]], pass_undeclared: bool
    ) -> list[Skipped]:
        """Sort items by the option they speak of; those that speak of none are returned."""
        skipped = []
        prepared = self._prepared
        migrates = prepared.has_migrations(revision)
        for item in items:
            route = prepared.route(revision, item.steps)
            if migrates:
                item, route = prepared.migrated(revision, item, route)
            if route is not None:
                into.setdefault(route[0], []).append((item, route[1]))
            elif pass_undeclared or item.layer.name == "config":
                # A definition's author says where configs go: there need be no option of that name.
                into.setdefault(text_of(item.steps), []).append((item, ()))
            else:
                skipped.append(Skipped(item, prepared.why_skipped(revision, item.steps)))
        return skipped

    def _settle_all(
        self, base: Any, revision: Revision, below: dict[str, list[Entry]], above: dict[str, list[Entry]]
    ) -> tuple[Settled, ...]:
        slots = self._prepared.slots(revision)
        undeclared = (below.keys() | above.keys()) - slots.keys()
        if undeclared:
            extra = {name: Slot(name, (below.get(name) or above[name])[0][0].steps, None) for name in undeclared}
            slots = dict(sorted({**slots, **extra}.items(), key=lambda entry: sort_key(entry[1].steps)))
        return tuple(
            [self._settle(base, slot, below.get(name, ()), above.get(name, ())) for name, slot in slots.items()]
        )

    def _settle(self, base: Any, slot: Slot, below: Sequence[Entry], above: Sequence[Entry]) -> Settled:
        over = tuple(above)
        key = (base, slot.name, over)
        found = self._settled.get(key)
        if found is None:
            found = self._settled[key] = self._decided(base[0], base[1], slot, tuple(below), over)
        return found

    def _decided(
        self, owner: Owner, revision: Revision, slot: Slot, below: tuple[Entry, ...], above: tuple[Entry, ...]
    ) -> Settled:
        entries = (*below, *above)
        dynamic = any(item.expression is not None or self._varies(owner, item) for item, _ in entries)
        plain = all_plain(entries)
        if dynamic:
            sure = plain and not any(self._may_be_left_out(owner, item) for item, _ in entries)
            return Settled(slot, None, below, above, plain, outline_of(slot, entries) if sure else None)
        if owner.program is None:
            return Settled(slot, decide_option(slot, entries), below, above, plain)
        valuing = self._everywhere(owner, revision)
        below, above = tuple(valuing.spoken(below)), tuple(valuing.spoken(above))
        entries = (*below, *above)
        return Settled(slot, decide_option(slot, entries, valuing), below, above, all_plain(entries))

    def _may_be_left_out(self, owner: Owner, item: Item) -> bool:
        binder = self.binders.of(owner)
        template = binder.template(item) if binder is not None else None
        return template is not None and template.optional

    def _varies(self, owner: Owner, item: Item) -> bool:
        """Whether the names that an item mentions stand for something else on another cluster."""
        binder = self.binders.of(owner)
        template = binder.template(item) if binder is not None else None
        return template is not None and template.varies


def _layers_below(owner: Owner, groups: tuple[Group, ...], said: list[Said]) -> Iterator[Iterable[Item]]:
    """The items of everything below what one cluster says, in order of application."""
    if not said:
        yield owner.items
        yield from (group.items for group in groups)
        return
    yield at_place(said, 1)
    yield at_place(said, 2, "")
    if owner.object.ref.kind == "Plugin":
        yield at_place(said, 3)
    yield owner.items
    for group in groups:
        yield at_place(said, 2, group.name)
        yield group.items


# ---- Gates


Hints = Mapping[tuple[str, ...], str]


def gates_with_own(shared: tuple[Gate, ...], own: tuple[OptionDecision, ...], hints: Hints) -> tuple[Gate, ...]:
    odd = [each for each in own if each.problem is not None or each.value is ABSENT]
    gates = [gate for each in odd for gate in gates_of_option(each, hints)]
    if not shared:
        return tuple(gates)
    names = {each.slot.name for each in own}
    return tuple([gate for gate in shared if gate.option not in names] + gates)


def missing_configs(configs: Configs) -> Iterator[Gate]:
    """Configs that are named and do not exist: that plugin on that cluster waits for them (R1-12)."""
    for each in configs.effective:
        if each.config is None:
            group, resource, namespace, name = each.identity
            what = f"{resource}{'.' if group else ''}{group} {namespace}{'/' if namespace else ''}{name}"
            message = f"the config {what} does not exist"
            yield Gate("config-missing", message, "add it, or name another", ref=each.object.ref, at=each.at)


def gates_of_option(decision: OptionDecision, hints: Hints) -> Iterator[Gate]:
    option = decision.slot.option
    if decision.problem is not None:
        item = decision.at_fault or (decision.parts[-1].winner if decision.parts else decision.winner)
        at = item.at if item is not None else None
        ref = item.layer.object.ref if item is not None else None
        yield Gate("value-type", decision.problem, "fix the value where it is set", decision.name, ref, at)
    elif decision.missing is None and decision.value is ABSENT and option is not None and option.required:
        hint = hints.get(normal_form(decision.slot.steps))
        do = f"set {decision.name} in the preset, in a group, or in an override for this cluster"
        message = f"{decision.name} is required and has no value here"
        yield Gate("required-option", message, f"{do}: {hint}" if hint else do, decision.name)
