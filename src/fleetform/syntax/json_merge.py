"""JSON merge patch (RFC 7396): maps are merged, null removes, everything else replaces."""

from __future__ import annotations

from typing import Any


def merge_patch(tree: Any, patch: Any) -> Any:
    """The merged tree; what it takes from the tree and the patch is shared with them, never changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
