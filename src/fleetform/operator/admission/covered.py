"""Values that somebody sets and an override covers: they are kept, and have no effect there (R0-15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from fleetform.engine.check.report import listed
from fleetform.engine.decisions import Decisions
from fleetform.engine.report.effects import hidden_items, sides_of
from fleetform.model.objects import At, Ref
from fleetform.model.results.decisions import Item, OptionDecision, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic


class _Covered(NamedTuple):
    """A value, and the override that is over it."""

    path: str
    value: bytes
    override: str


def covered_options(before: Decisions, after: Decisions, ref: Ref) -> Iterator[Diagnostic]:
    """Of the values of a preset or Plugin those that overrides cover, and that were not there or not covered before."""
    known = _covered(before, ref)
    found: dict[At, tuple[str, dict[str, None], dict[str, None]]] = {}
    for each, (item, clusters) in _covered(after, ref).items():
        if each not in known:
            _, overrides, there = found.setdefault(item.at, (each.path, {}, {}))
            overrides[each.override] = None
            there |= dict.fromkeys(clusters)
    for at, (path, overrides, there) in found.items():
        over = f"the override {next(iter(overrides))} sets" if len(overrides) == 1 else f"{_listed(overrides)} set"
        message = f"{path} has no effect on {_listed(there)}: {over} it there"
        yield Diagnostic("covered-option", message, "change the override, or leave the value out", "warning", ref, at)


def _listed(names: Iterable[str]) -> str:
    return listed(sorted(names))


def _covered(decisions: Decisions, ref: Ref) -> dict[_Covered, tuple[Item, list[str]]]:
    found: dict[_Covered, tuple[Item, list[str]]] = {}
    # Plugins share most decisions: each is looked at once.
    hidden: dict[int, list[tuple[_Covered, Item]]] = {}
    for plugin in decisions.plugins.values():
        instance = plugin.instance.ref if plugin.instance is not None else None
        if ref not in (plugin.target.owner.ref, instance):
            continue
        for decision in _with_overrides(plugin):
            pairs = hidden.get(id(decision))
            if pairs is None:
                pairs = hidden[id(decision)] = list(_pairs(decision, ref))
            for covered, item in pairs:
                found.setdefault(covered, (item, []))[1].append(plugin.cluster.ref.name)
    return found


def _with_overrides(plugin: PluginDecision) -> Iterable[OptionDecision]:
    own = {each.slot.name for each in plugin.own}
    yield from plugin.own
    for settled in plugin.shared.options:
        if settled.above and settled.decision is not None and settled.slot.name not in own:
            yield settled.decision


def _pairs(decision: OptionDecision, ref: Ref) -> Iterator[tuple[_Covered, Item]]:
    """A value of the object that is hidden, and the strongest override that made the option what it is."""
    over = next((each.layer.object for each in reversed(sides_of(decision).won)), None)
    if over is None:
        return
    for item in dict.fromkeys(hidden_items(decision)):
        if item.layer.object.ref == ref:
            said = msgspec.msgpack.encode((repr(item.value), item.expression, str(item.secret)))
            yield _Covered(item.text, said, over.ref.name), item
