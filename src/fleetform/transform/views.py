"""An object as plugins see it: read-only, and as cheap as a reference. What is inside is wrapped when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from fleetform.syntax.trees import copied


def read_only(tree: Any) -> Any:
    """A tree that cannot be changed; what is no map and no list is as it is."""
    kind = tree.__class__
    return ReadOnlyMap(tree) if kind is dict else ReadOnlyList(tree) if kind is list else tree


def plain(tree: Any) -> Any:
    """The maps and lists behind a view; whoever takes them must not change them."""
    kind = tree.__class__
    return tree._tree if kind is ReadOnlyMap or kind is ReadOnlyList else tree


def unwrapped(tree: Any) -> Any:
    """A value that a plugin made, without views of the object somewhere inside."""
    kind = tree.__class__
    if kind is dict:
        return {key: unwrapped(each) for key, each in tree.items()}
    if kind is list or kind is tuple:
        return [unwrapped(each) for each in tree]
    return plain(tree)


def thaw(tree: Any) -> Any:
    """A copy that may be changed."""
    return copied(plain(tree))


class ReadOnlyMap(Mapping[str, Any]):
    """A map that cannot be changed, and equals the map that it shows."""

    __slots__ = ("_tree",)

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    def __getitem__(self, key: str) -> Any:
        return read_only(self._tree[key])

    def get(self, key: str, default: Any = None) -> Any:
        return read_only(self._tree.get(key, default))

    def __contains__(self, key: object) -> bool:
        return key in self._tree

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)

    def __eq__(self, other: object) -> bool:
        return bool(self._tree == plain(other))

    def __repr__(self) -> str:
        return repr(self._tree)

    __hash__ = None  # type: ignore[assignment]


class ReadOnlyList(Sequence[Any]):
    """A list that cannot be changed, and equals the list that it shows."""

    __slots__ = ("_tree",)

    def __init__(self, tree: list[Any]) -> None:
        self._tree = tree

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return read_only(self._tree[index])

    def __len__(self) -> int:
        return len(self._tree)

    def __iter__(self) -> Iterator[Any]:
        return map(read_only, self._tree)

    def __contains__(self, item: object) -> bool:
        return plain(item) in self._tree

    def __eq__(self, other: object) -> bool:
        return bool(self._tree == plain(other))

    def __repr__(self) -> str:
        return repr(self._tree)

    __hash__ = None  # type: ignore[assignment]
