"""Settles the operations of several plugins on one object (R4-1 to R4-14).

Every plugin saw the same object. From the highest priority down, an operation is kept unless it overlaps one that a
plugin above keeps. Equal operations are one: what two plugins ask for alike, after the same steps of their own, is kept
once and belongs to the higher. If that is an empty map or list, each may then fill it. What is kept stands in the order
in which plugins ran, each plugin's operations in their own order; a shared one where the first asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from fleetform.engine.transform.contested import contested
from fleetform.engine.transform.footprints import Entry, Footprint, Ground, Overlap, footprint, mark_of
from fleetform.engine.transform.records import Ignored, Kept, NewResource, Proposal, Reason, Settled
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.json_patch import CRANE, FailedTestError, Operation, PatchError, apply_patch
from fleetform.syntax.trees import same_value


def settle(tree: Any, proposals: Sequence[Proposal]) -> Settled:
    """What is kept of the answers for an object, in run order; tree is the object, or None where it is not known."""
    new = tuple([NewResource(each.plugin, new) for each in proposals for new in each.response.new_resources])
    whiteouts = tuple([each.plugin for each in proposals if each.response.whiteout])
    if whiteouts:
        # Whatever the priorities (R4-5).
        return Settled(whiteouts=whiteouts, new_resources=new)
    in_question = contested(proposals)
    kept = {}
    for plugin, proposal in enumerate(proposals):
        places = set(in_question.get(plugin, ()))
        for place, operation in enumerate(proposal.response.operations):
            if place not in places:
                kept[plugin, place] = Kept(proposal.plugin, operation)
    ignored: tuple[Ignored, ...] = ()
    if in_question:
        work = _Settling(tree, proposals)
        for plugin in sorted(in_question, key=lambda each: _rank(proposals[each], each)):
            work.take(plugin, in_question[plugin])
        kept |= work.kept()
        ignored = work.ignored()
    changers = tuple([each.plugin for each in proposals if each.response.changes_identity])
    return Settled(tuple([kept[position] for position in sorted(kept)]), ignored, (), new, changers)


def _rank(proposal: Proposal, number: int) -> tuple[bool, int, int]:
    """Who is listed before who is not, the lower number first, else the earlier (R4-1, R4-2, R4-3, R4-7)."""
    return proposal.priority is None, proposal.priority or 0, number


# Where an operation was met: the plugin's place in the run, and the operation's in its answer.
Position = tuple[int, int]


class _Lost(NamedTuple):
    """An operation that lost: where it was met, to whose operation it lost, and when they met."""

    operation: Operation
    position: Position
    reason: Reason
    winner: int
    met: Position


class _Turn:
    """One plugin's turn: what it lost, and where."""

    def __init__(self, plugin: int) -> None:
        self.plugin = plugin
        self.gone = Ground()
        self.lost: list[_Lost] = []


