"""Why an option differs between two fleets: whose coming, going or edit made the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fleetform.app.answering.masks import item_value
from fleetform.app.answering.references import object_reference, reference
from fleetform.app.comparing.plugin_changes import OptionChange, PluginChange
from fleetform.app.fleet import Fleet
from fleetform.engine.bindings.builtin import is_built_in
from fleetform.engine.report.effects import hidden_items, winning_items
from fleetform.model.answers.base import ObjectReference
from fleetform.model.results.bindings import Bound
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
    if new is not None and not any(_is_same_item(new, item) for item in _all_items(change.before)):
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


def _all_items(decision: OptionDecision | None) -> list[Item]:
    return [] if decision is None else [*winning_items(decision), *hidden_items(decision)]


def _is_same_item(one: Item, other: Item) -> bool:
    """Whether an item is the same in the same object of both sides: it then made no difference itself."""
    same_object = one.layer.object.ref == other.layer.object.ref and one.layer.name == other.layer.name
    same_content = one.secret == other.secret and one.strategy == other.strategy
    return same_object and same_content and same_value(item_value(one, False), item_value(other, False))


def _cause_of_variables(sides: Sides, item: Item) -> ObjectReference | None:
    """If a value is written as before: the object that a variable in it is read from, and that changed."""
    one, other = sides.change.before, sides.change.after
    if one is None or other is None:
        return None
    names = _with_those_behind(sides.after, other, sides.after.inputs.variable_references(other, item))
    old = {each.name: each for each in sides.before.inputs.bound(one)}
    new = {each.name: each for each in sides.after.inputs.bound(other)}
    locator = sides.after.input.locator
    for name in names:
        if name in new and not _same_bound(old.get(name), new[name]):
            source = new[name].source
            owner = other.target.owner
            return (
                object_reference(source, locator) if source is not None else reference(owner.ref, new[name].at, locator)
            )
        if name not in new and is_built_in(name) and one.cluster.spec != other.cluster.spec:
            return object_reference(other.cluster, locator)
        if name not in new and is_built_in(name) and one.cluster.labels != other.cluster.labels:
            return object_reference(other.cluster, locator)
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


def _same_bound(one: Bound | None, other: Bound) -> bool:
    if one is None or (one.unresolved is None) != (other.unresolved is None):
        return False
    return other.unresolved is not None or same_value(one.value, other.value)
