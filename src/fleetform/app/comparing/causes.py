"""Why an option differs between two fleets: whose coming, going or edit made the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fleetform.app.answering.references import object_reference, reference
from fleetform.app.comparing.plugin_changes import OptionChange, PluginChange
from fleetform.app.fleet import Fleet
from fleetform.engine.bindings.builtin import is_built_in
from fleetform.engine.report.effects import hidden_items, winning_items
from fleetform.model.answers.base import ObjectReference
from fleetform.model.results.decisions import Item, OptionDecision, PluginDecision
from fleetform.syntax.trees import same_value


class Sides(NamedTuple):
    """The two fleets that are compared, and one plugin in both of them."""

    before: Fleet
    after: Fleet
    change: PluginChange


def cause_of(sides: Sides, change: OptionChange) -> ObjectReference | None:
    """The object that made the difference, at the place where it did."""
    new, old = _top_item(change.after), _top_item(change.before)
    earlier = [*winning_items(change.before), *hidden_items(change.before)] if change.before is not None else []
    # An item that is the same in the same object of both sides made no difference itself.
    if new is not None and not any(
        new.layer.object.ref == each.layer.object.ref
        and new.layer.name == each.layer.name
        and (new.secret, new.strategy) == (each.secret, each.strategy)
        and new.expression == each.expression
        and same_value(new.value, each.value)
        for each in earlier
    ):
        return reference(new.layer.object.ref, new.at, sides.after.input.locator)
    if new is not None and (named := _cause_of_variables(sides, new)) is not None:
        return named
    if old is not None:
        return reference(old.layer.object.ref, old.at, sides.before.input.locator)
    return None


def _top_item(decision: OptionDecision | None) -> Item | None:
    """The most specific of the items that made the value."""
    if decision is None:
        return None
    return max(winning_items(decision), key=lambda item: item.layer.rank, default=None)


def _cause_of_variables(sides: Sides, item: Item) -> ObjectReference | None:
    """If a value is written as before: the object that a variable in it is read from, and that changed."""
    one, other = sides.change.before, sides.change.after
    if one is None or other is None:
        return None
    names = sides.after.inputs.variable_references(other, item)
    old = {each.name: each for each in sides.before.inputs.bound(one)}
    new = {each.name: each for each in sides.after.inputs.bound(other)}
    same_cluster = one.cluster.spec == other.cluster.spec and one.cluster.labels == other.cluster.labels
    locator = sides.after.input.locator
    for name in _with_those_behind(sides.after, other, names):
        bound, before = new.get(name), old.get(name)
        if bound is None:
            if is_built_in(name) and not same_cluster:
                return object_reference(other.cluster, locator)
            continue
        known = before is not None and (before.unresolved is None) == (bound.unresolved is None)
        if before is not None and known and (bound.unresolved is not None or same_value(before.value, bound.value)):
            continue
        if bound.source is not None:
            return object_reference(bound.source, locator)
        return reference(other.target.owner.ref, bound.at, locator)
    return None


def _with_those_behind(fleet: Fleet, plugin: PluginDecision, names: Iterable[str]) -> Iterator[str]:
    """Variables and those that their bindings refer to in turn, what is behind a variable before it."""
    waiting, seen = [(name, False) for name in reversed(list(names))], set()
    while waiting:
        name, opened = waiting.pop()
        if opened:
            yield name
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += [(each, False) for each in reversed(fleet.inputs.mentioned_by(plugin, name))]
