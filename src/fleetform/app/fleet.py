"""Reads documents into a fleet: the objects of all dialects and of catalogs, as a snapshot that can be decided."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import structs

from fleetform.app.findings import Findings, file_of
from fleetform.app.reading.catalog_definitions import CatalogDefinitions, read_catalogs
from fleetform.app.reading.earlier_versions import without_superfluous
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.app.reading.live_exports import set_apart
from fleetform.app.reading.secret_values import SecretDigests
from fleetform.app.reading.snapshots import assemble
from fleetform.app.reading.source_folders import below, is_local, names_folder, source_folders
from fleetform.dialects.envelope import Reading
from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.decide import at_version, decide, decide_some, side_of
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.index.clusters import Cluster
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.engine.placement.placements import Placements
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import Object, Origin
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.model.results.rendering import RenderInput
from fleetform.model.snapshot import Snapshot, Unreadable, VersionKey
from fleetform.ports.catalogs import CatalogReader, Digests
from fleetform.ports.inputs import Document, Input
from fleetform.ports.state import KnownState

if TYPE_CHECKING:
    from fleetform.engine.plan.records import Plan, World
    from fleetform.engine.world.changes import OwnerChanges

Spec = TypeVar("Spec")

# One and the same: what follows from a fleet is made again if its transforms are others.
_NO_TRANSFORMS: Mapping[str, str] = {}


class Planned(NamedTuple):
    """A plan that was made before, for one that is made from it: it only saves work."""

    changes: OwnerChanges
    plan: Plan


@dataclass(frozen=True)
class Fleet:
    """A fleet as it was read; what follows from it is decided when it is asked for.

    reading is what is wrong with the documents. partial are decisions about some plugins, in place of all: for a
    question about them alone. transforms are what transform plugins are, by name: part of what plugins are made of.
    skipped are documents that are no manifests (S10). previous are decisions of this fleet, or of another
    to decide from; objects that are shared with it (comparing/beside) stand where origins says. planned is an earlier
    plan to plan from.
    """

    input: Input
    snapshot: Snapshot
    state: KnownState
    reading: tuple[Diagnostic, ...]
    strict: bool = False
    catalog_definitions: CatalogDefinitions = field(default_factory=CatalogDefinitions)
    catalogs: CatalogReader | None = None
    partial: Decisions | None = None
    transforms: Mapping[str, str] = field(default_factory=lambda: _NO_TRANSFORMS)
    skipped: tuple[Origin, ...] = ()
    previous: Decisions | None = None
    origins: Mapping[Origin, Origin] = field(default_factory=dict)
    planned: Planned | None = None
    checked: CheckedObjects = field(default_factory=CheckedObjects)

    @cached_property
    def index(self) -> Index:
        """What can be known of it before anything is decided."""
        made = self.partial or self._decided_already
        return made.index if made is not None else Index(self.snapshot)

    @cached_property
    def decisions(self) -> Decisions:
        return self.partial or self._decided_already or decide(self.snapshot, self.previous)

    @property
    def _decided_already(self) -> Decisions | None:
        previous = self.previous
        return previous if previous is not None and previous.index.snapshot is self.snapshot else None

    @cached_property
    def inputs(self) -> Inputs:
        """What plugins are made of."""
        key = self.state.secret_key
        return Inputs(self.decisions, self.transforms, SecretDigests(key, self.snapshot) if key else None)

    @cached_property
    def owner_changes(self) -> OwnerChanges:
        """What each owner wants now, and what is stored of that."""
        return self.owner_changes_after(self.planned.changes if self.planned is not None else None)

    def owner_changes_after(self, before: OwnerChanges | None) -> OwnerChanges:
        """The same; before is what was found in an earlier pass, and saves work."""
        # Imported where it is asked for, as the planner below: most questions are not about rollouts.
        from fleetform.app.reading.kept_objects import KeptReader
        from fleetform.engine.world.changes import OwnerChanges
        from fleetform.engine.world.joining import Redecide

        return OwnerChanges(
            self.decisions,
            self.inputs,
            self.state.rollouts,
            before,
            Redecide(side_of, at_version),
            self.input.authors,
            KeptReader(self.state.kept),
            self.state.unrendered,
        )

    @cached_property
    def unread(self) -> tuple[Diagnostic, ...]:
        """Why some of it could not be read."""
        return tuple(each for each in self.reading if each.severity == "error")

    @cached_property
    def world(self) -> World:
        """Everything that a plan depends on but the time. Absence means gone only if all was read."""
        return self.owner_changes.world(self.partial is None and not self.unread)

    @cached_property
    def plan(self) -> Plan:
        """What starts now, what waits, for what and until when."""
        from fleetform.engine.plan.plan import plan

        return plan(self.world, self.snapshot.at, self.planned.plan if self.planned is not None else None)

    def planned_as(self, found: Plan, known: KnownState) -> Fleet:
        """The same fleet with a plan that was made of it, and with what is known since."""
        fleet = replace(self, state=known)
        fleet.__dict__["plan"] = found
        return fleet

    @cached_property
    def findings(self) -> Findings:
        """What is wrong with it."""
        files = self.catalog_definitions.files
        return Findings(self.decisions, self.reading, self.input.locator, files, self.strict, self.checked)

    @property
    def placements(self) -> Placements:
        """What placements choose."""
        placements: Placements = self.decisions.index.placements
        return placements

    def deciding_only(self, owners: Mapping[Cluster, Collection[Owner]]) -> Fleet:
        """The same fleet with decisions about some owners on some clusters only."""
        return replace(self, partial=decide_some(self.index, owners))

    def as_read(self, object_: Object[Spec]) -> Object[Spec]:
        """An object as it stands in this fleet, which paths in it are relative to."""
        if object_.origin not in self.origins:
            return object_
        found = self._objects_as_read.get(object_)
        if found is None:
            found = self._objects_as_read[object_] = replace(object_, origin=self.origins[object_.origin])
        return found

    @cached_property
    def _objects_as_read(self) -> dict[Object[Any], Object[Any]]:
        return {}

    def render_input(self, plugin: PluginDecision) -> RenderInput | None:
        """What a plugin's render takes, from the files of this fleet; None where there is nothing to render."""
        found = self.inputs.render_input(plugin)
        return structs.replace(found, definition=self.as_read(found.definition)) if found is not None else None

    def digests(self, key: VersionKey) -> Digests:
        """The digests of what a definition renders, as far as they are known."""
        known = self.catalog_definitions
        if key in known.found:
            return Digests(known.recorded.get(key), known.found[key])
        shared = self.snapshot.definitions.get(key)
        if self.catalogs is None or shared is None:
            return Digests()
        definition = self.as_read(shared)
        if is_local(definition) and definition.origin.file in known.files:
            # A folder that a catalog's definition names is the catalog's, and not one of this machine.
            return Digests()
        return self.catalogs.digests(definition)

    @cached_property
    def organizations(self) -> list[str]:
        """The organizations in the input; the platform's own namespace is none."""
        snapshot = self.snapshot
        kinds = (snapshot.organizations, snapshot.clusters, snapshot.presets, snapshot.plugins, snapshot.overrides)
        found = {ref.organization for refs in kinds for ref in refs}
        found |= {ref.organization for ref, _ in snapshot.definitions}
        return sorted(found - {PLATFORM_NAMESPACE})


