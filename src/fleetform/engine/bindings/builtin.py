"""Given names: what every plugin may mention without binding it (S36)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fleetform.engine.bindings.fields import FieldError, find_in
from fleetform.engine.bindings.templates import Template
from fleetform.model.conventions import VariableSyntax
from fleetform.model.objects import At
from fleetform.model.results.bindings import Unresolved
from fleetform.model.shape import did_you_mean, nearest

PLAIN = ("CLUSTER_NAME", "ORGANIZATION")
LABELS, FACTS = "cluster.labels.", "cluster.facts."
# What people write for them, in lower case and without dots.
_OTHER_WORDS = {
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
    """What a given name stands for; None where it is none. at is where it is mentioned."""
    if name == "CLUSTER_NAME":
        return Template(_cluster_name, varies=True)
    if name == "ORGANIZATION":
        return Template(lambda frame: frame.organization)
    if name.startswith(LABELS):
        return Template(_label(name, name.removeprefix(LABELS), at), varies=True)
    if name.startswith(FACTS):
        return Template(_fact(name, name.removeprefix(FACTS), at), varies=True)
    return None


def meant(name: str, syntax: VariableSyntax = "native") -> str | None:
    """The given name that one which nobody binds was meant to be: `cluster.label.x`, `cluster.name`."""
    found = _OTHER_WORDS.get(name.lower().replace(".", "_"))
    inside = _INSIDE.fullmatch(name)
    if inside is not None:
        word = nearest(inside[1], ("labels", "facts"))
        found = f"cluster.{word}.{inside[2]}" if word is not None else None
    return found if found is not None and is_built_in(found, syntax) else None


def _cluster_name(frame: Any) -> Any:
    return frame.cluster.ref.name


def _label(name: str, key: str, at: At | None) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        labels = frame.cluster.labels
        found = labels.get(key)
        if found is not None:
            return found
        has = f"it has {', '.join(sorted(labels)[:6])}" if labels else "it has no labels"
        return _nothing(name, f"the cluster has no label {key}", did_you_mean(key, sorted(labels), has), at)

    return make


def _fact(name: str, path: str, at: At | None) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        facts = frame.cluster.spec.facts or {}
        found = facts.get(path)
        if found is not None:
            return found
        try:
            return find_in(facts, path)
        except FieldError as error:
            return _nothing(name, f"the cluster has no fact {path}", error.hint, at)

    return make


def _nothing(name: str, why: str, hint: str, at: At | None) -> Unresolved:
    return Unresolved("config-missing", f"$({name}) cannot be resolved: {why}", hint, at)
