"""Reads documents into a fleet: objects of all dialects, the snapshot, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from msgspec import structs

from fleetform.app.assemble import assemble
from fleetform.app.catalogs import CatalogDefinitions, read_catalogs
from fleetform.app.folders import below, is_local, names_folder, source_folders
from fleetform.app.reading import read_document
from fleetform.engine.check import lint_objects
from fleetform.engine.check.effects import lint_effects
from fleetform.engine.decide import decide
from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.placement.placements import Placements
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import At, Object, Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import Snapshot, VersionKey
from fleetform.model.state import UNKNOWN, Deployed, PluginState, PluginStates
from fleetform.ports import CatalogReader, Digests, Input, KnownState

_WITHOUT_EFFECT = ("dead-override", "shadowed-override", "nothing-selected")


@dataclass(frozen=True)
class Fleet:
    """A fleet as it was read, and what follows from it."""

    input: Input
    snapshot: Snapshot
    state: KnownState
    reading: tuple[Diagnostic, ...]
    strict: bool = False
    brought: CatalogDefinitions = field(default_factory=CatalogDefinitions)
    elsewhere: CatalogReader | None = None

    def after(self, before: Fleet) -> Fleet:
        """The same fleet, where what the one before it wants is what runs, whatever it is offered now."""
        then, now = before.snapshot, self.snapshot
        # What a version rendered before is what it must render now (R2-35).
        both = [key for key in then.definitions if key in now.definitions]
        recorded = {key: digest for key in both if (digest := before.digests(key).found) is not None}
        found = {key: digest for key in recorded if (digest := self.digests(key).found) is not None}
        known = {**then.retired, **then.definitions, **now.retired}
        snapshot = replace(
            now,
            states=_running_after(before.decisions, now.states),
            retired={key: each for key, each in known.items() if key not in now.definitions},
            selected={**_chosen(before.placements), **now.selected},
            recorded={**recorded, **now.recorded},
            found={**found, **now.found},
        )
        return replace(self, snapshot=snapshot)

    def _with_bytes(self) -> Snapshot:
        """The snapshot with what is known of the bytes of its definitions; folders only where there is a record."""
        recorded, found = {**self.brought.recorded}, {**self.brought.found}
        for key, definition in self.snapshot.definitions.items():
            if key in found or (is_local(definition) and key not in self.snapshot.recorded):
                continue
            digests = self.digests(key)
            if digests.recorded is not None:
                recorded[key] = digests.recorded
            if digests.found is not None:
                found[key] = digests.found
        recorded.update(self.snapshot.recorded)
        return replace(self.snapshot, retired=self.brought.retired, recorded=recorded, found=found)

    def _definitions_in_use(self) -> list[Object[PluginDefinitionSpec]]:
        """The definitions that plugins have or want: a history has many that nobody does."""
        plugins = [each for plugin in self.decisions.plugins.values() for each in (plugin, plugin.upgrade)]
        revisions = {each.target.revision for each in plugins if each is not None and each.target.revision is not None}
        # Catalogs of charts know the bytes that they brought.
        wanted = [each.object for each in revisions if (each.object.ref, each.version) not in self.brought.found]
        return sorted(wanted, key=lambda each: (each.ref, each.spec.version))

    def digests(self, key: VersionKey) -> Digests:
        """The digests of what a definition renders, as far as they are known."""
        if key in self.brought.found:
            return Digests(self.brought.recorded.get(key), self.brought.found[key])
        definition = self.snapshot.definitions.get(key)
        if self.elsewhere is None or definition is None:
            return Digests()
        if is_local(definition) and definition.origin.file in self.brought.files:
            # A folder that somebody else's definition names is theirs, and nothing of this machine's.
            return Digests()
        return self.elsewhere.digests(definition)

    @cached_property
    def decisions(self) -> Decisions:
        return decide(self.snapshot)

    @cached_property
    def inputs(self) -> Inputs:
        """What plugins are made of."""
        return Inputs(self.decisions)

    @property
    def placements(self) -> Placements:
        """What placements choose."""
        placements: Placements = self.decisions.index.placements
        return placements

    @cached_property
    def _of_objects(self) -> list[Diagnostic]:
        found = self._ours(lint_objects(self.decisions.index))
        return [*self.reading, *(each for each in found if not self._is_told_already(each))]

    def _is_told_already(self, diagnostic: Diagnostic) -> bool:
        """A definition that cannot be read is there: what is wrong with it is told, and not that it is missing."""
        if diagnostic.code != "missing-definition" or diagnostic.object is None:
            return False
        object_ = self.snapshot.presets.get(diagnostic.object) or self.snapshot.plugins.get(diagnostic.object)
        owner = self.decisions.index.owners.get(object_) if object_ is not None else None
        return owner is not None and owner.definition in self._unread_definitions

    @cached_property
    def _unread_definitions(self) -> set[str]:
        errors = [each.object for each in self.reading if each.severity == "error" and each.object is not None]
        return {ref.name for ref in errors if ref.kind == "PluginDefinition"}

    def _ours(self, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Findings that this fleet's people can act on: of a catalog's versions only what is used, as a warning."""
        used = {plugin.target.revision.object.origin for plugin in self._wanted if plugin.target.revision is not None}
        for each in found:
            if not isinstance(each.at, At) or each.at.origin.file not in self.brought.files:
                yield each
            elif each.severity != "info" and each.at.origin in used:
                yield replace(each, severity="warning")

    @property
    def _wanted(self) -> list[PluginDecision]:
        return [plugin.upgrade or plugin for plugin in self.decisions.plugins.values()] if self.brought.files else []

    @cached_property
    def _of_effects(self) -> list[Diagnostic]:
        return list(lint_effects(self.decisions))

    @cached_property
    def object_findings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the objects themselves: enough to know whether the input is valid."""
        return self.in_order([*self._of_objects, *(each for each in self._of_effects if each.severity == "error")])

    @cached_property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Everything there is to say, in file order."""
        # A value that is wrong wherever it goes was said to be so where it stands.
        said = {At(at.origin, at.path[:-1]) for at in map(_wrong_value_at, self._of_objects) if at is not None}
        effects = [each for each in self._of_effects if _wrong_value_at(each) not in said]
        return self.in_order([*self._of_objects, *(each for each in effects if self._is_sure(each))])

    def _is_sure(self, diagnostic: Diagnostic) -> bool:
        """What an error keeps from being decided only seems to be without effect."""
        if diagnostic.code not in _WITHOUT_EFFECT or diagnostic.object is None:
            return True
        unsure, odd = self._unsure
        return diagnostic.object.organization not in unsure and None not in unsure and diagnostic.object not in odd

    @cached_property
    def _unsure(self) -> tuple[set[str | None], set[Ref | None]]:
        """Organizations that an error concerns (None: any), and objects that speak of unknown options."""
        errors = [each for each in self._of_objects if each.severity == "error"]
        odd = {each.object for each in self._of_objects if each.code == "undeclared-option"}
        return {each.object.organization if each.object else None for each in errors}, odd

    def in_order(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Findings in file order, with warnings raised where they are to be errors."""
        # Under --strict a tie that only names decide, and every other warning, is an error.
        raised = [each.as_error() if self.strict and each.severity == "warning" else each for each in found]
        return tuple(sorted(raised, key=self._order))

    def _order(self, diagnostic: Diagnostic) -> tuple[Any, ...]:
        place = self.input.locator.place(diagnostic.at) if diagnostic.at is not None else None
        where = (place.file, place.line, place.column) if place else ("", 0, 0)
        return (*where, diagnostic.code, diagnostic.message)

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        found = self.findings if self.strict else self.object_findings
        return tuple(each for each in found if each.severity == "error")

    @cached_property
    def organizations(self) -> list[str]:
        """The organizations in the input; the platform's own namespace is none."""
        kinds: Sequence[Iterable[Any]] = (
            self.snapshot.organizations,
            self.snapshot.clusters,
            self.snapshot.presets,
            self.snapshot.plugins,
            self.snapshot.overrides,
            (ref for ref, _ in self.snapshot.definitions),
        )
        return sorted({ref.organization for refs in kinds for ref in refs} - {PLATFORM_NAMESPACE})


def _chosen(placements: Placements) -> dict[Ref, frozenset[str]]:
    """What every placement chooses, by name."""
    placed = {ref: placements.placed(ref) for ref in placements.objects}
    return {ref: frozenset(each.names) for ref, each in placed.items() if each is not None}


def _running_after(before: Decisions, known: PluginStates) -> PluginStates:
    """What runs: what a state knows and, where none does, what an earlier fleet wants."""
    states: dict[Ref, Mapping[str, PluginState]] = dict(known)
    for ref, here in before.clusters.items():
        there = dict(known.get(ref, {}))
        for name, plugin in here.plugins.items():
            state, definition = there.get(name, UNKNOWN), plugin.target.definition
            if state.admitted is not None and state.admitted.definition is None:
                there[name] = structs.replace(state, admitted=structs.replace(state.admitted, definition=definition))
            elif state.admitted is None and plugin.version is not None:
                there[name] = structs.replace(state, admitted=Deployed(plugin.version, definition))
        states[ref] = there
    return states


def _wrong_value_at(diagnostic: Diagnostic) -> At | None:
    return diagnostic.at if diagnostic.code == "wrong-type" and isinstance(diagnostic.at, At) else None


def read_fleet(
    input_: Input,
    at: datetime,
    organization: str | None = None,
    state: KnownState | None = None,
    strict: bool = False,
    elsewhere: CatalogReader | None = None,
) -> Fleet:
    """The fleet of an input. organization is where objects belong that name none (S7)."""
    state = state or KnownState()
    readings = [(document, read_document(document, organization or "default")) for document in input_.documents]
    folders = source_folders((reading.object for _, reading in readings), input_.documents)
    naming = {document.origin.file for document, reading in readings if names_folder(reading.object)}
    kept = [
        (document, reading)
        for document, reading in readings
        if document.origin.file in naming or not below(document.origin.file, folders)
    ]
    diagnostics = [each for each in input_.diagnostics if each.at is None or not below(_file(each), folders)]
    diagnostics += [each for _, reading in kept for each in reading.diagnostics]
    objects = [each for _, reading in kept for each in (reading.object, *reading.also) if each is not None]
    brought = read_catalogs(objects, elsewhere, input_.locator)
    diagnostics += brought.diagnostics
    snapshot = assemble([*objects, *brought.definitions], at, state, diagnostics)
    fleet = Fleet(input_, snapshot, state, tuple(diagnostics), strict, brought, elsewhere)
    if elsewhere is not None and elsewhere.looks:
        elsewhere.look(fleet._definitions_in_use())
    return replace(fleet, snapshot=fleet._with_bytes())


def _file(diagnostic: Diagnostic) -> str:
    at = diagnostic.at
    assert at is not None
    return at.origin.file if isinstance(at, At) else at.file
