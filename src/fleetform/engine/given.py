"""Given names: what every plugin may mention without binding it (S36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleetform.engine.expand import Dialect
from fleetform.engine.fields import FieldError, find_in
from fleetform.engine.templates import Template
from fleetform.model.results.bindings import Missing
from fleetform.model.shape import did_you_mean

PLAIN = ("CLUSTER_NAME", "ORGANIZATION")
LABELS, FACTS = "cluster.labels.", "cluster.facts."


def is_given(name: str, dialect: Dialect = "native") -> bool:
    """Whether nobody may bind a name; Fleeet has but one such."""
    if dialect == "fleeet":
        return name == "CLUSTER_NAME"
    return name in PLAIN or name.startswith((LABELS, FACTS))


def given(name: str) -> Template | None:
    """What a given name stands for; None where it is none."""
    if name == "CLUSTER_NAME":
        return Template(_cluster_name, varies=True)
    if name == "ORGANIZATION":
        return Template(lambda frame: frame.organization)
    if name.startswith(LABELS):
        return Template(_label(name, name.removeprefix(LABELS)), varies=True)
    if name.startswith(FACTS):
        return Template(_fact(name, name.removeprefix(FACTS)), varies=True)
    return None


def _cluster_name(frame: Any) -> Any:
    return frame.cluster.ref.name


def _label(name: str, key: str) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        labels = frame.cluster.labels
        found = labels.get(key)
        if found is not None:
            return found
        has = f"it has {', '.join(sorted(labels)[:6])}" if labels else "it has no labels"
        return _nothing(name, f"the cluster has no label {key}", did_you_mean(key, sorted(labels), has))

    return make


def _fact(name: str, path: str) -> Callable[[Any], Any]:
    def make(frame: Any) -> Any:
        facts = frame.cluster.spec.facts or {}
        found = facts.get(path)
        if found is not None:
            return found
        try:
            return find_in(facts, path)
        except FieldError as error:
            return _nothing(name, f"the cluster has no fact {path}", error.hint)

    return make


def _nothing(name: str, why: str, hint: str) -> Missing:
    return Missing("config-missing", f"$({name}) stands for nothing: {why}", hint)
