"""Which objects of other kinds the fleet's own refer to: configs, what bindings read, Secrets (S10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from fleetform.engine.configs.combine import plural_of
from fleetform.model.answers.base import Json
from fleetform.model.objects import Object
from fleetform.syntax.names import api_group


class _Reference(NamedTuple):
    """A kind, or a group and a resource, and a name, which may depend on variables."""

    name: str
    kind: str | None = None
    group: str = ""
    resource: str = ""

    def may_mean(self, object_: Object[object]) -> bool:
        if self.name != object_.ref.name and "$(" not in self.name:
            return False
        if self.kind is not None:
            return self.kind == object_.ref.kind or "$(" in self.kind
        group = api_group(object_.foreign_version or "")
        # What the plural of a custom resource is, only its definition says.
        return group == self.group and (group != "" or plural_of(object_.ref.kind) == self.resource)


class References:
    """What a fleet's objects refer to; collected when somebody asks."""

    def __init__(self, objects: Iterable[Object[object]]) -> None:
        self._objects = objects
        self._found: list[_Reference] | None = None

    def may_mean(self, object_: Object[object]) -> bool:
        """Whether something refers to an object, as far as that can be told without its variables."""
        if self._found is None:
            specs = (msgspec.to_builtins(each.spec) for each in self._objects)
            self._found = list({reference: None for spec in specs for reference in _in(spec)})
        return any(each.may_mean(object_) for each in self._found)


def _in(tree: Json) -> Iterator[_Reference]:
    if isinstance(tree, list):
        for each in tree:
            yield from _in(each)
    if not isinstance(tree, dict):
        return
    name, kind, resource = tree.get("name"), tree.get("kind"), tree.get("resource")
    if isinstance(name, str) and isinstance(kind, str) and "fieldPath" in tree:
        yield _Reference(name, kind=kind)
    for config in (tree, tree.get("default")) if isinstance(resource, str) else ():
        if isinstance(config, dict) and isinstance(config.get("name"), str):
            yield _Reference(config["name"], group=str(tree.get("group", "")), resource=str(resource))
    for field in ("secret", "secretRef"):
        secret = tree.get(field)
        if isinstance(secret, dict) and isinstance(secret.get("name"), str):
            yield _Reference(secret["name"], kind="Secret")
    for each in tree.values():
        yield from _in(each)
