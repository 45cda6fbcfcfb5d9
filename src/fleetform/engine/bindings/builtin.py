"""Built-in variables: those that every plugin has without a binding (S36)."""

from __future__ import annotations

import re

from fleetform.engine.bindings.fields import FieldError, find_in
from fleetform.engine.bindings.plugin_variables import PluginVariables
from fleetform.engine.bindings.templates import Template
from fleetform.model.conventions import VariableSyntax
from fleetform.model.objects import At
from fleetform.model.results.bindings import Unresolved
from fleetform.model.shape import did_you_mean, nearest

PLAIN = ("CLUSTER_NAME", "ORGANIZATION")
LABELS, FACTS = "cluster.labels.", "cluster.facts."
# What people write for them, in lower case and without dots.
_OTHER_SPELLINGS = {
    "cluster_name": "CLUSTER_NAME",
    "clustername": "CLUSTER_NAME",
    "organization": "ORGANIZATION",
    "organization_name": "ORGANIZATION",
}
_INSIDE = re.compile(r"clusters?[._]([^.]+)\.(.+)", re.IGNORECASE)


def is_built_in(name: str, syntax: VariableSyntax = "native") -> bool:
    """Whether nobody may bind a name; Fleeet has but one such."""
    if syntax == "kubernetes":
        return name == "CLUSTER_NAME"
    return name in PLAIN or name.startswith((LABELS, FACTS))


def built_in(name: str, at: At | None = None) -> Template | None:
    """What fills in a built-in variable; None if it is none. at is where it is referred to."""
    if name == "CLUSTER_NAME":
        return Template(lambda variables: variables.cluster.own_name, varies=True)
    if name == "ORGANIZATION":
        return Template(lambda variables: variables.organization)
    if not name.startswith((LABELS, FACTS)):
        return None
    is_label = name.startswith(LABELS)
    key = name.removeprefix(LABELS if is_label else FACTS)

    def label(variables: PluginVariables) -> object:
        labels = variables.cluster.labels
        found = labels.get(key)
        if found is not None:
            return found
        has = f"it has {', '.join(sorted(labels)[:6])}" if labels else "it has no labels"
        return unresolved(f"the cluster has no label {key}", did_you_mean(key, sorted(labels), has))

    def fact(variables: PluginVariables) -> object:
        facts = variables.cluster.spec.facts or {}
        found = facts.get(key)
        if found is not None:
            return found
        try:
            return find_in(facts, key)
        except FieldError as error:
            return unresolved(f"the cluster has no fact {key}", error.hint)

    def unresolved(why: str, hint: str) -> Unresolved:
        return Unresolved("config-missing", f"$({name}) cannot be resolved: {why}", hint, at)

    return Template(label if is_label else fact, varies=True)


def probably_meant(name: str, syntax: VariableSyntax = "native") -> str | None:
    """The built-in variable that an unbound name was meant to be: `cluster.label.x`, `cluster.name`."""
    found = _OTHER_SPELLINGS.get(name.lower().replace(".", "_"))
    inside = _INSIDE.fullmatch(name)
    if inside is not None:
        word = nearest(inside[1], ("labels", "facts"))
        found = f"cluster.{word}.{inside[2]}" if word is not None else None
    return found if found is not None and is_built_in(found, syntax) else None
