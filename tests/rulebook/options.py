"""What a revision declares, and what its options admit."""

from __future__ import annotations

import re
from typing import Any

from rulebook.trees import Hole, Secret, Steps, is_within, steps_of

Tree = dict[str, Any]


def options_of(revision: Tree) -> dict[Steps, Tree]:
    return {steps_of(each["name"]): each for each in revision["spec"].get("options", [])}


def option_for(revision: Tree, steps: Steps) -> Steps | None:
    """The longest declared name at or above a path (R0-8)."""
    found = [name for name in options_of(revision) if is_within(steps, name)]
    return max(found, key=len) if found else None


def fits(option: Tree, value: Any, type_alone: bool = False) -> bool:
    """Type, regex, enum and bounds (R0-9); what is not known fits nothing yet."""
    if isinstance(value, Hole):
        return False
    kind = option["type"]
    if isinstance(value, Secret):
        return value.plain is None or fits(option, value.plain)
    types: dict[str, tuple[type, ...]] = {
        "string": (str,), "secret": (str,), "bool": (bool,), "int": (int,), "list": (list,), "map": (dict,),
        "any": (object,),
    }  # fmt: skip
    if not isinstance(value, types[kind]) or (kind == "int" and isinstance(value, bool)):
        return False
    if type_alone:
        return True
    if "enum" in option and value not in option["enum"]:
        return False
    if "regex" in option and isinstance(value, str) and not re.search(option["regex"], value):
        return False
    if isinstance(value, int) and not isinstance(value, bool):
        return bool(option.get("minimum", value) <= value <= option.get("maximum", value))
    return True
