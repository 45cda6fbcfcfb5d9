"""What becomes of an object by what was settled, and which operation set a field of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fleetform.engine.transform.records import Kept, Settled, TransformError
from fleetform.syntax.json_patch import CRANE, PatchError, apply_patch
from fleetform.syntax.names import object_label

# What makes an object the one it is.
_IDENTITY = ("/apiVersion", "/kind", "/metadata/name", "/metadata/namespace")


def apply_settled(tree: dict[str, Any], settled: Settled) -> dict[str, Any] | None:
    """The transformed object; None where it is left out.

    A transform must not change what an object is, unless it says that it means to: a plugin would otherwise own, or
    leave behind, objects that nobody asked for.
    """
    if settled.whiteouts:
        return None
    try:
        found = apply_patch(tree, [each.operation for each in settled.kept], CRANE)
    except PatchError as error:
        culprit = settled.kept[error.number or 0]
        message = f"{culprit.plugin} cannot {culprit.operation.op} {culprit.operation.path} of {object_label(tree)}"
        raise TransformError(f"{message}: {error.message}", f"correct {culprit.plugin}, or leave it out") from error
    for path in _IDENTITY if _identity(found) != _identity(tree) else ():
        culprits = [each for each in settled.kept if _is_at_or_above(each, path)]
        for each in culprits:
            if each.plugin not in settled.changes_identity and _at(found, path) != _at(tree, path):
                message = f"{each.plugin} changes {path} of {object_label(tree)} ({each.operation.op})"
                raise TransformError(message, "a plugin that means to says so: changesIdentity in its reply")
    return as_object(found, object_label(tree))


def as_object(tree: Any, label: str) -> dict[str, Any]:
    """A patched tree, if it still is an object that Kubernetes would take."""
    missing = [path for path in _IDENTITY[:3] if not isinstance(_at(tree, path), str) or not _at(tree, path)]
    if "/metadata/name" in missing and isinstance(_at(tree, "/metadata/generateName"), str):
        missing.remove("/metadata/name")
    if missing:
        raise TransformError(f"{label} has no {missing[0][1:].replace('/', '.')}", "no patch may remove it")
    found: dict[str, Any] = tree
    return found


def _identity(tree: Any) -> tuple[Any, ...]:
    return tuple(_at(tree, path) for path in _IDENTITY)


def _at(tree: Any, path: str) -> Any:
    for step in path[1:].split("/"):
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def _is_at_or_above(kept: Kept, path: str) -> bool:
    pointers = [kept.operation.path, *([kept.operation.from_] if isinstance(kept.operation.from_, str) else [])]
    return any(path == each or path.startswith(f"{each}/") for each in pointers)


def set_by(kept: Sequence[Kept], pointer: str) -> Kept | None:
    """The last operation that reached a field: at it, above it or below it."""
    for each in reversed(kept):
        path = each.operation.path
        if path == pointer or pointer.startswith(f"{path}/") or path.startswith(f"{pointer}/"):
            return each
    return None
