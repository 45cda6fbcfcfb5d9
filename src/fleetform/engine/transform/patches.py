"""`patches` of presets and definitions: changes to rendered objects by target, after all transforms (B5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fleetform.engine.transform.apply import as_object
from fleetform.engine.transform.records import TransformError
from fleetform.model.kinds.definition import Patch, PatchTarget
from fleetform.model.shape import nearest as nearest_word
from fleetform.syntax.json_patch import PatchError, apply_patch, parse_patch
from fleetform.syntax.names import api_group, object_label, object_name
from fleetform.syntax.strategic_merge import StrategicMergeError, merge_into_object


class PatchChange(NamedTuple):
    """What a patch made of an object: numbers count patches and objects from 0; after is None where it deletes it."""

    patch: int
    object: int
    before: dict[str, Any]
    after: dict[str, Any] | None


class Patched(NamedTuple):
    """The objects that are left, in their order; unmatched are patches that met no object, with the nearest name."""

    objects: tuple[dict[str, Any], ...]
    changes: tuple[PatchChange, ...] = ()
    unmatched: tuple[tuple[int, str | None], ...] = ()


def patch_objects(objects: Sequence[dict[str, Any]], patches: Sequence[Patch]) -> Patched:
    """Objects with each patch applied in turn to all that its target names."""
    trees: list[dict[str, Any] | None] = list(objects)
    changes: list[PatchChange] = []
    unmatched: list[tuple[int, str | None]] = []
    for number, patch in enumerate(patches):
        matched = [place for place, tree in enumerate(trees) if tree is not None and matches(patch.target, tree)]
        for place in matched:
            before = trees[place]
            assert before is not None
            trees[place] = _patched(before, patch, number)
            changes.append(PatchChange(number, place, before, trees[place]))
        if not matched:
            unmatched.append((number, nearest(patch.target, [tree for tree in trees if tree is not None])))
    return Patched(tuple([tree for tree in trees if tree is not None]), tuple(changes), tuple(unmatched))


def _patched(tree: dict[str, Any], patch: Patch, number: int) -> dict[str, Any] | None:
    """An object with a patch: strictly by RFC 6902, or merged as its kind takes it."""
    try:
        if isinstance(patch.patch, list):
            found = apply_patch(tree, parse_patch(patch.patch))
        else:
            found = merge_into_object(tree, patch.patch)
    except (PatchError, StrategicMergeError) as error:
        message = f"patches[{number}] cannot be applied to {object_label(tree)}: {error}"
        raise TransformError(message, "correct the patch, or its target") from error
    return None if found is None else as_object(found, object_label(tree))


def matches(target: PatchTarget, tree: dict[str, Any]) -> bool:
    """Whether a target names an object: all that it says must hold."""
    version = str(tree.get("apiVersion", ""))
    has = (
        (target.kind, tree.get("kind")),
        (target.name, object_name(tree)),
        (target.namespace, (tree.get("metadata") or {}).get("namespace")),
        (target.group, api_group(version)),
        (target.version, version.rpartition("/")[2]),
    )
    return all(wanted is None or wanted == found for wanted, found in has)


def nearest(target: PatchTarget, objects: Sequence[dict[str, Any]]) -> str | None:
    """The object that a target which names none was probably to name, as people call it."""
    labels = {f"{tree.get('kind')}/{object_name(tree)}": object_label(tree) for tree in objects}
    of_name = {label: whole for label, whole in labels.items() if target.name and label.endswith(f"/{target.name}")}
    of_kind = {label: whole for label, whole in labels.items() if target.kind and label.startswith(f"{target.kind}/")}
    wanted = f"{target.kind or ''}/{target.name or ''}"
    for labels_of in (of_name, of_kind, labels):
        found = nearest_word(wanted, labels_of, 0.6 if labels_of is labels else 0.0)
        if found is not None:
            return labels_of[found]
    return None
