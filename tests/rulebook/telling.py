"""What is told of a plugin: its values as they are shown, who gave each option, what each override did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rulebook.choosing import Wanted, version_of
from rulebook.config_refs import Ref
from rulebook.folding import applied_over, is_lost
from rulebook.layering import Item, Layer
from rulebook.options import option_for, options_of
from rulebook.trees import ABSENT, Secret, Steps, found_at, has_hole, is_within, steps_of, text_of, with_value
from rulebook.variables import mentions_in

Tree = dict[str, Any]
MASKED = {"secret": True, "digest": "unknown"}


class Gate(NamedTuple):
    """What stands in the way, and the option, the variable, the version or the owner that it is about."""

    gate: str
    about: str


@dataclass(frozen=True)
class Said:
    """What is told of an option: its value, who gave it, and what that hid, from specific to generic.

    unsure: something is merged into what is not known, and who gives the value is not known either.
    """

    value: Any
    winner: Layer | None
    hidden: tuple[Layer, ...]
    migrated_from: str | None = None
    unsure: bool = False


@dataclass(frozen=True)
class Applied:
    """An override that speaks of a plugin, and the paths that it won and lost.

    idle: where it removes nothing; changes: it says something that what is below it does not say already.
    """

    name: str
    rank: int
    won: frozenset[str]
    lost: frozenset[str]
    idle: frozenset[str] = frozenset()
    changes: bool = False


class Report(NamedTuple):
    """An override, the other way round."""

    rank: int
    plugins: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True)
class Resolved:
    """A plugin as one revision makes it."""

    revision: Tree
    tree: Any
    items: tuple[Item, ...]
    gates: frozenset[Gate]
    waiting: frozenset[Gate]
    misfits: tuple[Item, ...] = ()
    configs: tuple[Ref, ...] = ()

    def spoken(self) -> set[tuple[Layer, Steps]]:
        """Where items are written that count here."""
        return {(each.layer, each.written) for each in self.items if each.skipped is None}

    def misfitting(self) -> set[tuple[Layer, Steps]]:
        return {(each.layer, each.written) for each in self.misfits}

    def standing_misfits(self) -> list[Item]:
        """The items whose paths do not fit, but for those that others hide."""
        used = [each for each in self.items if each.skipped is None]
        misfits = [each for each in used if (each.layer, each.written) in self.misfitting()]
        return [each for each in misfits if not is_lost(each, applied_over(each, used))]


@dataclass(frozen=True)
class Answer:
    """What the rules say of one plugin."""

    version: str | None
    wanted: str | None
    forced: bool
    gates: frozenset[Gate]
    waiting: frozenset[Gate]
    values: Any
    options: dict[str, Said]
    applied: tuple[Applied, ...]
    configs: tuple[Ref, ...] = ()
    skipped: frozenset[tuple[str, str, str]] = field(default_factory=frozenset)


def told(
    target: Resolved | None, wanted: Wanted, gates: frozenset[Gate], waiting: frozenset[Gate], revisions: list[Tree]
) -> Answer:
    if target is None:
        return Answer(None, wanted.version, wanted.forced, gates, waiting, {}, {}, ())
    secret = secret_options(revisions)
    used = [each for each in target.items if each.skipped is None]
    tree: Any = {}
    undeclared = {each.steps for each in used if option_for(target.revision, each.steps) is None}
    for steps in sorted({*options_of(target.revision), *undeclared}, key=lambda each: (len(each), text_of(each))):
        value = found_at(target.tree, steps)
        if value is not ABSENT and not has_hole(value):
            tree = with_value(tree, steps, value, "")
    return Answer(
        target.revision["spec"]["version"],
        wanted.version,
        wanted.forced,
        gates,
        target.waiting,
        masked(tree, secret),
        {text_of(steps): said_of(target, steps, secret) for steps in options_of(target.revision)},
        applied_in(target, secret),
        target.configs,
        frozenset((text_of(each.written), each.layer.object, each.skipped) for each in target.items if each.skipped),
    )


def secret_options(revisions: list[Tree]) -> set[Steps]:
    """Options that any version declares secret, under every name that migrations give them."""
    found = set()
    for each in revisions:
        found |= {steps for steps, option in options_of(each).items() if option["type"] == "secret"}
    for each in sorted(revisions, key=lambda held: version_of(held["spec"]["version"])):
        for step in each["spec"].get("changes", {}).get("migrations", []):
            if "rename" in step and steps_of(step["rename"]["from"]) in found:
                found.add(steps_of(step["rename"]["to"]))
    return found


def masked(tree: Any, secret: set[Steps], steps: Steps = ()) -> Any:
    if isinstance(tree, Secret) or (steps in secret and tree is not ABSENT and tree is not None):
        return MASKED
    if isinstance(tree, dict):
        return {key: masked(each, secret, (*steps, key)) for key, each in tree.items()}
    if isinstance(tree, list):
        return [masked(each, secret, (*steps, index)) for index, each in enumerate(tree)]
    return tree


def said_of(target: Resolved, steps: Steps, secret: set[Steps]) -> Said:
    """Who gave the whole option last, and all that was said of it before; a removal leaves the default (S20)."""
    items = [each for each in target.items if each.skipped is None and option_for(target.revision, each.steps) == steps]
    value = found_at(target.tree, steps)
    shown = None if value is ABSENT or has_hole(value) else masked(value, secret, steps)
    if has_hole(value) and any(each.strategy == "Merge" for each in items):
        return Said(None, None, (), unsure=True)
    # What is merged into nothing gives the value, as if it replaced it.
    whole_ = [i for i, each in enumerate(items) if each.steps == steps and (each.strategy != "Merge" or each.replaces)]
    if not whole_:
        return Said(shown, None, ())
    last = whole_[-1]
    before = list(reversed(items[:last]))
    if items[last].strategy != "Remove":
        winner = items[last]
        migrated_from = text_of(winner.written) if winner.renames else None
        return Said(shown, winner.layer, tuple(each.layer for each in before), migrated_from)
    default = [each.layer for each in before if each.layer.name == "default"]
    hidden = [each.layer for each in before if each.layer.name != "default"]
    return Said(shown, default[0] if default else None, tuple(hidden))


def applied_in(target: Resolved, secret: set[Steps]) -> tuple[Applied, ...]:
    """Overrides in the order in which they apply, with what each won and lost (R0-18); what is left out is lost."""
    found: dict[str, Applied] = {}
    used = [each for each in target.items if each.skipped is None]
    for item in target.items:
        if item.layer.name != "override" or item.skipped not in (None, "left-out"):
            continue
        before = found.get(item.layer.object, Applied(item.layer.object, item.layer.rank, frozenset(), frozenset()))
        path = frozenset({text_of(item.written)})
        if item.skipped is not None:
            before = replace(before, lost=before.lost | path, changes=True)
        elif item.idle:
            before = replace(before, idle=before.idle | path, changes=True)
        elif is_lost(item, applied_over(item, used)):
            before = replace(before, lost=before.lost | path)
        else:
            changes = before.changes or not repeats(item, used, target.revision, secret)
            before = replace(before, won=before.won | path, changes=changes)
        found[item.layer.object] = before
    return tuple(found.values())


def repeats(item: Item, used: Sequence[Item], revision: Tree, secret: set[Steps]) -> bool:
    """Whether a whole option, in which no other lies, is set to the very value that the next below gives it (S21)."""
    option = option_for(revision, item.steps) or item.steps
    others = {option_for(revision, each.steps) or each.steps for each in used} - {option}
    if any(is_within(each, option) or is_within(option, each) for each in others) or option in secret:
        return False
    about = [each for each in used if is_within(each.steps, option)]
    if about[-1] is not item or len(about) < 2:
        return False
    below = about[-2]
    if any(each.steps != option or each.strategy != "Replace" or each.expression is not None for each in (item, below)):
        return False
    if isinstance(item.said, Secret) or isinstance(below.said, Secret):
        return False
    refer = mentions_in(item.said) or mentions_in(below.said)
    one, other = (item.said, below.said) if refer else (item.value, below.value)
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
