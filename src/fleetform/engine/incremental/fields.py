"""Owners whose bindings read an object that changed, or an output of a plugin whose owner did (R3-8)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from fleetform.engine.bindings.compile import Program
from fleetform.engine.incremental.changes import Changes
from fleetform.engine.index.index import Index
from fleetform.engine.layers.owners import Owner
from fleetform.model.kinds.definition import ObjectFieldRef
from fleetform.model.objects import Object, Ref
from fleetform.syntax.variables import variable_references


def owners_reading_changes(changes: Changes, index: Index, before: Index, changed: set[Owner]) -> set[Owner]:
    """Owners that read what changed; changed are those that were found to be reached in other ways."""
    objects = _ChangedObjects(changes)
    if not changed and not objects.anything:
        return set()
    programs = {owner: owner.program for owner in index.owners.values() if owner.program is not None}
    if not programs:
        return set()
    found = {owner for owner, program in programs.items() if objects.reach(program)}
    consumers = {owner: set(program.producers) for owner, program in programs.items()}
    offering = {each for producers in consumers.values() for each in producers}
    for owner in index.owners.values():
        if owner.definition in offering and objects.reach_outputs(index, owner):
            found.add(owner)
    # Outputs may be made of outputs; and any version may be the one that was healthy last.
    edited = {each.ref.name for each in changes.objects("definitions")}
    reached = {*changed, *found}
    while True:
        definitions = edited | {owner.definition for owner in reached}
        more = {owner for owner, producers in consumers.items() if producers & definitions} - reached
        if not more:
            return {each for each in reached if index.owners.get(each.object) is each}
        reached |= more


class _ChangedObjects:
    """What came, went or is another object now: names by namespace and kind."""

    def __init__(self, changes: Changes) -> None:
        self._now = changes.now
        self._clusters = _named(changes.objects("clusters"))
        parts = ("organizations", "definitions", "presets", "plugins", "overrides", "others")
        self._others = _named(changes.objects(*parts))

    @property
    def anything(self) -> bool:
        return bool(self._clusters or self._others)

    def reach(self, program: Program) -> bool:
        """Whether bindings may read what changed; each cluster's own object is looked at with its cluster."""
        return self._reach(program, program.references)

    def reach_outputs(self, index: Index, owner: Owner) -> bool:
        """Whether outputs of an owner's definition may read what changed."""
        revisions = index.definitions.known(owner).values()
        outputs = [each for revision in revisions for each in revision.object.spec.outputs or ()]
        references = [each.object_field_ref for each in outputs if each.object_field_ref is not None]
        return bool(references) and self._reach(owner.program or Program(owner.object), references)

    def _reach(self, program: Program, references: Iterable[ObjectFieldRef]) -> bool:
        return any(self._may_be_read(program, each) for each in references)

    def _may_be_read(self, program: Program, ref: ObjectFieldRef) -> bool:
        if variable_references(ref.kind, syntax=program.syntax):
            return True
        own = ref.kind == "Cluster" and ref.name == "$(CLUSTER_NAME)"
        computed = bool(variable_references(ref.name, syntax=program.syntax))
        for home in program.namespaces:
            names = self._others.get((home, ref.kind), set())
            names = names if own else names | self._clusters.get((home, ref.kind), set())
            # Where the object does not exist the hint lists those of its kind that do, so that each of them counts.
            if names and (computed or ref.name in names or Ref(ref.kind, home, ref.name) not in self._existing):
                return True
        return False

    @cached_property
    def _existing(self) -> set[Ref]:
        return {each.ref for each in self._now.objects}


def _named(objects: Iterable[Object[Any]]) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for each in objects:
        found.setdefault((each.ref.organization, each.ref.kind), set()).add(each.ref.name)
    return found
