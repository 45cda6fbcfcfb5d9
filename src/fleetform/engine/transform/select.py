"""`transforms` of presets and definitions: which objects each of them sees, and what of them is part of the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fleetform.model.kinds.definition import Transform, TransformSelector
from fleetform.syntax.names import object_name


def sees(selector: TransformSelector | None, tree: Mapping[str, Any]) -> bool:
    """Whether a transform sees an object: of one of its kinds and one of its names, where it has such lists."""
    if selector is None:
        return True
    if selector.kinds is not None and tree.get("kind") not in selector.kinds:
        return False
    return selector.names is None or object_name(tree) in selector.names


def hashed_transforms(transforms: Sequence[Transform], identities: Mapping[str, str]) -> list[dict[str, Any]]:
    """What of transforms is part of a plugin's input (B3), in order.

    identities are what plugins are, by name: the digest of their bytes, `name@N` of a built-in one.
    """
    found = []
    for each in transforms:
        parts = {
            "name": each.plugin,
            "digest": each.digest or identities.get(each.plugin),
            "options": each.options,
            "priority": each.priority,
            "selector": msgspec.to_builtins(each.selector) if each.selector is not None else None,
        }
        found.append({key: part for key, part in parts.items() if part is not None})
    return found


def options_as_text(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as plugins get them: texts as they are, everything else as JSON."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
        for name, value in (options or {}).items()
    }
