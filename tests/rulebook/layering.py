"""Who says what about one plugin, from weak to strong, as one revision reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rulebook.choosing import version_of
from rulebook.expressions import evaluated, retyped
from rulebook.options import fits, option_for, options_of
from rulebook.selecting import rank_of, selects
from rulebook.trees import (
    ABSENT,
    Hole,
    Secret,
    Steps,
    has_hole,
    holes_in,
    in_plain,
    is_within,
    secrets_in,
    steps_of,
)
from rulebook.variables import OPTIONAL, Names

Tree = dict[str, Any]


class Layer(NamedTuple):
    """What one object, or one part of it, contributes."""

    name: str
    rank: int
    object: str
    part: str = ""


@dataclass(frozen=True)
class Item:
    """One value that one layer gives one path; said is the value as it is written.

    renames is how many migrations moved it; replaces: it is merged into what is no map; left_out: it refers to an
    optional variable that has no value; idle: there is nothing to remove; skipped says why it is not used.
    """

    layer: Layer
    written: Steps
    steps: Steps
    strategy: str
    value: Any = None
    said: Any = None
    expression: str | None = None
    undeclared: bool = False
    renames: int = 0
    replaces: bool = False
    left_out: bool = False
    idle: bool = False
    skipped: str | None = None


def default_items(revision: Tree) -> list[Item]:
    """The defaults of a revision."""
    layer = Layer("default", 0, revision["metadata"]["name"], revision["spec"]["version"])
    return [
        Item(layer, steps, steps, "Replace", option["default"], option["default"])
        for steps, option in options_of(revision).items()
        if "default" in option
    ]


def written_layers(
    owner: Tree, instance: Tree | None, cluster: Tree, overrides: list[Tree], configs: dict[tuple[int, str], list[Item]]
) -> list[list[Item]]:
    """What people wrote: preset, groups, blocks of the cluster, the Plugin beside it, overrides in order (B14).

    Values of configs go right below those that their place writes itself, a group's below the group's (R1-14).
    """
    name, spec = owner["metadata"]["name"], owner["spec"]
    found = [configs.get((1, ""), []), configs.get((2, ""), [])]
    if owner["kind"] == "Plugin":
        found.append(configs.get((3, ""), []))
        found.append(_values(Layer("instance", 0, name), spec.get("optionValues")))
    else:
        found.append(_values(Layer("preset", 0, name), spec["plugin"].get("optionValues")))
        for group in spec.get("groups", []):
            if selects(group["clusterSelector"], cluster):
                found.append(configs.get((2, group["name"]), []))
                found.append(_values(Layer("group", 0, name, group["name"]), group.get("optionValues")))
        for number, block in enumerate(spec.get("clusterOptionOverrides", [])):
            if block["clusterName"] == cluster["metadata"]["name"]:
                found.append(_values(Layer("cluster", 0, name, str(number)), block["overrides"]))
    if instance is not None:
        found.append(configs.get((3, ""), []))
        found.append(_values(Layer("instance", 0, instance["metadata"]["name"]), instance["spec"].get("optionValues")))
    for override in overrides:
        layer = Layer("override", rank_of(override), override["metadata"]["name"])
        undeclared = override["spec"].get("allowUndeclared", False)
        found.append([_item(layer, each["path"], each, undeclared) for each in override["spec"]["overrides"]])
    return found


def _values(layer: Layer, values: Any) -> list[Item]:
    if isinstance(values, dict):
        return [_item(layer, name, {"value": value}) for name, value in values.items()]
    return [_item(layer, each["name"], each) for each in values or []]


def _item(layer: Layer, path: str, written: Tree, undeclared: bool = False) -> Item:
    value = Secret(None) if "valueFrom" in written else written.get("value")
    strategy = written.get("strategy", "Replace")
    steps = steps_of(path)
    return Item(layer, steps, steps, strategy, value, value, written.get("expression"), undeclared)


class Reader:
    """Reads items as one revision takes them, on one cluster, with the names of one plugin."""

    def __init__(self, definition: str, revisions: list[Tree], revision: Tree, cluster: Tree, names: Names) -> None:
        self.definition, self.revision, self.cluster, self.names = definition, revision, cluster, names
        self.revisions = sorted(revisions, key=lambda each: version_of(each["spec"]["version"]))
        self.options = options_of(revision)

    def read(self, item: Item) -> Item:
        """The item with its value filled in and migrated, at the path that the revision has for it."""
        item = self._migrated(self._filled(item))
        if item.undeclared and item.skipped == "removed":
            # Who allows what is not declared has it passed on (B9).
            item = replace(item, skipped=None)
        if item.skipped is None and option_for(self.revision, item.steps) is None:
            known = [each for each in self.revisions if option_for(each, item.written) is not None]
            if not item.undeclared:
                later = [each for each in known if _above(each, self.revision)]
                item = replace(item, skipped="not-yet-known" if later else "not-declared")
        if item.skipped is None and item.left_out:
            item = replace(item, skipped="left-out")
        return item

    def _filled(self, item: Item) -> Item:
        if item.strategy == "Remove":
            return item
        if item.expression is not None:
            version = self.revision["spec"]["version"]
            about = ".".join(map(str, item.steps))
            return replace(item, value=evaluated(item.expression, self.cluster, self.definition, version, about))
        if not self.names.in_force or isinstance(item.value, Secret) or item.layer.name == "config":
            # What a config says is text (R3-22).
            return item
        value = self.names.expanded(item.value)
        return replace(item, value=None, left_out=True) if value is OPTIONAL else replace(item, value=value)

    def _migrated(self, item: Item) -> Item:
        """Through every version up to this one; a path that this one declares keeps its name (R2-6, S26)."""
        keeps_name = option_for(self.revision, item.steps) is not None
        original = item.value
        for each in self.revisions:
            if _above(each, self.revision):
                break
            for step in each["spec"].get("changes", {}).get("migrations", []):
                if "rename" in step and not keeps_name:
                    old, new = steps_of(step["rename"]["from"]), steps_of(step["rename"]["to"])
                    if is_within(item.steps, old):
                        item = replace(item, steps=(*new, *item.steps[len(old) :]), renames=item.renames + 1)
                elif "remove" in step and not keeps_name:
                    if is_within(item.steps, steps_of(step["remove"]["name"])):
                        steps = item.written if item.undeclared else item.steps
                        return replace(item, steps=steps, value=original, renames=0, skipped="removed")
                elif "retype" in step and item.steps == steps_of(step["retype"]["name"]) and item.strategy != "Remove":
                    item = self._retyped(item, each, step["retype"]["expression"])
        option = self.options.get(item.steps)
        if option_for(self.revision, item.steps) is None and item.undeclared:
            # What nobody declares any more is passed on as it was written.
            return replace(item, steps=item.written, value=original, renames=0)
        if option_for(self.revision, item.steps) is None or (
            option is not None and self._stays(option, item, original)
        ):
            return replace(item, value=original)
        return item

    def _stays(self, option: Tree, item: Item, original: Any) -> bool:
        """Whether a value is right as it was written, or nothing makes it right: then it stays (R2-6, S58)."""
        return fits(option, original) or not (isinstance(item.value, Hole) or fits(option, item.value))

    def _retyped(self, item: Item, revision: Tree, expression: str) -> Item:
        """A value that fits is never converted; one that is not known is converted once it is (S58)."""
        option = options_of(revision).get(item.steps)
        if option is None or item.left_out or isinstance(item.value, Hole):
            return item
        if has_hole(item.value):
            return item if fits(option, item.value, True) else replace(item, value=Hole(holes_in(item.value)))
        if fits(option, item.value):
            return item
        secrets = secrets_in(item.value)
        if any(each.plain is None for each in secrets):
            # Nobody can read it here.
            return item
        value = retyped(expression, in_plain(item.value))
        if value is ABSENT:
            return item
        return replace(item, value=Secret(value) if secrets else value)


def _above(one: Tree, other: Tree) -> bool:
    return version_of(one["spec"]["version"]) > version_of(other["spec"]["version"])
