"""What convert writes is valid: it is read again as native manifests, and what is wrong is left out, and said."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.app.converting.converted import Converted
from fleetform.app.findings import Findings
from fleetform.app.fleet import Fleet
from fleetform.app.reading.documents import read_document
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.app.reading.snapshots import assemble
from fleetform.engine.decide import decide
from fleetform.model.objects import Object, Origin, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.inputs import Document


def valid_files(
    fleet: Fleet, files: Sequence[Converted], beside: Sequence[Object[object]]
) -> tuple[list[Converted], list[Diagnostic]]:
    """The files that are valid together, beside objects that stay as they are; and why others are left out."""
    kept, left_out = list(files), list[Diagnostic]()
    catalogs = fleet.catalog_definitions.files
    offered = [each for each in fleet.snapshot.definitions.values() if each.origin.file in catalogs]
    while True:
        wrong = _errors(fleet, kept, [*beside, *offered])
        # What was native before is what its author wrote: its errors are told as those of the input.
        bad = [each for each in kept if each.object.dialect != "native" and _native_ref(each) in wrong]
        if not bad:
            return kept, left_out
        for each in bad:
            error, ref = wrong[_native_ref(each)], each.object.ref
            message = f"{ref.kind} {ref.name} is not written: natively it would be wrong, for {error.message}"
            at = each.object.at("metadata", "name")
            left_out.append(Diagnostic("foreign-note", message, error.hint, "warning", ref, at))
        kept = [each for each in kept if each not in bad]


def _native_ref(file: Converted) -> Ref:
    metadata = file.tree["metadata"]
    return Ref(file.tree["kind"], metadata["namespace"], metadata["name"])


def _errors(fleet: Fleet, files: Sequence[Converted], beside: Sequence[Object[object]]) -> dict[Ref, Diagnostic]:
    """The first error of each object."""
    reading: list[Diagnostic] = []
    objects = list(beside)
    found: dict[Ref, Diagnostic] = {}
    for each in files:
        read = read_document(Document(each.whole, Origin(each.path, 1, 1)), each.object.ref.organization)
        for diagnostic in read.diagnostics:
            if diagnostic.severity == "error":
                found.setdefault(_native_ref(each), diagnostic)
        objects += [one for one in (read.object, *read.also) if one is not None]
    if found:
        return found
    snapshot = assemble(objects, fleet.snapshot.at, fleet.state, reading, KeptReadings())
    for diagnostic in Findings(decide(snapshot), reading, fleet.input.locator).of_objects:
        if diagnostic.severity == "error" and diagnostic.object is not None:
            found.setdefault(diagnostic.object, diagnostic)
    return found
