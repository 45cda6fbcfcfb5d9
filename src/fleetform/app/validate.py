"""validate: everything that is wrong with an input, at once."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from fleetform.app.answering.references import reported
from fleetform.app.findings import told_once
from fleetform.app.fleet import Fleet
from fleetform.model.answers.validation import ValidateResult, ValidationCounts
from fleetform.model.results.diagnostics import Diagnostic, Place


def validate(fleet: Fleet, more: Sequence[Diagnostic] = ()) -> ValidateResult:
    """The result for a fleet; findings are in file order, more are those of further checks."""
    found = findings(fleet, more)
    errors = sum(each.severity == "error" for each in found)
    counts = ValidationCounts(
        files=fleet.input.files,
        objects=len(fleet.snapshot.objects),
        errors=errors,
        warnings=sum(each.severity == "warning" for each in found),
        skipped=len(fleet.skipped) or UNSET,
    )
    skipped = [Place(each.file, each.first_line) for each in fleet.skipped] or UNSET
    findings_ = reported(found, fleet.input.locator)
    return ValidateResult(valid=errors == 0, counts=counts, skipped=skipped, diagnostics=findings_)


def findings(fleet: Fleet, more: Sequence[Diagnostic] = ()) -> Sequence[Diagnostic]:
    if more:
        return told_once(fleet.findings.in_order([*fleet.findings.all, *more]))
    return told_once(fleet.findings.all)
