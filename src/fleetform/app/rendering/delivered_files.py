"""A plugin's objects as the files of its folder, in an order in which they can be applied one after the other.

Helm's hooks belong to the life of a release: those that run before an install or an upgrade stand first, those that run
after one stand last, both by their weight; tests and hooks of deletions and rollbacks are left out. Their annotations
stay, so that tools which know hooks treat them as such.
"""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.app.rendering.output_files import names_of
from fleetform.model.answers.base import JsonMap
from fleetform.syntax.helm_hooks import AFTER, BEFORE, hooks_of, weight_of
from fleetform.syntax.yaml_out import write_yaml


def delivered_files(objects: Sequence[JsonMap]) -> dict[str, bytes]:
    """File names and contents; applied in the order of their names they come in the order of a release."""
    before, after, plain = [], [], []
    for tree in objects:
        hooks = hooks_of(tree)
        if not hooks:
            plain.append(tree)
        elif hooks & BEFORE:
            before.append(tree)
        elif hooks & AFTER:
            after.append(tree)
    ordered = [*_numbered("00-pre", before), *_numbered("zz-post", after)]
    ordered += [(name, tree) for name, tree in zip(names_of(plain), plain, strict=True)]
    return {f"{name}.yaml": write_yaml(tree).encode() for name, tree in ordered}


def _numbered(prefix: str, hooks: list[JsonMap]) -> list[tuple[str, JsonMap]]:
    hooks = sorted(hooks, key=lambda tree: (weight_of(tree), names_of([tree])))
    names = names_of(hooks)
    return [
        (f"{prefix}-{number:02}-{name}", tree) for number, (name, tree) in enumerate(zip(names, hooks, strict=True), 1)
    ]
