"""ItemValues: what an item says on one cluster, with its expression evaluated and its mentions filled in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fleetform.engine.bindings.evaluate import Binder
from fleetform.engine.bindings.plugin_variables import Cluster, PluginVariables
from fleetform.engine.layers.injected import injected_values
from fleetform.engine.options.fold import written_value
from fleetform.engine.options.holes import marks_in
from fleetform.model.results.bindings import Failure, Unresolved
from fleetform.model.results.decisions import Entry, Item
from fleetform.syntax.cel import ExpressionError, context_of, evaluate


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
        return template.make(self._frame)

    def _evaluated(self, item: Item, expression: str) -> Any:
        assert self._cluster is not None
        if self._context is None:
            self._context = context_of(self._cluster, self._definition, self._version)
        try:
            return evaluate(expression, self._context, injected_values(item.layer.object, self._cluster))
        except ExpressionError as error:
            message, do = f"the expression gives no value: {error}", "fix the value where it is set"
            return Failure("value-type", message, do, item.at, ref=item.layer.object.ref)

    def spoken(self, entries: Iterable[Entry]) -> list[Entry]:
        """Those that say anything here: one that mentions an optional name without a value is left out (S37)."""
        if self._binder is None:
            return list(entries)
        return [entry for entry in entries if not self.is_left_out(entry[0])]

    def is_left_out(self, item: Item) -> bool:
        template = self._binder.template(item) if self._binder is not None else None
        if template is None or self._frame is None or not template.optional:
            return False
        gates = [each.gate for each in marks_in(template.make(self._frame)) if isinstance(each, Unresolved)]
        return bool(gates) and not any(gates)
