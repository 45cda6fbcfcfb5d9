"""Classes of fleets on which Fleetform is known to answer otherwise than the rules, until it is mended.

Each is as narrow as can be told from the fleet alone, and says what is wrong. The list is meant to be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rulebook.layering import Item
from rulebook.model import Fleet, Plugin
from rulebook.options import option_for
from rulebook.telling import Resolved
from rulebook.trees import Hole, has_hole, is_within


def of_folders(errors: Sequence[str]) -> str | None:
    """Why a folder is called invalid that is not."""
    if all(each.startswith("wrong-index: ") for each in errors):
        return "S59: an index past the end, or a path into what is no map, on some clusters makes the folder invalid"
    return None


def of_plugins(fleet: Fleet, plugin: Plugin) -> str | None:
    if _unreferenced(fleet, plugin):
        return "S57: a binding that nothing refers to any more blocks"
    if fleet.wanted(plugin).forced:
        return "S56: an end date does not force a range; what it forces is not called forced where gates hold it back"
    for resolved in fleet.readings(plugin):
        for reason, holds in PLUGINS.items():
            if holds(fleet, plugin, resolved):
                return reason
    return None


def _unreferenced(fleet: Fleet, plugin: Plugin) -> bool:
    names, answer = fleet.names(plugin), fleet.answer(plugin)
    told = {(each.gate, each.about) for each in answer.gates | answer.waiting}
    for binding, _ in names.bindings:
        meaning = names.meaning(binding["name"])
        if isinstance(meaning, Hole) and not meaning.reasons <= told:
            return True
    return False


def _holes(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    used = [each for each in resolved.items if each.skipped is None]
    if resolved.misfits:
        return True
    return any(
        each is not other
        and has_hole(each.value)
        and (is_within(each.steps, other.steps) or is_within(other.steps, each.steps))
        for each in used
        for other in used
    ) or any(has_hole(each.value) and each.steps != option_for(resolved.revision, each.steps) for each in used)


def _undeclared(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    loose = [each for each in resolved.items if each.skipped is None and not option_for(resolved.revision, each.steps)]
    return any(each is not other and is_within(each.steps, other.steps) for each in loose for other in loose)


def _both_names(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    return any(
        each.layer == other.layer and each.renames != other.renames and is_within(each.steps, other.steps)
        for each in resolved.items
        for other in resolved.items
    )


def _gone(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    return any(each.skipped in ("not-declared", "not-yet-known", "removed") for each in resolved.items)


def _merged(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    def hides(one: Item, other: Item) -> bool:
        return one.strategy == "Merge" and (is_within(other.steps, one.steps) or is_within(one.steps, other.steps))

    items = resolved.items
    return any(hides(later, each) for index, each in enumerate(items) for later in items[index + 1 :])


def _retyped(fleet: Fleet, plugin: Plugin, resolved: Resolved) -> bool:
    return any(
        "retype" in step
        for each in fleet.revisions(plugin.definition)
        for step in each["spec"].get("changes", {}).get("migrations", [])
    )


PLUGINS: dict[str, Callable[[Fleet, Plugin, Resolved], bool]] = {
    "a value of which a part is not known, below or inside others": _holes,
    "S55: paths that nobody declares do not follow ranks": _undeclared,
    "an option's old and new name in one object": _both_names,
    "removed-option: names a path in place of the option, counts removals": _gone,
    "what a Remove or a clearing value does below a Merge": _merged,
    "S58: retypes before renames, of expressions, one after another": _retyped,
}