def read_fleet(
    input_: Input,
    at: datetime,
    organization: str | None = None,
    state: KnownState | None = None,
    strict: bool = False,
    catalogs: CatalogReader | None = None,
    kept_readings: KeptReadings | None = None,
) -> Fleet:
    """The fleet of an input. organization is where objects belong that name none (S7).

    kept_readings has what an earlier reading of the same input came to.
    """
    state = state or KnownState()
    before = kept_readings or KeptReadings()
    readings = before.read(input_.documents, organization or "default")
    # What definitions render and catalogs read is no input of its own, except for files that name such folders.
    folders = source_folders((reading.object for _, reading in readings), input_.documents)
    naming = {document.origin.file for document, reading in readings if names_folder(reading.object)}
    ours = [
        (document, reading)
        for document, reading in readings
        if document.origin.file in naming or not below(document.origin.file, folders)
    ]
    kept = [(document, reading) for document, reading in ours if reading.is_manifest]
    skipped = tuple(document.origin for document, reading in ours if not reading.is_manifest)
    diagnostics = [each for each in input_.diagnostics if not below(file_of(each), folders)]
    diagnostics += [each for document, reading in kept for each in (*document.remarks, *reading.diagnostics)]
    objects = [each for _, reading in kept for each in (reading.object, *reading.also) if each is not None]
    if not objects and not diagnostics:
        diagnostics.append(_empty(input_))
    objects, state = set_apart(objects, state, diagnostics)
    found = read_catalogs(objects, catalogs, input_.locator)
    diagnostics += found.diagnostics
    objects += found.definitions
    objects = without_superfluous(objects)
    snapshot = assemble(objects, at, state, diagnostics, before)
    before.finish(objects)
    snapshot = replace(snapshot, unreadable=_unreadable(input_.diagnostics, kept))
    fleet = Fleet(input_, snapshot, state, tuple(diagnostics), strict, found, catalogs, skipped=skipped)
    if catalogs is not None and catalogs.looks:
        # Only what plugins have or want: a history has many definitions that nobody does. Catalogs of charts know the
        # digests of what they offer.
        plugins = [each for plugin in fleet.decisions.plugins.values() for each in (plugin, plugin.upgrade)]
        revisions = {each.target.revision for each in plugins if each is not None and each.target.revision is not None}
        wanted = [each.object for each in revisions if (each.object.ref, each.version) not in found.found]
        catalogs.look(sorted(wanted, key=lambda each: (each.ref, each.spec.version)))
    return replace(fleet, snapshot=_with_digests(fleet))


def _empty(input_: Input) -> Diagnostic:
    """An input of nothing has no error, and any answer from it says nothing about a fleet."""
    hint = "give a folder with -f, or start one with `fleetform init`"
    return Diagnostic("empty-input", f"there is no manifest in {input_.name}", hint, "warning", at=Place(input_.name))


def _unreadable(of_texts: Sequence[Diagnostic], readings: Sequence[tuple[Document, Reading]]) -> Unreadable:
    """What the documents hold that became no object."""
    broken = [reading for _, reading in readings if reading.object is None]
    errors = [each for reading in broken for each in reading.diagnostics if each.severity == "error"]
    refs = frozenset(each.object for each in errors if each.object is not None)
    texts = [*(each for each in of_texts if each.severity == "error"), *(each for each in errors if not each.object)]
    return Unreadable(refs, bool(texts))


def _with_digests(fleet: Fleet) -> Snapshot:
    """The snapshot with the digests of what its definitions render; folders are only hashed if there is a record."""
    snapshot, known = fleet.snapshot, fleet.catalog_definitions
    recorded, found = {**known.recorded}, {**known.found}
    for key, definition in snapshot.definitions.items():
        if key in found or (is_local(definition) and key not in snapshot.recorded):
            continue
        digests = fleet.digests(key)
        if digests.recorded is not None:
            recorded[key] = digests.recorded
        if digests.found is not None:
            found[key] = digests.found
    recorded.update(snapshot.recorded)
    return replace(snapshot, retired=known.retired, recorded=recorded, found=found)
