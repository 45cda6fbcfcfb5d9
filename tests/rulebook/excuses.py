"""Classes of fleets on which Fleetform is known to answer otherwise than the rules, until it is mended.

Each is as narrow as can be told from the fleet alone, and says what is wrong. The list is meant to be empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulebook.folding import is_lost
from rulebook.model import Fleet, Plugin
from rulebook.options import option_for

MISFIT = "S59: a path that nobody declares and that does not fit on some clusters makes the folder invalid, or no gate"
LEFT_OUT = "removed-option: a value that is left out counts as one that people set"
HIDDEN = "S59: what does not fit still blocks where a layer above sets the same path"
CONVERTED = "migratedFrom is forgotten where a value is converted and its option renamed"


def of_folders(fleet: Fleet, errors: Sequence[str]) -> str | None:
    """Why a folder is called invalid that is not."""
    loose = any(
        option_for(reading.revision, item.steps) is None
        for plugin in fleet.plugins
        for reading in fleet.readings(plugin)
        for item in reading.misfits
    )
    return MISFIT if loose and all(each.startswith("wrong-index: ") for each in errors) else None


def of_plugins(fleet: Fleet, plugin: Plugin, kinds: Sequence[str]) -> str | None:
    """Why a plugin is answered otherwise, in these respects."""
    steps = [
        step
        for each in fleet.revisions(plugin.definition)
        for step in each["spec"].get("changes", {}).get("migrations", [])
    ]
    retyped = [step["retype"]["name"] for step in steps if "retype" in step]
    renamed = [name for step in steps if "rename" in step for name in step["rename"].values()]
    if list(kinds) == ["winners"] and any(each in renamed for each in retyped):
        return CONVERTED
    for reading in fleet.readings(plugin):
        if any(option_for(reading.revision, item.steps) is None for item in reading.misfits):
            return MISFIT
        if any(item.left_out and item.skipped != "left-out" for item in reading.items):
            return LEFT_OUT
        if any(is_lost(item, reading.items[reading.items.index(item) + 1 :]) for item in reading.misfits):
            return HIDDEN
    return None
