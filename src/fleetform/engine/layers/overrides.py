"""PluginOverrides, ready to be applied."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from fleetform.engine.layers.items import item_of
from fleetform.model.kinds.preset import OverrideItem, PluginOverrideSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Item, Layer
from fleetform.syntax.selectors import Matchers, names_clusters, safe_matchers
from fleetform.syntax.times import parse_time

_NO_TIME = parse_time("1970-01-01")


class Override(Struct, frozen=True, eq=False):
    """A PluginOverride, ready to be applied."""

    object: Object[PluginOverrideSpec]
    layer: Layer
    items: tuple[Item, ...]
    matchers: Matchers
    definitions: frozenset[str]
    allow_undeclared: bool
    expires: datetime | None = None

    @property
    def order(self) -> tuple[Any, ...]:
        """Application order: by rank, then the oldest first; no stamp is newest; equal times by name (R0-11, B7)."""
        created = self.layer.created
        return (self.layer.rank, created is None, created or _NO_TIME, self.object.ref.name)


def override_layer(object_: Object[PluginOverrideSpec]) -> Override:
    spec = object_.spec
    matchers = safe_matchers(spec.cluster_selector)
    definitions = frozenset(spec.plugin_definition_names or ())
    rank = 1 + names_clusters(matchers) + bool(definitions)
    layer = Layer("override", rank, object_, _scope(names_clusters(matchers), bool(definitions)), object_.created)
    items = tuple(_override_items(layer, spec.overrides))
    return Override(object_, layer, items, matchers, definitions, spec.allow_undeclared, _expiry(spec))


def _scope(clusters: bool, definitions: bool) -> str:
    if clusters and definitions:
        return "cluster and definition"
    return "cluster" if clusters else "definition" if definitions else "organization"


def _override_items(layer: Layer, written: list[OverrideItem]) -> Iterator[Item]:
    for index, item in enumerate(written):
        yield from item_of(layer, item.path, item, ("spec", "overrides"), index, item.strategy or "Replace")


def has_expired(spec: PluginOverrideSpec, at: datetime) -> bool:
    end = _expiry(spec)
    return end is not None and end <= at


def _expiry(spec: PluginOverrideSpec) -> datetime | None:
    """When an override ends; a time that cannot be read ends nothing, and is reported where it stands."""
    try:
        return parse_time(spec.expires) if spec.expires is not None else None
    except ValueError:
        return None
