"""Effects of overrides: from decisions to what each override did, where it won and lost, and how ties were settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from fleetform.engine.decisions import Decisions
from fleetform.model.objects import Object
from fleetform.model.results.decisions import (
    Item,
    OptionDecision,
    PluginDecision,
    Settled,
    Shared,
    Sides,
    Skipped,
    TieBreak,
    how_settled,
)
from fleetform.syntax.option_paths import normal_form
from fleetform.syntax.trees import same_value


class Applied(NamedTuple):
    """An override on one plugin: the paths it won there and those it lost."""

    override: Object[object]
    rank: int
    won: tuple[str, ...]
    lost: tuple[str, ...]


class Tie(NamedTuple):
    """Two overrides of one rank that disagree, and on how many plugins."""

    winner: Item
    loser: Item
    plugins: int

    @property
    def by(self) -> TieBreak | None:
        return how_settled(self.winner, self.loser)

    @property
    def undecided(self) -> bool:
        return self.by == "name" and self.winner.layer.created is None


def sides_of(decision: OptionDecision) -> Sides:
    """The items of overrides for an option that made its value, and those without effect (R0-18)."""
    if decision.sides is not None:
        return decision.sides
    decider = decision.decider
    won = (decider,) if decider is not None and decider.layer.rank else ()
    return Sides(won, tuple([item for item in decision.hidden if item.layer.rank]))


def applied_overrides(
    overrides: Iterable[Object[object]],
    options: Mapping[str, OptionDecision],
    skipped: Iterable[Skipped] = (),
    sides: Callable[[OptionDecision], Sides] = sides_of,
) -> list[Applied]:
    """Those of a plugin's overrides that have items for its options, in order, wholly shadowed ones included.

    skipped is what has no effect on the plugin: what is left out there was said all the same. sides is sides_of, or
    what remembers its answers: plugins share most of their decisions.
    """
    won: dict[Object[object], dict[str, int]] = {}
    lost: dict[Object[object], dict[str, int]] = {}
    for items in map(sides, options.values()):
        for item in items.won:
            won.setdefault(item.layer.object, {})[item.text] = item.layer.rank
        for item in items.lost:
            lost.setdefault(item.layer.object, {})[item.text] = item.layer.rank
    left_out = [each.item for each in skipped if each.reason == "left-out" and each.item.layer.rank]
    named = {normal_form(each.slot.steps) for each in options.values()} if left_out else set()
    for item in left_out:
        form = normal_form(item.steps)
        if any(form[: length + 1] in named for length in range(len(form))):
            lost.setdefault(item.layer.object, {})[item.text] = item.layer.rank
    applied = []
    for override in overrides:
        winners, losers = won.get(override, {}), lost.get(override, {})
        if winners or losers:
            rank = next(iter({**winners, **losers}.values()))
            paths = tuple(sorted(path for path in losers if path not in winners))
            applied.append(Applied(override, rank, tuple(sorted(winners)), paths))
    return applied


def winning_items(decision: OptionDecision) -> list[Item]:
    """The items that made the value: the winner, those of parts, a removal that stands, and what cleared the way."""
    said = [decision.winner, decision.removed_by, *(part.winner for part in decision.parts)]
    won, lost = sides_of(decision)
    return list(dict.fromkeys([*(each for each in said if each is not None and each not in lost), *won]))


def hidden_items(decision: OptionDecision) -> list[Item]:
    """The items that made no difference, as others hide them."""
    hidden = [*decision.hidden, *(item for part in decision.parts for item in part.hidden)]
    return [*hidden, *sides_of(decision).lost]


class Effects:
    """What every override did over all plugins; computed once, from what plugins share. only: what that one did."""

    def __init__(self, decisions: Decisions, only: Object[object] | None = None) -> None:
        # The plugins of each shared record, with their places in the order; and the records that an override is in.
        self._plugins: dict[Shared, list[tuple[int, PluginDecision]]] = {}
        self._records: dict[Object[object], list[Shared]] = {}
        self._winners: set[Object[object]] = set()
        # Those without which some value would be another.
        self._changing: set[Object[object]] = set()
        # Those with an item that is left out on a plugin (S37).
        self._left_out: set[Object[object]] = set()
        self._ties: dict[tuple[Item, Item], int] = {}
        differing: dict[Shared, dict[tuple[str, ...], int]] = {}
        for number, plugin in enumerate(decisions.plugins.values()):
            shared = plugin.shared
            alike = self._plugins.get(shared)
            if alike is None:
                alike = self._plugins[shared] = []
                left_out = _left_out(shared.skipped)
                self._left_out |= left_out
                for override in _contributing(shared, only) | left_out:
                    self._records.setdefault(override, []).append(shared)
            alike.append((number, plugin))
            if plugin.own_skipped:
                self._left_out |= _left_out(plugin.own_skipped)
            if plugin.own:
                own = tuple([each.slot.name for each in plugin.own])
                counts = differing.setdefault(shared, {})
                counts[own] = counts.get(own, 0) + 1
                for decision in plugin.own:
                    if only is None or _speaks_of(only, shared, decision.slot.name):
                        self._look_at(decision, 1)
        for shared, alike in self._plugins.items():
            counts = differing.get(shared, {})
            counts = {(): len(alike) - sum(counts.values()), **counts}
            for settled in shared.options:
                if settled.decision is not None and (settled.above if only is None else _is_in(only, settled)):
                    plugins = sum(number for own, number in counts.items() if settled.slot.name not in own)
                    if plugins:
                        self._look_at(settled.decision, plugins)

    def _look_at(self, decision: OptionDecision, plugins: int) -> None:
        for item in winning_items(decision):
            if item.layer.rank:
                self._winners.add(item.layer.object)
                if not _says_what_is_there(item, decision):
                    self._changing.add(item.layer.object)
        ties = {(part.winner, part.tied_with) for part in decision.parts} | {(decision.decider, decision.tied_with)}
        for winner, loser in ties:
            if winner is not None and loser is not None:
                self._ties[winner, loser] = self._ties.get((winner, loser), 0) + plugins

    def plugins(self, override: Object[object]) -> list[PluginDecision]:
        """The plugins that an override has items for."""
        found = [each for shared in self._records.get(override, ()) for each in self._plugins[shared]]
        return [plugin for _, plugin in sorted(found, key=lambda each: each[0])]

    def reaches_any(self, override: Object[object]) -> bool:
        """Whether there is a plugin that an override has items for."""
        return override in self._records

    def is_shadowed(self, override: Object[object]) -> bool:
        return override in self._records and override not in self._winners

    def is_redundant(self, override: Object[object]) -> bool:
        """Whether an override wins, and every value would be the same without it."""
        return override in self._winners and override not in self._changing and override not in self._left_out

    def silenced(self, override: Object[object]) -> list[str]:
        """What became of the items of an override without effect: left out, or hidden by others."""
        if override not in self._left_out:
            return ["hidden by others"]
        plugins = self.plugins(override)
        has_items = any(applied_overrides((override,), each.options) for each in plugins)
        return ["left out", "hidden by others"] if has_items else ["left out"]

    def ties(self) -> list[Tie]:
        found = [Tie(winner, loser, plugins) for (winner, loser), plugins in self._ties.items()]
        return sorted(found, key=lambda tie: (tie.winner.layer.object.ref, tie.loser.layer.object.ref, tie.winner.text))


def _contributing(shared: Shared, only: Object[object] | None) -> set[Object[object]]:
    """The overrides with items for options of a record; of only whether it is one of them."""
    if only is None:
        return {item.layer.object for settled in shared.options for item, _ in settled.above}
    return {only} if any(_is_in(only, settled) for settled in shared.options) else set()


def _is_in(override: Object[object], settled: Settled) -> bool:
    return any(item.layer.object is override for item, _ in settled.above)


def _speaks_of(override: Object[object], shared: Shared, option: str) -> bool:
    position = shared.positions.get(option)
    return position is not None and _is_in(override, shared.options[position])


def _says_what_is_there(item: Item, decision: OptionDecision) -> bool:
    """Whether an item gives an option the very value that the next item below it gives. Only plain values are known."""
    below = decision.hidden[0] if decision.hidden else None
    if below is None or item is not decision.winner or decision.parts or decision.removed_by:
        return False
    plain = all(
        each.strategy == "Replace"
        and each.expression is None
        and each.secret is None
        and len(each.steps) == len(decision.slot.steps)
        for each in (item, below)
    )
    return plain and not decision.slot.secret and same_value(item.value, below.value)


def _left_out(skipped: Iterable[Skipped]) -> set[Object[object]]:
    """The overrides that refer to an optional variable which cannot be resolved."""
    return {each.item.layer.object for each in skipped if each.reason == "left-out" and each.item.layer.rank}
