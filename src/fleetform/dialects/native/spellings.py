"""Spellings that mean the same: bindings as different people write them, in one form, with the paths they had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.model.objects import Path
from fleetform.model.shape import Misfit
from fleetform.syntax.trees import YamlValue

# A path in the tree in native spelling, and the path in the tree as it was written.
Pair = tuple[Path, Path]

# Alternative names of fields, and the native names.
REFERENCES = {"objectFieldReference": "objectFieldRef", "clusterFieldReference": "clusterFieldRef"}
FIELDS = {"objectFieldRef": ("path", "fieldPath"), "clusterFieldRef": ("fieldPath", "path")}


def closest_first(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """The first pair that fits a path is taken, so the closest must come first."""
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def written_at(path: Path, pairs: Iterable[Pair]) -> Path:
    """The path in the tree as it was written."""
    for ours, theirs in pairs:
        if path[: len(ours)] == ours:
            return theirs + path[len(ours) :]
    return path


class Spelling:
    """A tree that is converted to one spelling. The tree that was read is not changed: tree becomes a copy."""

    def __init__(self, tree: YamlValue) -> None:
        self.tree = tree
        self._pairs: list[Pair] = []
        self.misfits: list[Misfit] = []

    def pairs(self, *below: str) -> tuple[Pair, ...]:
        """The paths that changed, for a tree that is below a field."""
        return tuple(((*below, *ours), (*below, *theirs)) for ours, theirs in closest_first(self._pairs))

    def part(self, path: Path) -> YamlValue:
        """The part at a path of the tree as it is now; None if there is none."""
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
        """Give a field of the map at a path its native name; both names at once are an error."""
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
        """Add a misfit for a field, and leave the field out."""
        self.misfits.append(misfit)
        self.drop(misfit.path)

    def drop(self, path: Path) -> None:
        above = path[:-1]
        self._put(above, {key: value for key, value in self.part(above).items() if key != path[-1]})

    def bindings(self, path: Path) -> None:
        """Respell the list of bindings, or of outputs, at a path; anything but a list is left for the shape check."""
        listed = self.part(path)
        for index, binding in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(binding, dict):
                for before, after in REFERENCES.items():
                    self.rename((*path, index), before, after)
                for reference, (before, after) in FIELDS.items():
                    self.rename((*path, index, reference), before, after)

    def _put(self, path: Path, part: YamlValue) -> None:
        self.tree = _with(self.tree, path, part)


def _with(tree: YamlValue, path: Path, part: YamlValue) -> YamlValue:
    """A copy of the tree with another part at a path; the rest is shared."""
    if not path:
        return part
    step, rest = path[0], path[1:]
    if isinstance(tree, dict):
        return {**tree, step: _with(tree[step], rest, part)}
    return [_with(each, rest, part) if index == step else each for index, each in enumerate(tree)]


def misplaced_bindings(
    part: YamlValue, path: Path, allowed: tuple[str, ...], upstream: str, downstream: str
) -> Iterator[Misfit]:
    """Sections of bindings that a part of a manifest must not have; upstream and downstream are hints (S38)."""
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
    name = path[-1] if path else "spec"
    name = f"an item of {path[-2]}" if isinstance(name, int) else name
    for field, hint in hints.items():
        if field in part and field not in allowed:
            yield Misfit("unknown-field", (*path, field), f"{name} has no field {field}", hint)
