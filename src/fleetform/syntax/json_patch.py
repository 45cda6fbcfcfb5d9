"""JSON patch (RFC 6902) and JSON pointers (RFC 6901), strictly.

Two relaxations can be switched on, each by its name; Crane applies its transform files with both. A patch changes no
tree in place: the maps and lists on the way to a change are copied, everything else is shared with the tree before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fleetform.syntax.trees import copied, same_value

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
# What lies behind the last item of a list.
END = "-"
# A patch that is refused must not first fill the memory: no list of a manifest is nearly as long.
LONGEST_PADDING = 10_000

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class Operation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation of a patch. Its fields are in the order in which Go writes them, so that files compare."""

    from_: str | UnsetType = msgspec.field(name="from", default=UNSET)
    op: str
    path: str
    value: Any = UNSET


class Relaxations(NamedTuple):
    """How an application departs from RFC 6902."""

    create_missing_parents: bool = False
    ignore_missing_on_remove: bool = False


STRICT = Relaxations()
CRANE = Relaxations(create_missing_parents=True, ignore_missing_on_remove=True)


class PatchError(ValueError):
    """Why a patch cannot be read or applied; number counts its operations from 0, and is None for the whole patch."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.message, self.number = message, number


class FailedTestError(PatchError):
    """A test operation found another value."""


# ---- Pointers


def parse_pointer(pointer: str) -> list[str]:
    """The steps of a pointer; none for the whole document."""
    if not pointer:
        return []
    if pointer[0] != "/":
        raise PatchError(f"{pointer!r} is not a JSON pointer: it begins with /, and ~1 stands for a / inside a key")
    steps = pointer.split("/")
    del steps[0]
    if "~" in pointer:
        if _BAD_ESCAPE.search(pointer):
            raise PatchError(f"{pointer!r} is not a JSON pointer: ~ is written ~0, and / inside a key ~1")
        # ~01 is ~1, so the slash comes first.
        return [step.replace("~1", "/").replace("~0", "~") for step in steps]
    return steps


def pointer_to(*steps: str | int) -> str:
    """The pointer to a place: keys as they are, escaped here."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def is_index(step: str) -> bool:
    """Whether a step can be the index of a list item that is there: no sign, no leading zero."""
    return _INDEX.fullmatch(step) is not None


# ---- Reading

_read_json = msgspec.json.Decoder().decode


def read_patch(text: str | bytes) -> tuple[Operation, ...]:
    """A patch as JSON text."""
    try:
        return parse_patch(_read_json(text))
    except msgspec.DecodeError as error:
        raise PatchError(f"not a JSON patch: {error}") from error


def parse_patch(tree: Any) -> tuple[Operation, ...]:
    """A patch as a tree: a list of operations. Members that RFC 6902 does not have are ignored, as it asks for."""
    if not isinstance(tree, (list, tuple)):
        raise PatchError("a JSON patch is a list of operations")
    return tuple([parse_operation(each, number) for number, each in enumerate(tree)])


def parse_operation(tree: Any, number: int | None = None) -> Operation:
    if isinstance(tree, Operation):
        tree = {"op": tree.op, "path": tree.path, "value": tree.value, "from": tree.from_}
        tree = {key: each for key, each in tree.items() if each is not UNSET}
    if not isinstance(tree, dict):
        raise PatchError("an operation is a map with op and path", number)
    op, path = tree.get("op"), tree.get("path")
    if op not in OPERATIONS:
        raise PatchError(f"op is {op!r}; there are {', '.join(OPERATIONS)}", number)
    if not isinstance(path, str):
        raise PatchError(f"{op} has no path", number)
    try:
        parse_pointer(path)
        if op in ("add", "replace", "test"):
            if "value" not in tree:
                raise PatchError(f"{op} {path} has no value")
            return Operation(op=op, path=path, value=tree["value"])
        if op == "remove":
            return Operation(op=op, path=path)
        source = tree.get("from")
        if not isinstance(source, str):
            raise PatchError(f"{op} {path} has no from")
        parse_pointer(source)
    except PatchError as error:
        raise PatchError(error.message, number) from None
    return Operation(op=op, path=path, from_=source)


def write_patch(operations: Iterable[Operation]) -> bytes:
    """A patch as compact JSON text."""
    return msgspec.json.encode(list(operations))


# ---- Applying


def apply_text(document: str | bytes, patch: str | bytes, relaxed: Relaxations = STRICT) -> bytes:
    """A patch on a document, both as JSON texts."""
    try:
        tree = _read_json(document)
    except msgspec.DecodeError as error:
        raise PatchError(f"the document is not JSON: {error}") from error
    return msgspec.json.encode(apply_patch(tree, read_patch(patch), relaxed))


def apply_patch(tree: Any, operations: Sequence[Operation], relaxed: Relaxations = STRICT) -> Any:
    """The patched tree. Where an operation fails nothing is changed, and the error says which one it was."""
    work = _Application(tree, relaxed)
    for number, operation in enumerate(operations):
        try:
            _APPLIED[operation.op](work, operation)
        except PatchError as error:
            error.number = number
            raise
    return work.tree


