"""Annotations and labels: add some, remove some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from fleetform.engine.transform.records import Response
from fleetform.syntax.json_patch import Operation, pointer_to
from fleetform.transform.operations import add, remove
from fleetform.transform.wire import OptionalField
from fleetform.transformers.builtin.base import BuiltIn, below, names, pairs


def change_metadata(
    resource: Mapping[str, Any], field: str, added: Mapping[str, str], removed: Sequence[str]
) -> Iterator[Operation]:
    """Operations on annotations or labels. What is there already, and what is not, is left alone."""
    there = below(resource, "metadata", field)
    has = there if isinstance(there, Mapping) else None
    if added and has is None:
        # On its own: plugins that begin alike may then all fill it.
        yield add(pointer_to("metadata", field), {})
    for key, value in added.items():
        if has is None or has.get(key) != value:
            yield add(pointer_to("metadata", field, key), value)
    for key in removed:
        if has is not None and key in has and key not in added:
            yield remove(pointer_to("metadata", field, key))


class _ChangesMetadata(BuiltIn):
    FIELD: ClassVar[str]

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        added, removed = pairs("add", extras.get("add", "")), names("remove", extras.get("remove", ""))
        return Response(tuple(change_metadata(resource, self.FIELD, added, removed)))


class Annotations(_ChangesMetadata):
    """Annotations of every object."""

    NAME = "annotations"
    FIELD = "annotations"
    OPTIONS = (
        OptionalField("add", "Annotations to add", "example.com/owner=team-a,example.com/note=a=b"),
        OptionalField("remove", "Annotations to remove", "example.com/old,example.com/older"),
    )


class Labels(_ChangesMetadata):
    """Labels of every object; selectors and the labels of templates stay."""

    NAME = "labels"
    FIELD = "labels"
    OPTIONS = (
        OptionalField("add", "Labels to add", "team=a,moved=true"),
        OptionalField("remove", "Labels to remove", "old,older"),
    )
