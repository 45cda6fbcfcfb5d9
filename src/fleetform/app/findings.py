"""What is wrong with a fleet, and the order in which it is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property, partial

from fleetform.engine.check import lint_all_but_overrides
from fleetform.engine.check.checked import CheckedObjects
from fleetform.engine.check.concerning import deciding_objects, lint_concerning
from fleetform.engine.check.decided import lint_decisions, lint_effects
from fleetform.engine.check.overrides import lint_override
from fleetform.engine.decisions import Decisions
from fleetform.engine.report.effects import Effects
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.objects import At
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic, Place
from fleetform.ports.inputs import Locator

_WITHOUT_EFFECT = ("dead-override", "shadowed-override", "nothing-selected")
# What may be missing only because it cannot be read (S64).
_WITHOUT_VALUE = ("unbound", "missing-required")


class Findings:
    """All there is to say about what was read and decided.

    reading is what reading said. catalog_files are the files of catalogs: what is wrong there is for others to fix.
    checked has what was found before.
    """

    def __init__(
        self,
        decisions: Decisions,
        reading: Sequence[Diagnostic],
        locator: Locator,
        catalog_files: Set[str] = frozenset(),
        strict: bool = False,
        checked: CheckedObjects | None = None,
    ) -> None:
        self._checked = checked or CheckedObjects()
        self._decisions, self._reading, self._locator = decisions, reading, locator
        self._catalog_files, self._strict = catalog_files, strict

    @cached_property
    def effects(self) -> Effects:
        """What every override did."""
        return Effects(self._decisions)

    @cached_property
    def of_objects(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the objects themselves: enough to know whether the input is valid."""
        return self.in_order([*self._checks, *(each for each in self._shown if each.severity == "error")])

    @cached_property
    def all(self) -> tuple[Diagnostic, ...]:
        """Everything there is to say, in file order."""
        # A value that is wrong on every cluster was reported where it is written.
        known = {At(at.origin, at.path[:-1]) for at in map(_wrong_value_at, self._checks) if at is not None}
        errors = [each for each in self._checks if each.severity == "error"]
        # What an error keeps from being decided only seems to be without effect: in its organization (None: in any),
        # and for objects that set unknown options.
        unsure = {each.object.organization if each.object else None for each in errors}
        odd = {each.object for each in self._checks if each.code == "undeclared-option"}
        unread = self._decisions.index.snapshot.unreadable
        homes = {ref.organization for ref in unread.refs}

        def is_sure(each: Diagnostic) -> bool:
            home = each.object.organization if each.object is not None else None
            if each.code in _WITHOUT_VALUE:
                return not unread.texts and not homes & {home, PLATFORM_NAMESPACE}
            return not unsure & {home, PLATFORM_NAMESPACE, None} and each.object not in odd

        named = (*_WITHOUT_EFFECT, *_WITHOUT_VALUE)
        effects = [
            each
            for each in (*self._shown, *lint_effects(self._decisions, self.effects))
            if _wrong_value_at(each) not in known and (each.code not in named or each.object is None or is_sure(each))
        ]
        return self.in_order([*self._checks, *effects])

    @cached_property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What keeps a fleet from being decided; with strict, every warning, too."""
        found = self.all if self._strict else self.of_objects
        return tuple(each for each in found if each.severity == "error")

    def about(self, plugin: PluginDecision) -> tuple[Diagnostic, ...]:
        """What is wrong with the objects that decide one plugin; of others, errors only that may concern it."""
        refs = {each.ref for each in deciding_objects(plugin)}
        # What stands in a text that cannot be read, nobody knows.
        anything = [each for each in self._reading if each.object is None and each.severity == "error"]
        read = [*anything, *(each for each in self._reading if each.object in refs)]
        return self.in_order([*read, *self._for_us(lint_concerning(self._decisions, plugin, self._checked), [plugin])])

    def in_order(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Findings in file order; with strict, warnings are errors."""
        # Under --strict a tie that only names decide, and every other warning, is an error.
        raised = [each.as_error() if self._strict and each.severity == "warning" else each for each in found]
        order = []
        for each in raised:
            place = self._locator.place(each.at) if each.at is not None else Place("", 0, 0)
            order.append((place.file, place.line, place.column, each.code, each.message))
        return tuple(each for _, each in sorted(zip(order, raised, strict=True), key=lambda pair: pair[0]))

    @cached_property
    def _checks(self) -> list[Diagnostic]:
        """What reading said, and what is wrong with objects one by one."""
        decisions, index = self._decisions, self._decisions.index
        checks = [*self._checked.of(decisions, "all but overrides", partial(lint_all_but_overrides, index))]
        for override in index.snapshot.overrides.values():
            checks += self._checked.of(decisions, override, partial(lint_override, override, index, index.snapshot.at))
        return [*self._reading, *self._for_us(checks, decisions.plugins.values())]

    @cached_property
    def _shown(self) -> list[Diagnostic]:
        """What decisions show that may make the input invalid."""
        return list(lint_decisions(self._decisions, self._checked.gathered(self._decisions)))

    def _for_us(self, found: Iterable[Diagnostic], plugins: Iterable[PluginDecision]) -> Iterator[Diagnostic]:
        """Findings that this fleet's people can act on: of a catalog's versions what plugins want, as warnings."""
        wanted = ((each.upgrade or each).target.revision for each in (plugins if self._catalog_files else ()))
        used = {each.object.origin for each in wanted if each is not None}
        for each in found:
            if not isinstance(each.at, At) or each.at.origin.file not in self._catalog_files:
                yield each
            elif each.severity != "info" and each.at.origin in used:
                yield replace(each, severity="warning")


def _wrong_value_at(diagnostic: Diagnostic) -> At | None:
    return diagnostic.at if diagnostic.code == "wrong-type" and isinstance(diagnostic.at, At) else None


def file_of(diagnostic: Diagnostic) -> str:
    """The file that a finding is about; empty if it is about none."""
    at = diagnostic.at
    return at.origin.file if isinstance(at, At) else at.file if at is not None else ""


def told_once(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings without those that say the same of the same place: one document may make several objects."""
    told: dict[tuple[object, ...], Diagnostic] = {}
    for each in found:
        told.setdefault((each.code, each.severity, each.message, each.at), each)
    return list(told.values())
