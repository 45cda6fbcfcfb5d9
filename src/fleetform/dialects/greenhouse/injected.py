"""Values that Greenhouse itself adds to every plugin: charts and expressions read them as global.greenhouse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from fleetform.dialects.injections import INJECTIONS
from fleetform.model.objects import Object
from fleetform.syntax.trees import as_list, as_map

INJECTED = INJECTIONS["greenhouse"]
PREFIX = "global.greenhouse."
# A setting of the Greenhouse server, which manifests do not hold: an Organization says it here, or a live export there.
BASE_DOMAIN = "fleetform.dev/base-domain"
_CONSTANT = "baseDomain"


def with_base_domain(objects: list[Object[object]]) -> list[Object[object]]:
    """Objects that know the domain of their Greenhouse, where one of them does."""
    domain = next(iter(sorted(_domains(objects))), None)
    if domain is None:
        return objects
    injected = structs.replace(INJECTED, constants={_CONSTANT: domain})
    return [
        replace(each, conventions=structs.replace(each.conventions, injected=injected))
        if each.conventions.injected is not None
        else each
        for each in objects
    ]


def _domains(objects: Iterable[Object[object]]) -> Iterable[str]:
    for each in objects:
        if each.ref.kind == "Organization" and (said := (each.metadata.annotations or {}).get(BASE_DOMAIN)):
            yield said
        if each.conventions.made_by_system:
            for value in as_list(as_map(as_map(each.content).get("spec")).get("optionValues")):
                if as_map(value).get("name") == f"{PREFIX}{_CONSTANT}" and isinstance(value.get("value"), str):
                    yield value["value"]
