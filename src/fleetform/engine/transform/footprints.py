"""Where operations reach into an object, and which of them overlap.

A trail is a pointer's steps with ITEMS between a list and its index. Inserting or removing an item moves all others, so
such an operation's trail ends at ITEMS: it lies above everything in the list (S42), and all overlaps are overlaps of a
trail with one at, above or below it. The sum of marks below a node answers in a step for each step of a trail whether
anything overlaps it, and beside it the sum of the marks of the plugin whose turn it is, whether anything else does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fleetform.syntax.json_patch import END, Operation, is_index, parse_pointer


class _Items:
    """The items of a list, as a step that no key can be."""

    def __repr__(self) -> str:
        return "[]"


ITEMS = _Items()
Step = str | _Items
Trail = tuple[Step, ...]


class Footprint(NamedTuple):
    """Where an operation reaches: the trails of what it changes, and of what it only reads.

    Two that read do not disturb each other.
    """

    writes: tuple[Trail, ...]
    reads: tuple[Trail, ...] = ()


def footprint(tree: Any, operation: Operation) -> Footprint:
    """Where an operation reaches in an object; lists that the object does not have yet are known by their indices."""
    op = operation.op
    if op == "test":
        return Footprint((), (_trail(tree, operation.path, False),))
    at_path = _trail(tree, operation.path, op != "replace")
    if not isinstance(operation.from_, str):
        return Footprint((at_path,))
    source = _trail(tree, operation.from_, op == "move")
    return Footprint((at_path, source)) if op == "move" else Footprint((at_path,), (source,))


def _trail(tree: Any, pointer: str, shifts: bool) -> Trail:
    trail: list[Step] = []
    here = tree
    steps = parse_pointer(pointer)
    for number, step in enumerate(steps, start=1):
        kind = here.__class__
        if kind is dict:
            here = here.get(step)
        elif kind is list or step == END or is_index(step):
            trail.append(ITEMS)
            if shifts and number == len(steps):
                break
            here = here[int(step)] if kind is list and is_index(step) and int(step) < len(here) else None
        else:
            here = None
        trail.append(step)
    return tuple(trail)


class Entry:
    """An operation as it is kept: its mark, where it is in the plugins that ask for it, and what came before it.

    before is the sum of marks of those earlier operations of its plugin that overlap it.
    """

    __slots__ = ("before", "footprint", "mark", "operation", "owner", "places")

    def __init__(
        self, operation: Operation, owner: int, place: int, mark: int, before: int, footprint: Footprint
    ) -> None:
        self.operation, self.owner, self.mark, self.before, self.footprint = operation, owner, mark, before, footprint
        self.places = {owner: place}

    @property
    def is_empty(self) -> bool:
        """Whether it adds an empty map or list: others that do the same may then fill it, each in its own way."""
        return self.operation.op == "add" and self.operation.value in ({}, [])


def mark_of(number: int) -> int:
    """A mark for an operation: positive, and such that different sets of marks have different sums, save by a chance
    of one in 2^61. The hash of a tuple of numbers is the same in every process."""
    return (hash((number, 1)) & 0x1FFF_FFFF_FFFF_FFFF) + 1


class _Node:
    """A step of trails, with sums of marks: of those right here, and of those here and below.

    For the plugin whose turn it is: of what it asked for (asked), of what of that is its own and not only shared (own),
    and of what it may build upon (base). Most nodes hold one mark, so they begin with what the class has.
    """

    here = below = 0
    turn = -1
    asked_here = asked_below = own_below = base_here = 0
    children: dict[Step, _Node] | None = None
    entries: list[Entry] | None = None


class Overlap(NamedTuple):
    """Sums of marks of what overlaps a trail.

    all of every plugin; asked of what the plugin whose turn it is asked for before; free of what is no conflict for it:
    its own, and above the trail what it may build upon.
    """

    all: int
    asked: int
    free: int


class Ground:
    """Trails of operations, with their marks; turn is the plugin whose turn it is."""

    def __init__(self) -> None:
        self._root = _Node()
        self.turn = -1

    def overlapping(self, trails: tuple[Trail, ...]) -> Overlap:
        all_, asked, free, turn = 0, 0, 0, self.turn
        for trail in trails:
            node = self._root
            for step in trail:
                if node.here:
                    all_ += node.here
                    if node.turn == turn:
                        asked += node.asked_here
                        free += node.base_here
                following = node.children.get(step) if node.children else None
                if following is None:
                    break
                node = following
            else:
                all_ += node.below
                if node.turn == turn:
                    asked += node.asked_below
                    free += node.own_below
        return Overlap(all_, asked, free)

    def put(self, trails: tuple[Trail, ...], entry: Entry) -> None:
        """Put an operation of the current turn down, for all to see."""
        for trail in trails:
            node = self._walk(trail, entry.mark, entry.mark)
            node.asked_here += entry.mark
            node.base_here += entry.mark
            node.here += entry.mark
            if node.entries is None:
                node.entries = []
            node.entries.append(entry)

    def share(self, trails: tuple[Trail, ...], entry: Entry) -> None:
        """Note that the current turn asks for the same as an entry that is there."""
        for trail in trails:
            node = self._walk(trail, entry.mark, 0)
            node.asked_here += entry.mark
            if entry.is_empty:
                node.base_here += entry.mark

    def _walk(self, trail: Trail, asked: int, own: int) -> _Node:
        """The last node of a trail; sums on the way to it grow."""
        node = self._root
        self._weigh(node, asked, own)
        for step in trail:
            children = node.children
            if children is None:
                children = node.children = {}
            if step in children:
                node = children[step]
            else:
                node = children[step] = _Node()
            self._weigh(node, asked, own)
        return node

    def _weigh(self, node: _Node, asked: int, own: int) -> None:
        node.below += own
        if node.turn == self.turn:
            node.asked_below += asked
            node.own_below += own
        else:
            node.turn, node.asked_below, node.own_below = self.turn, asked, own
            node.asked_here = node.base_here = 0

    def forget(self, trails: tuple[Trail, ...], entry: Entry) -> None:
        """Take an entry away again."""
        for trail in trails:
            node = self._root
            node.below -= entry.mark
            for step in trail:
                assert node.children is not None
                node = node.children[step]
                node.below -= entry.mark
            node.here -= entry.mark
            assert node.entries is not None
            node.entries.remove(entry)

    def first_other(self, trails: tuple[Trail, ...], plugin: int) -> tuple[Entry, bool] | None:
        """Another plugin's entry that is a conflict for this one, and whether they meet in the items of a list."""
        for trail in trails:
            node = self._root
            for depth, step in enumerate(trail):
                if found := _other(node, plugin, True):
                    return found, depth > 0 and trail[depth - 1] is ITEMS
                following = node.children.get(step) if node.children else None
                if following is None:
                    break
                node = following
            else:
                below = [node]
                while below:
                    node = below.pop()
                    if found := _other(node, plugin, False):
                        return found, bool(trail) and trail[-1] is ITEMS
                    below += node.children.values() if node.children else ()
        return None

    def shifted_above(self, trails: tuple[Trail, ...]) -> bool:
        """Whether an operation here inserts or removes items of a list that trails reach into."""
        for trail in trails:
            node = self._root
            for step in trail:
                following = node.children.get(step) if node.children else None
                if following is None:
                    break
                node = following
                if step is ITEMS and node.here:
                    return True
        return False


def _other(node: _Node, plugin: int, is_above: bool) -> Entry | None:
    for entry in node.entries or ():
        if entry.owner != plugin and not (is_above and plugin in entry.places and entry.is_empty):
            return entry
    return None
