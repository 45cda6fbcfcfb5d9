"""What objects on an API server refer to: names of Secrets and ConfigMaps, and further kinds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from fleetform.model.answers.base import Json, JsonMap
from fleetform.syntax.trees import as_map

_VARIABLE = re.compile(r"\$\([^)]*\)|\$\{[^}]*\}")
_TEXTS = 253


class KindName(NamedTuple):
    """A kind that a field refers to: by kind where a field names that, else by the word for several of it."""

    group: str
    kind: str = ""
    plural: str = ""


class Names:
    """Texts that may be names of objects. Variables in them stand for anything, since clusters tell what they are."""

    def __init__(self, texts: Iterable[Collection[str]]) -> None:
        """texts are those of each object."""
        self._names: set[str] = set()
        for each in texts:
            self._names.update(each)
        patterns = {
            ".+".join(re.escape(part) for part in _VARIABLE.split(text))
            for text in self._names
            if "$" in text and _VARIABLE.search(text)
        }
        self._pattern = re.compile("|".join(sorted(patterns))) if patterns else None

    def may_mean(self, name: str) -> bool:
        return name in self._names or (self._pattern is not None and self._pattern.fullmatch(name) is not None)


def texts_of(tree: Json) -> frozenset[str]:
    """Every text in an object that may be a name, or become one."""
    return frozenset(_texts(tree))


def referred_kinds(trees: Iterable[Json]) -> set[KindName]:
    """Kinds of fields of objects that bindings read, and of configs."""
    found: set[KindName] = set()
    for tree in trees:
        for each in _maps(tree):
            field = as_map(each.get("objectFieldRef"))
            if isinstance(field.get("kind"), str):
                group = str(field.get("apiVersion", "")).rpartition("/")[0]
                found.add(KindName(group, kind=field["kind"]))
            if isinstance(each.get("resource"), str) and "group" in each:
                found.add(KindName(str(each["group"] or ""), plural=each["resource"]))
    return found


def _texts(tree: Json) -> Iterator[str]:
    if isinstance(tree, str):
        if len(tree) <= _TEXTS:
            yield tree
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from _texts(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from _texts(each)


def _maps(tree: Json) -> Iterator[JsonMap]:
    if isinstance(tree, dict):
        yield tree
        for each in tree.values():
            yield from _maps(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from _maps(each)
