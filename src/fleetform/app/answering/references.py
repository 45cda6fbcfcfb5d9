"""Objects, places and findings as answers bear them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from fleetform.model.answers.base import ObjectReference
from fleetform.model.answers.findings import Finding
from fleetform.model.objects import At, Object, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.inputs import Locator
from fleetform.syntax.addresses import without_logins


def reference(ref: Ref, at: At | None, locator: Locator) -> ObjectReference:
    """An object, and a place in it."""
    place = locator.place(at) if at is not None else UNSET
    return ObjectReference(kind=ref.kind, organization=ref.organization, name=ref.name, place=place)


def object_reference(object_: Object[object], locator: Locator) -> ObjectReference:
    """An object, and the place where it begins."""
    return reference(object_.ref, object_.at(), locator)


def reported(diagnostics: Iterable[Diagnostic], locator: Locator) -> list[Finding]:
    """Findings with the lines that they are about."""
    return [
        Finding(
            code=each.code,
            severity=each.severity,
            message=without_logins(each.message),
            hint=without_logins(each.hint),
            object=without_logins(str(each.object)) if each.object else None,
            path=each.path,
            place=locator.place(each.at) if each.at is not None else None,
            related=[locator.place(related) for related in each.related],
        )
        for each in diagnostics
    ]
