"""What all conversions share: names that native files can bear, a selector of nothing, and notes of what is lost."""

from __future__ import annotations

from fleetform.model.answers.base import JsonMap
from fleetform.model.kinds import KINDS
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic


def is_native_kind(object_: Object[object]) -> bool:
    return object_.ref.kind in KINDS


def native_name(ref: Ref) -> str:
    """A name without the namespace that is part of it in Open Cluster Management."""
    return ref.name.replace("/", "-")


def selector_of_nothing() -> JsonMap:
    """A selector of no cluster: one without names would select them all."""
    return {"labelSelector": {"matchLabels": {"fleetform.dev/selected": "true"}}}


def loss(object_: Object[object], message: str, hint: str, *path: str) -> Diagnostic:
    """Something that a native file cannot say."""
    return Diagnostic("foreign-note", message, hint, "info", object_.ref, object_.at(*path))
