"""`$(NAME)` expanded by the templates that every verb uses, with names that a function looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleetform.engine.bindings.fields import Fields
from fleetform.engine.bindings.plugin_variables import NO_CLUSTER, Lookups, PluginVariables
from fleetform.engine.bindings.templates import Template, compile_template
from fleetform.model.conventions import VariableSyntax
from fleetform.model.results.bindings import Unresolved
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import UNKNOWN
from fleetform.syntax.variables import ExpandError
from properties.strategies import NOW


def expand(tree: Any, lookup: Callable[[str], Any], *, syntax: VariableSyntax = "native") -> Any:
    """A tree with its variables filled in; what the lookup raises passes through."""

    def template_of(name: str) -> Template:
        return Template(lambda variables: lookup(name), varies=True)

    template = compile_template(tree, template_of, syntax)
    lookups = Lookups(Fields(Snapshot(NOW)), lambda *_: Unresolved("", ""), lambda *_: UNKNOWN)
    made = template.make(PluginVariables(lookups, "", NO_CLUSTER, "", [])) if template is not None else tree
    if isinstance(made, Unresolved):
        raise ExpandError(made.message, made.do)
    return made
