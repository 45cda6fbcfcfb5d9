"""Spellings that mean the same: bindings as different people write them, in one form, and where each part stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fleetform.model.objects import Path
from fleetform.model.shape import Misfit

# A path of a tree in our spelling, and where that stands in the tree as it was written.
Pair = tuple[Path, Path]

# Another name of a field, and its own.
REFERENCES = {"objectFieldReference": "objectFieldRef", "clusterFieldReference": "clusterFieldRef"}
FIELDS = {"objectFieldRef": ("path", "fieldPath"), "clusterFieldRef": ("fieldPath", "path")}


def closest_first(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """The first pair that fits a path is taken, so the closest must come first."""
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def written_at(path: Path, pairs: Iterable[Pair]) -> Path:
    """Where a path stands in the tree as it was written."""
    for ours, theirs in pairs:
        if path[: len(ours)] == ours:
            return theirs + path[len(ours) :]
    return path


class Spelling:
    """A tree on its way to one spelling. What was read stays as it is; tree is the copy, where anything differs."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self._pairs: list[Pair] = []
        self.misfits: list[Misfit] = []

    def pairs(self, *below: str) -> tuple[Pair, ...]:
        """What stands elsewhere, for a tree that stands below a field."""
        return tuple(((*below, *ours), (*below, *theirs)) for ours, theirs in closest_first(self._pairs))

    def part(self, path: Path) -> Any:
        """What stands at a path of the tree as it is now; None where nothing does."""
        part = self.tree
        for step in path:
            if isinstance(part, dict):
                part = part.get(step)
            elif isinstance(part, list) and isinstance(step, int) and step < len(part):
                part = part[step]
            else:
                return None
        return part

    def rename(self, path: Path, before: str, after: str) -> None:
        """A field of the map at a path gets the name that it has here; both names at once are an error."""
        part = self.part(path)
        if not isinstance(part, dict) or before not in part:
            return
        if after in part:
            message = f"{after} and {before} are one field in two spellings"
            self.refuse(Misfit("exactly-one", (*path, before), message, "keep one of them"))
            return
        self._pairs.append(((*path, after), (*written_at(path, closest_first(self._pairs)), before)))
        self._put(path, {after if key == before else key: value for key, value in part.items()})

    def refuse(self, misfit: Misfit) -> None:
        """Say what is wrong with a field, and leave it out."""
        self.misfits.append(misfit)
        self.drop(misfit.path)

    def drop(self, path: Path) -> None:
        above = path[:-1]
        self._put(above, {key: value for key, value in self.part(above).items() if key != path[-1]})

    def bindings(self, path: Path) -> None:
        """The list of bindings, or of outputs, at a path; one that is none is left for others to complain about."""
        listed = self.part(path)
        for index, binding in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(binding, dict):
                for before, after in REFERENCES.items():
                    self.rename((*path, index), before, after)
                for reference, (before, after) in FIELDS.items():
                    self.rename((*path, index, reference), before, after)

    def _put(self, path: Path, part: Any) -> None:
        self.tree = _with(self.tree, path, part)


def _with(tree: Any, path: Path, part: Any) -> Any:
    """A copy of the tree that has another part at a path; all else is shared."""
    if not path:
        return part
    step, rest = path[0], path[1:]
    if isinstance(tree, dict):
        return {**tree, step: _with(tree[step], rest, part)}
    return [_with(each, rest, part) if index == step else each for index, each in enumerate(tree)]


def misplaced_bindings(
    part: Any, path: Path, allowed: tuple[str, ...], upstream: str, downstream: str
) -> Iterator[Misfit]:
    """Sections of bindings that a part of a manifest does not have: upstream and downstream say what to do (S38)."""
    if not isinstance(part, dict):
        return
    hints = {
        "upstreamBindings": upstream,
        "downstreamBindings": downstream,
        "controlPlaneBindings": upstream,
        "bindings": downstream,
    }
    bindings = part.get("bindings")
    for field, hint in (("upstream", upstream), ("downstream", downstream)):
        if isinstance(bindings, dict) and field in bindings:
            yield Misfit("unknown-field", (*path, "bindings", field), f"bindings has no field {field}", hint)
            hints.pop("bindings", None)
    for field, hint in hints.items():
        if field in part and field not in allowed:
            yield Misfit("unknown-field", (*path, field), f"{_named(path)} has no field {field}", hint)


def _named(path: Path) -> str:
    if path and isinstance(path[-1], int):
        return f"an item of {path[-2]}"
    return str(path[-1]) if path else "spec"
