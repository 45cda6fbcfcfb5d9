"""`$(NAME)` expanded by the templates that every verb uses, with names that a function looks up."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from fleetform.engine.expand import Dialect, ExpandError
from fleetform.engine.templates import Template, compile_template
from fleetform.model.results.bindings import Missing
from fleetform.model.shape import did_you_mean


def expand(tree: Any, lookup: Callable[[str], Any], *, known: Collection[str] = (), dialect: Dialect = "native") -> Any:
    """A tree with its mentions filled in; what cannot be is an ExpandError, and a name nobody knows a KeyError."""

    def name_of(name: str) -> Template:
        return Template(lambda frame: _looked_up(lookup, name, known), varies=True)

    template = compile_template(tree, name_of, dialect)
    made = template.make(None) if template is not None else tree
    if isinstance(made, Missing):
        raise ExpandError(made.message, "", made.do)
    return made


def _looked_up(lookup: Callable[[str], Any], name: str, known: Collection[str]) -> Any:
    try:
        return lookup(name)
    except KeyError:
        hint = did_you_mean(name, known, otherwise="write $$( for the text $(")
        raise ExpandError(f"$({name}) is not bound", name, hint) from None
