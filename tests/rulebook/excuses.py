"""Classes of fleets on which Fleetform is known to answer otherwise than the rules, until it is mended.

Each is as narrow as can be told from the fleet alone, and says what is wrong. The list is meant to be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rulebook.config_refs import mode_of
from rulebook.model import Fleet, Plugin
from rulebook.options import option_for
from rulebook.telling import Resolved
from rulebook.trees import is_within


def of_folders(errors: Sequence[str]) -> str | None:
    """Why a folder is called invalid that is not."""
    if all(each.startswith("wrong-index: ") for each in errors):
        return "S59: a path that nobody declares and that does not fit on some clusters makes the folder invalid"
    return None


def of_plugins(fleet: Fleet, plugin: Plugin) -> str | None:
    if fleet.wanted(plugin).forced:
        return "S56: an end date does not force a range; what it forces is not called forced where gates hold it back"
    for resolved in fleet.readings(plugin):
        for reason, holds in PLUGINS.items():
            if holds(fleet, plugin, resolved):
                return reason
    return None


def _gone(fleet: Fleet, plugin: Plugin, resolved: Resolved) -> bool:
    runs = fleet.revision(plugin.definition, fleet.known(plugin).get("admitted", {}).get("version"))
    gone = [each for each in resolved.items if each.skipped in ("not-declared", "not-yet-known")]
    return runs is not None and any(option_for(runs, each.written) or option_for(runs, each.steps) for each in gone)


def _merged_over_misfit(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    merges = [each.steps for each in resolved.items if each.strategy == "Merge" and each.skipped is None]
    return any(is_within(each.steps, steps) for each in resolved.misfits for steps in merges)


def _left_out(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    return any(each.skipped == "left-out" and each.layer.name == "override" for each in resolved.items)


def _undeclared(_: Fleet, __: Plugin, resolved: Resolved) -> bool:
    loose = [each for each in resolved.items if each.skipped is None and not option_for(resolved.revision, each.steps)]
    return any(
        each.strategy == "Merge" and is_within(other.steps, each.steps) and each is not other
        for each in loose
        for other in loose
    )


def _retyped_twice(fleet: Fleet, plugin: Plugin, _: Resolved) -> bool:
    steps = [
        step
        for each in fleet.revisions(plugin.definition)
        for step in each["spec"].get("changes", {}).get("migrations", [])
    ]
    retyped = [step["retype"]["name"] for step in steps if "retype" in step]
    renamed = [step["rename"]["from"] for step in steps if "rename" in step]
    return len(retyped) > len(set(retyped)) or any(each in renamed for each in retyped)


def _in_group_and_preset(_: Fleet, plugin: Plugin, resolved: Resolved) -> bool:
    spec = plugin.owner["spec"]
    if mode_of(plugin.owner, resolved.revision) != "Merge" or "plugin" not in spec:
        return False
    grouped = [each for group in spec.get("groups", []) for each in group.get("configs", [])]
    return any(each in grouped for each in spec["plugin"].get("configs", []))


PLUGINS: dict[str, Callable[[Fleet, Plugin, Resolved], bool]] = {
    "removed-option: names a path in place of the option, counts removals, forgets options that return": _gone,
    "an override whose value is left out is listed in one direction only": _left_out,
    "a Merge of a path that nobody declares counts as won where others set all of its keys": _undeclared,
    "Merge mode: a config that a group and its preset name loses its group's place": _in_group_and_preset,
    "a Merge over a path that does not fit takes its gate away": _merged_over_misfit,
    "S58: a value that fits on the way is converted all the same, or not before the option is renamed": _retyped_twice,
}
