"""Classes of fleets on which Fleetform is known to answer otherwise than the rules, until it is mended.

Each is as narrow as can be told from the fleet alone, and says what is wrong. The list is meant to be empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulebook.model import Fleet, Plugin
from rulebook.options import option_for

MISFIT = "S59: a path that nobody declares and that does not fit on some clusters makes the folder invalid"
CONVERTED = "migratedFrom is forgotten where a value is converted and its option renamed afterwards"


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
    renamed = [step["rename"]["from"] for step in steps if "rename" in step]
    return CONVERTED if list(kinds) == ["winners"] and any(each in renamed for each in retyped) else None