class _Application:
    """A tree under change: what was copied once is ours, and is then changed in place."""

    def __init__(self, tree: Any, relaxed: Relaxations) -> None:
        self.tree, self._relaxed = tree, relaxed
        # By identity. What is ours can be freed and its identity taken by another, but only by one that is made here.
        self._ours: set[int] = set()

    def add(self, operation: Operation) -> None:
        self._put(operation.path, operation.value, create=self._relaxed.create_missing_parents)

    def remove(self, operation: Operation) -> None:
        self._take(operation.path, may_miss=self._relaxed.ignore_missing_on_remove)

    def replace(self, operation: Operation) -> None:
        steps = parse_pointer(operation.path)
        if not steps:
            self.tree = operation.value
            return
        holder = self._holder(steps, operation.path)
        holder[_existing(holder, steps[-1], operation.path)] = operation.value

    def move(self, operation: Operation) -> None:
        source = _source(operation)
        if operation.path == source:
            self._find(source)
            return
        if operation.path.startswith(f"{source}/"):
            raise PatchError(f"{source or 'the whole document'} cannot be moved into itself ({operation.path})")
        self._put(operation.path, self._take(source))

    def copy(self, operation: Operation) -> None:
        self._put(operation.path, copied(self._find(_source(operation))))

    def test(self, operation: Operation) -> None:
        if not same_value(self._find(operation.path), operation.value):
            raise FailedTestError(f"{operation.path} has another value than the test asks for")

    def _find(self, pointer: str) -> Any:
        found = self.tree
        for step in parse_pointer(pointer):
            found = found[_existing(found, step, pointer)]
        return found

    def _put(self, pointer: str, value: Any, create: bool = False) -> None:
        steps = parse_pointer(pointer)
        if not steps:
            self.tree = value
            return
        holder = self._holder(steps, pointer, create)
        step = steps[-1]
        if holder.__class__ is dict:
            holder[step] = value
            return
        if holder.__class__ is not list:
            raise _no_container(pointer)
        if step == END:
            holder.append(value)
            return
        index = _index(step, pointer)
        if index > len(holder):
            raise PatchError(f"{pointer} lies past the end of a list of {len(holder)}")
        holder.insert(index, value)

    def _take(self, pointer: str, may_miss: bool = False) -> Any:
        steps = parse_pointer(pointer)
        if not steps:
            raise PatchError("the whole document cannot be removed")
        try:
            holder = self._holder(steps, pointer)
            key = _existing(holder, steps[-1], pointer)
        except _MissingError:
            if may_miss:
                return None
            raise
        return holder.pop(key)

    def _holder(self, steps: list[str], pointer: str, create: bool = False) -> Any:
        """The map or list that holds what a pointer points at, ours and so are all above it."""
        holder = self.tree = self._own(self.tree)
        last = len(steps) - 1
        for place, step in enumerate(steps[:-1]):
            if create and _lacks(holder, step):
                _create(holder, step, steps[place + 1], place + 1 == last, pointer)
            key = _existing(holder, step, pointer)
            holder[key] = holder = self._own(holder[key])
        return holder

    def _own(self, tree: Any) -> Any:
        if id(tree) in self._ours or tree.__class__ not in (dict, list):
            return tree
        ours = tree.copy()
        self._ours.add(id(ours))
        return ours


_APPLIED: dict[str, Callable[[_Application, Operation], None]] = {
    "add": _Application.add,
    "remove": _Application.remove,
    "replace": _Application.replace,
    "move": _Application.move,
    "copy": _Application.copy,
    "test": _Application.test,
}


class _MissingError(PatchError):
    """Nothing is at a path."""


def _source(operation: Operation) -> str:
    assert isinstance(operation.from_, str)
    return operation.from_


def _existing(holder: Any, step: str, pointer: str) -> Any:
    """The key or index at which a step finds something."""
    if holder.__class__ is dict:
        if step not in holder:
            raise _MissingError(f"nothing is at {pointer}: there is no {step!r}")
        return step
    if holder.__class__ is not list:
        raise _MissingError(f"nothing is at {pointer}: {step!r} would be inside a single value")
    if step == END:
        raise PatchError(f"nothing is at {pointer}: - lies behind the last item of a list")
    index = _index(step, pointer)
    if index >= len(holder):
        raise _MissingError(f"{pointer} lies past the end of a list of {len(holder)}")
    return index


def _index(step: str, pointer: str) -> int:
    if not is_index(step):
        raise PatchError(f"{step!r} in {pointer} is not an index of a list")
    return int(step)


def _no_container(pointer: str) -> PatchError:
    return PatchError(f"nothing can be added at {pointer}: it would be inside a single value")


def _lacks(holder: Any, step: str) -> bool:
    """Whether a parent is to be created: it is missing, or null."""
    if holder.__class__ is dict:
        return holder.get(step) is None
    if holder.__class__ is not list or not is_index(step):
        return False
    return int(step) >= len(holder) or holder[int(step)] is None


def _create(holder: Any, step: str, following: str, is_last: bool, pointer: str) -> None:
    """Create a parent: a list if an index or - follows, else a map; lists are filled up with null."""
    made: Any = [] if following == END or is_index(following) else {}
    if made == [] and following != END and is_last:
        _pad(made, int(following), pointer)
    if holder.__class__ is dict:
        holder[step] = made
        return
    _pad(holder, int(step) + 1, pointer)
    holder[int(step)] = made


def _pad(items: list[Any], length: int, pointer: str) -> None:
    if length > LONGEST_PADDING:
        raise PatchError(f"{pointer} lies too far past the end of a list of {len(items)}")
    items += [None] * (length - len(items))
