"""Objects into another namespace, and what names a namespace inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetform.engine.transform.records import Response
from fleetform.syntax.json_patch import Operation, pointer_to
from fleetform.transform.operations import replace
from fleetform.transform.wire import OptionalField
from fleetform.transformers.builtin.base import BuiltIn, below, items, pairs

# Where other kinds name a namespace: a reference to a service, or to a claim.
_REFERENCES = (
    ("spec", "service", "namespace"),
    ("spec", "claimRef", "namespace"),
    ("spec", "conversion", "webhook", "clientConfig", "service", "namespace"),
)


def _places(resource: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    yield ("metadata", "namespace")
    if resource.get("kind") == "Namespace" and resource.get("apiVersion") == "v1":
        yield ("metadata", "name")
        yield ("metadata", "labels", "kubernetes.io/metadata.name")
    yield from _REFERENCES
    yield from (("subjects", number, "namespace") for number in range(len(items(resource.get("subjects")))))
    for number in range(len(items(resource.get("webhooks")))):
        yield ("webhooks", number, "clientConfig", "service", "namespace")


def change_namespaces(resource: Mapping[str, Any], renamed: Mapping[str, str]) -> Iterator[Operation]:
    for place in _places(resource):
        found: Any = resource
        for step in place:
            found = items(found)[step] if isinstance(step, int) else below(found, step)
        if isinstance(found, str) and renamed.get(found, found) != found:
            yield replace(pointer_to(*place), renamed[found])


class RenameNamespace(BuiltIn):
    """Objects into another namespace, with references to it: subjects, services of webhooks, claims."""

    NAME = "rename-namespace"
    OPTIONS = (OptionalField("map", "Namespaces and their new names", "team-a=team-b,shop=store"),)

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        operations = tuple(change_namespaces(resource, pairs("map", extras.get("map", ""))))
        return Response(operations, changes_identity=bool(operations))
