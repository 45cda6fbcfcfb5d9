"""Accepting: the files of the source become the fleet's if they were read whole and nothing in them is wrong.

What was accepted is stored, and everything else follows from what is stored: while files are broken, or the source
cannot be reached, the fleet goes on as it was, also after a restart. An empty source is taken for a failure (B22).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleetform.app.answering.references import reported
from fleetform.app.fleet import Fleet
from fleetform.engine.world.contents import content_with_annotations, identity_text
from fleetform.load.locator import FileLocator
from fleetform.loop.holding import without_invalid
from fleetform.loop.image import Image
from fleetform.loop.records import SourceRecord
from fleetform.model.answers.findings import Finding
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import AnyObject, Ref
from fleetform.ports.sources import SourceFiles
from fleetform.ports.state import KnownState, KnownVersion
from fleetform.ports.store import Deed
from fleetform.syntax.times import parse_time, time_text

ANNOUNCED = "fleetform.dev/announced"

# Files, as they are at a time with what is known, as a fleet.
OpenFleet = Callable[[Mapping[str, bytes], datetime, KnownState], Fleet]


class Refusal(NamedTuple):
    """Why files were not accepted. reading is these very files: they are judged once. partial: the others were."""

    reading: SourceFiles
    reason: str
    findings: Sequence[Finding] = ()
    empty: bool = False
    partial: bool = False


class Accepted(NamedTuple):
    """Files that were accepted: the fleet that they are, and what is stored of them; refusal is why some were not."""

    fleet: Fleet
    image: Image
    refusal: Refusal | None = None


class AcceptedChange(NamedTuple):
    """What files brought that are others than before: which objects came, are others and are gone, each by kind and
    name. After a restart nobody knows what they were before: then it is only how many there are."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Sequence[str] = ()
    objects: int = 0
    is_first: bool = False


def change_between(before: Fleet | None, after: Fleet) -> AcceptedChange:
    now = after.snapshot.objects
    if before is None:
        return AcceptedChange(objects=len(now), is_first=True)
    then = before.snapshot.objects
    # What was not read anew is the very same object.
    same = set(then) & set(now)
    was, is_ = ({identity_text(each): each for each in side if each not in same} for side in (then, now))
    content = content_with_annotations
    both = [each for each in sorted(was.keys() & is_.keys()) if content(was[each]) != content(is_[each])]
    return AcceptedChange(
        [_name(is_[each]) for each in sorted(is_.keys() - was.keys())],
        [_name(is_[each]) for each in both],
        [_name(was[each]) for each in sorted(was.keys() - is_.keys())],
        len(now),
    )


def _name(object_: AnyObject) -> str:
    version = object_.spec.version if isinstance(object_.spec, PluginDefinitionSpec) else None
    return f"{object_.ref.kind} {object_.ref.name}" + (f" {version}" if version else "")


def accept(
    reading: SourceFiles, image: Image, open_fleet: OpenFleet, now: datetime, before: Fleet | None = None
) -> Accepted | Refusal:
    """Judges files that differ from those that were accepted last; before is what is known of those."""
    if reading.problems:
        findings = reported(reading.problems, FileLocator())
        return Refusal(reading, "not everything could be read, so nobody knows what is gone", findings)
    if not reading.files:
        return Refusal(reading, "the source is empty, which is taken for a mistake", empty=True)

    def opened(files: Mapping[str, bytes]) -> Fleet:
        fleet = open_fleet(files, now, image.known)
        return replace(fleet, previous=before.decisions, checked=before.checked) if before is not None else fleet

    files, fleet = reading.files, opened(reading.files)
    refusal: Refusal | None = None
    if fleet.findings.errors:
        findings = reported(fleet.findings.errors, fleet.input.locator)
        if not reading.separate:
            return Refusal(reading, "the files are invalid", findings)
        refusal = Refusal(reading, "some objects are invalid", findings, partial=bool(image.files))
        taken = without_invalid(files, image.files, fleet, opened)
        if taken is None:
            return refusal
        files, fleet = taken
        refusal = refusal._replace(partial=True)
    if not fleet.snapshot.objects:
        return Refusal(reading, "the files hold no object, which is taken for a mistake", empty=True)
    known = _stamped(image.known, fleet, now)
    if known is not image.known:
        # Which override is the newest depends on stamps, so the fleet is read with them.
        fleet = replace(open_fleet(files, now, known), previous=fleet.decisions, checked=fleet.checked)
    # The objects and maps that decisions hold, which are those of the pass before where nothing changed.
    fleet = replace(fleet, snapshot=fleet.decisions.index.snapshot, previous=fleet.decisions)
    source = SourceRecord(reading.revision, reading.author)
    return Accepted(fleet, replace(image, known=known, files=dict(files), source=source), refusal)


def next_reading(fleet: Fleet) -> datetime | None:
    """When a source of a catalog is to be read again (R2-34); None if there is none."""
    readings = [each for sources in fleet.catalog_definitions.sources.values() for each in sources]
    return min((parse_time(each.next_look) for each in readings if each.next_look is not None), default=None)


def _stamped(known: KnownState, fleet: Fleet, now: datetime) -> KnownState:
    """With a stamp for every object and version that came, and none for those that are gone (B7, S28)."""
    snapshot = fleet.snapshot
    stamps = {
        each.ref: known.stamps.get(each.ref) or time_text(each.created or now)
        for each in snapshot.objects
        if each.foreign_version is None
    }
    stamps |= {ref: known.stamps[ref] for ref in snapshot.unreadable.refs if ref in known.stamps}
    versions = {}
    for key, definition in snapshot.definitions.items():
        before = known.versions.get(key, KnownVersion())
        announced = before.announced or _announced(definition.metadata.annotations) or now
        versions[key] = before._replace(announced=announced)
    # A version that is gone may still run somewhere, and what is known of it stays with it.
    gone = {key: each for key, each in known.versions.items() if key not in versions and _runs(known, key[0])}
    versions |= gone
    if stamps == known.stamps and versions == known.versions:
        return known
    return replace(known, stamps=stamps, versions=versions)


def _announced(annotations: Mapping[str, str] | None) -> datetime | None:
    text = (annotations or {}).get(ANNOUNCED)
    try:
        return parse_time(text) if text is not None else None
    except ValueError:
        return None


def _runs(known: KnownState, definition: Ref) -> bool:
    return any(
        state.admitted is not None and state.admitted.definition == definition.name
        for on_cluster in known.plugins.values()
        for state in on_cluster.values()
    )


def accepted_by(reading: SourceFiles, now: datetime) -> list[Deed]:
    """That a commit was accepted, for the audit log; of plain files nobody knows who made them what they are."""
    if not reading.revision:
        return []
    return [Deed(now, reading.author or "unknown", "accept", reading.revision, "done")]
