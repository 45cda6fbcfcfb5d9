"""What follows from faults that are told where they are to be mended: it is not told again where it shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from fleetform.engine.expand import mentions_in
from fleetform.engine.lint.bindings import aggregates_in_text, wrong_names
from fleetform.engine.lint.mentions import counted_texts
from fleetform.engine.prepare import Prepared
from fleetform.engine.programs import Program
from fleetform.model.objects import At, Object
from fleetform.model.results.decisions import Decisions, PluginDecision


class Consequences:
    """Tells trouble that is new from trouble that bindings were already said to make."""

    def __init__(self, decisions: Decisions) -> None:
        self._prepared: Prepared = decisions.memory
        self._places: dict[tuple[Program, Object[Any]], list[At]] = {}
        self._known: dict[tuple[Program, At], bool] = {}

    def hold(self, plugin: PluginDecision, at: At | None) -> bool:
        """Whether what is wrong at a place, which a plugin got a value from, follows from what is told of its names."""
        program = self._prepared.owners[plugin.target.owner].program
        if program is None or at is None:
            return False
        found = self._known.get((program, at))
        if found is None:
            objects = (plugin.target.owner, plugin.instance, *plugin.shared.overrides)
            at_home = [each for each in objects if each is not None and each.origin is at.origin]
            places = [place for each in at_home for place in self._places_in(each, program)]
            found = any(place.path[: len(at.path)] == at.path for place in places)
            self._known[program, at] = found
        return found

    def _places_in(self, object_: Object[Any], program: Program) -> list[At]:
        found = self._places.get((program, object_))
        if found is None:
            wrong = wrong_names(program, self._null_outputs)
            found = self._places[program, object_] = list(_places(object_, program, wrong))
        return found

    @cached_property
    def _null_outputs(self) -> set[tuple[str, str]]:
        """Outputs that are null in some version, by definition and name."""
        revisions = [each for versions in self._prepared.revisions.values() for each in versions.values()]
        specs = [(each.object.ref.name, each.object.spec) for each in revisions]
        return {(name, each.name) for name, spec in specs for each in spec.outputs or () if each.value is None}


def _places(object_: Object[Any], program: Program, wrong: set[str]) -> Iterator[At]:
    """Where an object mentions a name that cannot stand for anything, or one that cannot stand there."""
    if object_ is program.object:
        yield from (object_.at(*program.written[name].path) for name in wrong)
        yield from (object_.at(*path) for path, _ in aggregates_in_text(program))
    for path, text in counted_texts(object_) if wrong else ():
        if not wrong.isdisjoint(mentions_in(text, dialect=program.dialect)):
            yield object_.at(*path)