class _Settling:
    """The operations that may meet others, plugin by plugin from the highest priority down."""

    def __init__(self, tree: Any, proposals: Sequence[Proposal]) -> None:
        self._tree, self._proposals = tree, proposals
        self._writes, self._reads = Ground(), Ground()
        self._has_reads = False
        self._entries: list[Entry] = []
        # By path, and by what its plugin asked for before that overlaps it.
        self._equal: dict[tuple[str, int], Entry] = {}
        self._lost: list[_Lost] = []
        self._marks = 0

    def take(self, plugin: int, places: Sequence[int]) -> None:
        """Settle one plugin's operations against those of all plugins above it."""
        operations = self._proposals[plugin].response.operations
        is_whole = any(operations[place].op == "test" for place in places)
        if is_whole and self._fails_its_test(operations):
            self._lost += [_Lost(operations[place], (plugin, place), "test", plugin, (plugin, place))
                           for place in places]  # fmt: skip
            return
        first = len(self._entries)
        turn = _Turn(plugin)
        self._writes.turn = self._reads.turn = plugin
        for place in places:
            self._take_operation(turn, place, operations[place])
        if is_whole and turn.lost:
            self._take_back(turn, first, operations)
        self._lost += turn.lost

    def _fails_its_test(self, operations: Sequence[Operation]) -> bool:
        """Whether a test of a plugin does not hold on the object that it saw, changed by its own operations before."""
        if self._tree is None:
            return False
        try:
            apply_patch(self._tree, operations, CRANE)
        except FailedTestError:
            return True
        except PatchError:
            # Shown when the operations are applied, with its reason.
            return False
        return False

    def _take_operation(self, turn: _Turn, place: int, operation: Operation) -> None:
        reach = footprint(self._tree, operation)
        overlap = self._overlapping(reach)
        if overlap.all == overlap.free and not (turn.lost and turn.gone.shifted_above(reach.writes + reach.reads)):
            self._marks += 1
            entry = Entry(operation, turn.plugin, place, mark_of(self._marks), overlap.asked, reach)
            self._entries.append(entry)
            self._equal.setdefault((operation.path, overlap.asked), entry)
            self._writes.put(reach.writes, entry)
            self._reads.put(reach.reads, entry)
            self._has_reads = self._has_reads or bool(reach.reads)
            return
        if not (turn.lost and turn.gone.overlapping(reach.writes + reach.reads).all):
            shared = self._equal.get((operation.path, overlap.asked))
            if shared is not None and turn.plugin not in shared.places and _is_same(shared.operation, operation):
                shared.places[turn.plugin] = place
                self._writes.share(reach.writes, shared)
                self._reads.share(reach.reads, shared)
                return
        self._lose(turn, place, operation, reach)

    def _overlapping(self, reach: Footprint) -> Overlap:
        """What an operation would disturb."""
        found = self._writes.overlapping(reach.writes + reach.reads)
        if not self._has_reads:
            return found
        read = self._reads.overlapping(reach.writes)
        return Overlap(found.all + read.all, found.asked + read.asked, found.free + read.free)

    def _lose(self, turn: _Turn, place: int, operation: Operation, reach: Footprint) -> None:
        found = self._writes.first_other(reach.writes + reach.reads, turn.plugin)
        found = found or self._reads.first_other(reach.writes, turn.plugin)
        reason: Reason = "array"
        position = met = (turn.plugin, place)
        if found is None:
            # It follows an insertion or a removal that lost, so its index would mean another item.
            winner = turn.lost[-1].winner
        else:
            entry, in_items = found
            winner = entry.owner
            met = max(position, (winner, entry.places[winner]))
            if not in_items:
                reason = "path" if operation.path == entry.operation.path else "overlaps"
        turn.lost.append(_Lost(operation, position, reason, winner, met))
        turn.gone.put(reach.writes + reach.reads, Entry(operation, turn.plugin, place, 1, 0, reach))

    def _take_back(self, turn: _Turn, first: int, operations: Sequence[Operation]) -> None:
        """Nothing of a plugin with a test is kept if one of its operations is lost (R4-12)."""
        for entry in self._entries[first:]:
            self._writes.forget(entry.footprint.writes, entry)
            self._reads.forget(entry.footprint.reads, entry)
            if self._equal.get((entry.operation.path, entry.before)) is entry:
                del self._equal[entry.operation.path, entry.before]
        del self._entries[first:]
        for entry in self._entries:
            entry.places.pop(turn.plugin, None)
        cause = turn.lost[0]
        gone = {each.position[1] for each in turn.lost}
        turn.lost += [
            _Lost(each, (turn.plugin, place), "test", cause.winner, max((turn.plugin, place), cause.met))
            for place, each in enumerate(operations)
            if place not in gone
        ]

    def kept(self) -> dict[Position, Kept]:
        """What is kept, by the first place at which a plugin asks for it."""
        found = {}
        for entry in self._entries:
            also = tuple([self._name(each) for each in sorted(entry.places) if each != entry.owner])
            found[min(entry.places.items())] = Kept(self._name(entry.owner), entry.operation, also)
        return found

    def ignored(self) -> tuple[Ignored, ...]:
        """What is lost, in the order in which a plugin after another meets it (R4-10); equal ones are one (R4-9)."""
        if len({each.operation.path for each in self._lost}) == len(self._lost):
            # None are equal, and none met a third at its path.
            return tuple([self._ignored([each]) for each in sorted(self._lost, key=lambda each: each.met)])
        times: Counter[tuple[object, ...]] = Counter()
        found: dict[tuple[object, ...], list[_Lost]] = {}
        for each in self._lost:
            # From the highest priority down. What one plugin asks for twice is two operations.
            key = _key(each.operation)
            times[each.position[0], key] += 1
            found.setdefault((key, times[each.position[0], key]), []).append(each)
        met = self._met_at_their_paths()
        ordered = sorted(found.values(), key=lambda same: (met.get(same[0].position, same[0].met), same[0].position))
        return tuple([self._ignored(same) for same in ordered])

    def _ignored(self, same: list[_Lost]) -> Ignored:
        first, *others = same
        also = tuple([self._name(each.position[0]) for each in others])
        return Ignored(self._name(first.position[0]), first.operation, first.reason, self._name(first.winner), also)

    def _met_at_their_paths(self) -> dict[Position, Position]:
        """When each operation lost at its path as plugins ran: to whom held the path, or to who took it over."""
        lost = {each.position: each.operation.path for each in self._lost if each.reason == "path"}
        paths = set(lost.values())
        positions = {each.position: each.operation.path for each in self._lost if each.operation.path in paths}
        for entry in self._entries:
            if entry.operation.path in paths:
                positions[entry.owner, entry.places[entry.owner]] = entry.operation.path
        met: dict[Position, Position] = {}
        # By path, what the plugin asks for there that ranks highest so far.
        holders: dict[str, list[Position]] = {}
        for position in sorted(positions):
            holding = holders.setdefault(positions[position], [])
            if not holding or position[0] == holding[0][0]:
                holding.append(position)
            elif self._ranks(position, holding[0]):
                met |= dict.fromkeys(holding, position)
                holding[:] = [position]
            else:
                met[position] = position
        return {position: when for position, when in met.items() if position in lost}

    def _ranks(self, one: Position, above: Position) -> bool:
        return _rank(self._proposals[one[0]], one[0]) < _rank(self._proposals[above[0]], above[0])

    def _name(self, plugin: int) -> str:
        return self._proposals[plugin].plugin


def _is_same(one: Operation, other: Operation) -> bool:
    """Equal at the same path; 1 is 1.0, and true is not 1 (R4-9)."""
    if one.op != other.op or one.from_ != other.from_:
        return False
    return one.value is other.value or (UNSET not in (one.value, other.value) and same_value(one.value, other.value))


def _key(operation: Operation) -> tuple[object, ...]:
    value = b"" if operation.value is UNSET else canonical_json(operation.value)
    return operation.op, operation.path, operation.from_, value
