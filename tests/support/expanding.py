"""`$(NAME)` expanded by the templates that every verb uses, with names that a function looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleetform.engine.bindings.templates import Template, compile_template
from fleetform.model.conventions import VariableSyntax
from fleetform.model.results.bindings import Unresolved
from fleetform.syntax.variables import ExpandError


def expand(tree: Any, lookup: Callable[[str], Any], *, syntax: VariableSyntax = "native") -> Any:
    """A tree with its mentions filled in; what the lookup raises passes through."""

    def name_of(name: str) -> Template:
        return Template(lambda frame: lookup(name), varies=True)

    template = compile_template(tree, name_of, syntax)
    made = template.make(None) if template is not None else tree
    if isinstance(made, Unresolved):
        raise ExpandError(made.message, made.do)
    return made
