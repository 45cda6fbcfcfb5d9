"""Random bindings, and a simple resolver of them: no sharing, no compiling, each name looked up when it is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec import UNSET

from fleetform.model.kinds.definition import ObjectFieldRef
from fleetform.model.kinds.preset import Binding

NAMES = ("A", "B", "C", "D", "E", "F")
MAPS: dict[str, dict[str, str]] = {"m": {"k": "v", "l": "$(A)"}, "n": {"k": "$$(B)"}, "v": {"v": "m"}}


class Nothing(NamedTuple):
    """A name without a value, and the gate that this is; none where it is optional."""

    gate: str


# ---- Random programs

MENTIONS = st.sampled_from([*(f"$({name})" for name in NAMES), "$(CLUSTER_NAME)", "$(NOWHERE)"])
WORDS = st.sampled_from(["m", "k", "-", "$", "$$(A)", "${A}", "$$$(B)", ""])
TEXTS = st.one_of(MENTIONS, st.lists(st.one_of(MENTIONS, WORDS), min_size=1, max_size=3).map("".join))
VALUES = st.one_of(
    TEXTS,
    st.sampled_from([1, True, 1.5, "plain", [], {"x": 1}]),
    st.lists(TEXTS, min_size=1, max_size=2),
    st.dictionaries(st.sampled_from(["x", "$(A)"]), TEXTS, min_size=1, max_size=2),
)
PARTS = st.one_of(st.sampled_from(["m", "n", "k", "v"]), TEXTS)


@st.composite
def bindings(draw: st.DrawFn, name: str) -> Binding:
    default = draw(st.sampled_from([None, None, None, VALUES]))
    more: dict[str, Any] = {
        "default": draw(default) if default is not None else UNSET,
        "optional": draw(st.sampled_from([False, False, True])),
        "as_": draw(st.sampled_from([None, None, "string", "json"])),
    }
    if draw(st.booleans()):
        return Binding(name, value=draw(VALUES), **more)
    ref = ObjectFieldRef("ConfigMap", draw(PARTS), f"/data/{draw(PARTS)}")
    return Binding(name, object_field_ref=ref, **more)


@st.composite
def programs(draw: st.DrawFn) -> list[Binding]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    return [draw(bindings(name)) for name in names]


# ---- The simple resolver


def mentioned(tree: Any) -> set[str]:
    found: list[str] = []

    def noted(name: str) -> str:
        found.append(name)
        return ""

    simply(tree, noted)
    return set(found)


def parts_of(binding: Binding) -> list[Any]:
    ref = binding.object_field_ref
    written = [each for each in (binding.value, binding.default) if each is not UNSET]
    return written if ref is None else [*written, ref.name, ref.field_path]


def reach(written: Mapping[str, Binding]) -> dict[str, set[str]]:
    """All names that each name leads to, over any number of mentions."""
    found = {name: mentioned(parts_of(each)) & written.keys() for name, each in written.items()}
    for _ in written:
        found = {name: names.union(*(found[each] for each in names)) for name, names in found.items()}
    return found


def simply(tree: Any, value_of: Callable[[str], Any]) -> Any:
    """A tree with its mentions replaced; Nothing where one of them, the first that is at fault, has no value."""
    if isinstance(tree, dict):
        filled = {key: simply(each, value_of) for key, each in tree.items()}
        return _nothing_in(list(filled.values())) or filled
    if isinstance(tree, list):
        items = [simply(each, value_of) for each in tree]
        return _nothing_in(items) or items
    if not isinstance(tree, str):
        return tree
    if re.fullmatch(r"\$\([^)]+\)", tree):
        return value_of(tree[2:-1])
    pieces: list[Any] = []
    rest = tree
    while rest:
        found = re.match(r"(\$+)\(", rest)
        dollars = len(found[1]) if found else 0
        name = re.match(r"\(([^)]+)\)", rest[dollars:]) if dollars % 2 else None
        if name is not None:
            pieces += ["$" * (dollars // 2), as_text(value_of(name[1]))]
            rest = rest[dollars + name.end() :]
        elif dollars:
            pieces.append("$" * (dollars - dollars // 2) + "(")
            rest = rest[dollars + 1 :]
        else:
            pieces.append(rest[0])
            rest = rest[1:]
            while pieces[-1] == "$" and rest.startswith("$"):
                # A run of dollars that no parenthesis follows.
                pieces.append("$")
                rest = rest[1:]
    return _nothing_in(pieces) or "".join(pieces)


def _nothing_in(values: list[Any]) -> Nothing | None:
    nothing = [each for each in values if isinstance(each, Nothing)]
    return next((each for each in nothing if each.gate), nothing[0] if nothing else None)


def as_text(value: Any) -> Any:
    if isinstance(value, (str, Nothing)):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else Nothing("value-type")


class Simple:
    """Names of one cluster, looked up one by one."""

    def __init__(self, written: Mapping[str, Binding], cluster: str, as_: Callable[[Any, str], Any]) -> None:
        self._written, self._cluster, self._as = written, cluster, as_

    def value(self, name: str) -> Any:
        if name == "CLUSTER_NAME":
            return self._cluster
        binding = self._written.get(name)
        if binding is None:
            return Nothing("config-missing")
        found = self._source(binding)
        if not isinstance(found, Nothing):
            return self._as(found, binding.as_) if binding.as_ is not None else found
        if found.gate not in ("config-missing", ""):
            return found
        if binding.default is not UNSET:
            made = simply(binding.default, self.value)
            return self._as(made, binding.as_) if binding.as_ is not None and not isinstance(made, Nothing) else made
        return Nothing("") if binding.optional else found

    def _source(self, binding: Binding) -> Any:
        ref = binding.object_field_ref
        if ref is None:
            return simply(binding.value, self.value)
        name, path = (as_text(simply(each, self.value)) for each in (ref.name, ref.field_path))
        nothing = _nothing_in([name, path])
        if nothing is not None:
            return nothing
        steps = path[1:].split("/")
        data = MAPS.get(name, {}).get(steps[1]) if len(steps) == 2 else None
        return data if data is not None else Nothing("config-missing")
