"""PluginOverrides, ready to be applied."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from fleetform.engine.layers.items import as_a_set, item_of
from fleetform.model.kinds.preset import PluginOverrideSpec
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
    scopes = (("cluster", names_clusters(matchers)), ("definition", bool(definitions)))
    named = [what for what, is_named in scopes if is_named]
    layer = Layer("override", 1 + len(named), object_, " and ".join(named) or "organization", object_.created)
    items = [
        item
        for index, each in enumerate(spec.overrides)
        for item in item_of(layer, each.path, each, ("spec", "overrides"), index, each.strategy or "Replace")
    ]
    return Override(object_, layer, as_a_set(items), matchers, definitions, spec.allow_undeclared, _expiry(spec))


def has_expired(spec: PluginOverrideSpec, at: datetime) -> bool:
    end = _expiry(spec)
    return end is not None and end <= at


def _expiry(spec: PluginOverrideSpec) -> datetime | None:
    """When an override ends; a time that cannot be read ends nothing, and is reported where it stands."""
    try:
        return parse_time(spec.expires) if spec.expires is not None else None
    except ValueError:
        return None
