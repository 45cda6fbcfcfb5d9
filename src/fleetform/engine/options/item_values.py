"""ItemValues: what an item says on one cluster, with its expression evaluated and its mentions filled in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleetform.engine.bindings.evaluate import Binder
from fleetform.engine.bindings.plugin_variables import Cluster, PluginVariables
from fleetform.engine.layers.injected import injected_values
from fleetform.engine.options.resolve import UnresolvedError, written_value
from fleetform.model.results.bindings import Unresolved
from fleetform.model.results.decisions import Entry, Item
from fleetform.syntax.cel import context_of, evaluate


class ItemValues:
    """Values of items of one plugin; without a cluster, of those that are the same everywhere."""

    def __init__(
        self,
        binder: Binder | None,
        frame: PluginVariables | None,
        cluster: Cluster | None,
        definition: str,
        version: str,
    ) -> None:
        self._binder, self._frame = binder, frame
        self._cluster, self._definition, self._version = cluster, definition, version
        self._context: dict[str, Any] | None = None

    def __call__(self, item: Item) -> Any:
        if item.expression is not None:
            return self._evaluated(item, item.expression)
        template = self._binder.template(item) if self._binder is not None else None
        if template is None or self._frame is None:
            return written_value(item)
        value = template.make(self._frame)
        if value.__class__ is Unresolved:
            raise UnresolvedError(value)
        return value

    def _evaluated(self, item: Item, expression: str) -> Any:
        assert self._cluster is not None
        if self._context is None:
            self._context = context_of(self._cluster, self._definition, self._version)
        return evaluate(expression, self._context, injected_values(item.layer.object, self._cluster))

    def spoken(self, entries: Iterable[Entry]) -> list[Entry]:
        """Those that say anything here: one that mentions an optional name without a value is left out (S37)."""
        if self._binder is None:
            return list(entries)
        return [entry for entry in entries if not self.is_left_out(entry[0])]

    def is_left_out(self, item: Item) -> bool:
        template = self._binder.template(item) if self._binder is not None else None
        if template is None or self._frame is None or not template.optional:
            return False
        value = template.make(self._frame)
        return value.__class__ is Unresolved and not value.gate
