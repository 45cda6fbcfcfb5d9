"""Values that people write: paths, exactly one source, no contradictions, declared options, their rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import UNSET

from fleetform.engine.check.report import Report
from fleetform.engine.versions.migrations import migrations_to
from fleetform.model.kinds.base import OptionValue, OptionValues
from fleetform.model.kinds.definition import Option
from fleetform.model.kinds.preset import OverrideItem
from fleetform.model.objects import Path
from fleetform.model.results.decisions import Revision, Steps
from fleetform.model.shape import did_you_mean
from fleetform.syntax.cel import ExpressionError, compile_expression
from fleetform.syntax.option_paths import PathError, normal_form, parse_path, text_of
from fleetform.syntax.option_rules import breaks_rules, is_secret_reference, kind_of
from fleetform.syntax.trees import same_value
from fleetform.syntax.variables import variable_references_in
from fleetform.syntax.versions import parse_version


class LocatedValue(NamedTuple):
    """One path and value as they stand in an object."""

    text: str
    place: Path
    key: str
    item: OptionValue | OverrideItem

    @property
    def name_place(self) -> Path:
        return (*self.place, self.key) if self.key else self.place

    @property
    def strategy(self) -> str:
        return getattr(self.item, "strategy", None) or "Replace"


def written_values(values: OptionValues | None, collection: Path) -> list[LocatedValue]:
    if isinstance(values, dict):
        pairs = sorted(values.items())
        return [LocatedValue(name, (*collection, name), "", OptionValue(name, value)) for name, value in pairs]
    return [LocatedValue(each.name, (*collection, index), "name", each) for index, each in enumerate(values or [])]


def lint_written(report: Report, written: Sequence[LocatedValue]) -> list[tuple[LocatedValue, Steps]]:
    """Check what stands in one list by itself; returns what can be read, for the checks that need definitions."""
    readable = []
    for each in written:
        try:
            readable.append((each, parse_path(each.text)))
        except PathError as error:
            # Where such a name is accepted its value goes nowhere (S54).
            add = report.error if not report.object.conventions.lenient else report.warn
            add("bad-path", error.message, "write a.b, a.b[0] or /a/b/0", *each.name_place)
        _lint_sources(report, each)
    _lint_contradictions(report, readable)
    return readable


def _lint_sources(report: Report, each: LocatedValue) -> None:
    item = each.item
    if item.value is None:
        by_override = report.object.ref.kind == "PluginOverride"
        remove, leave_out = "write strategy: Remove to remove a value", "leave the option out, or give it a value"
        hint = remove if by_override else leave_out
        report.error("null-value", f"{each.text} cannot be null", hint, *value_place(each))
        return
    sources = {"value": item.value is not UNSET, "valueFrom": item.value_from is not None}
    sources["expression"] = item.expression is not None
    given = [name for name, present in sources.items() if present]
    if each.strategy == "Remove":
        if given:
            report.error("exactly-one", f"Remove takes no {given[0]}", "drop it", *each.place, given[0])
    elif len(given) > 1:
        message = f"{each.text} has {' and '.join(given)}"
        report.error("exactly-one", message, "keep one of them", *each.place, given[1])
    elif not given and not report.object.conventions.lenient:
        # In other systems a value may come from what Fleetform does not read, which was said where it was read.
        message = f"{each.text} has no value"
        report.error("exactly-one", message, "add value, valueFrom or expression", *each.place)
    if item.value_from is not None and item.value_from.secret is None:
        report.error("missing-field", "valueFrom needs the field secret", "add secret", *each.place, "valueFrom")
    if each.strategy == "Merge" and item.value is not UNSET and not isinstance(item.value, dict):
        report.error("bad-value", f"Merge needs a map for {each.text}", "use Replace", *value_place(each))
    if item.expression is not None:
        _lint_expression(report, each, item.expression)


def _lint_expression(report: Report, each: LocatedValue, expression: str) -> None:
    conventions = report.object.conventions
    more = (conventions.injected.at[0],) if conventions.injected is not None else ()
    try:
        compile_expression(expression, more)
    except ExpressionError as error:
        # The option may be a secret, and with it what is written here.
        message = f"the expression of {each.text} cannot be read: {error.unquoted}"
        hint = "it is CEL over cluster, organization and definition"
        if not conventions.lenient:
            report.error("bad-expression", message, hint, *each.place, "expression")
        elif "${" not in expression:
            # One with a placeholder in it was reported when it was read. Either blocks the plugins that it is for.
            report.warn("bad-expression", message, "fix the expression", *each.place, "expression")


def value_place(each: LocatedValue) -> Path:
    if not each.key:
        return each.place
    return (*each.place, "expression" if each.item.expression is not None else "value")


def _lint_contradictions(report: Report, readable: Sequence[tuple[LocatedValue, Steps]]) -> None:
    """One path has one value in one object; a path and another inside it would let list order decide (R0-6, R0-7)."""
    first: dict[tuple[str, ...], LocatedValue] = {}
    for each, steps in readable:
        other = first.setdefault(normal_form(steps), each)
        related = (report.object.at(*other.name_place),)
        if other is not each and _same(other.item, each.item):
            message = f"{each.text} is set twice, to the same value"
            report.warn("repeated-value", message, "drop one of them", *each.name_place, related=related)
        elif other is not each:
            what = f"{report.object.ref.kind} {report.object.ref.name}"
            message = f"{what} gives {text_of(parse_path(other.text))} two values"
            report.error("conflicting-values", message, "keep one of them", *each.name_place, related=related)
    order = {form: position for position, form in enumerate(first)}
    for form in first:
        for length in range(1, len(form)):
            outer = form[:length]
            if outer in first:
                earlier, later = (first[each] for each in sorted((outer, form), key=order.__getitem__))
                message = f"{earlier.text} and {later.text} overlap: one lies inside the other"
                related = (report.object.at(*earlier.name_place),)
                report.error(
                    "conflicting-values", message, "write them as one value", *later.name_place, related=related
                )


def _same(one: OptionValue | OverrideItem, other: OptionValue | OverrideItem) -> bool:
    return (
        same_value(one.value, other.value)
        and one.value_from == other.value_from
        and one.expression == other.expression
        and getattr(one, "strategy", None) == getattr(other, "strategy", None)
    )


# ---- Against definitions


def option_names(revisions: Iterable[Revision]) -> list[str]:
    return sorted({option.name for revision in revisions for option in revision.options.values()})


def lint_rules(
    report: Report, each: LocatedValue, steps: Steps, revisions: Sequence[Revision], binds: bool = False
) -> bool:
    """Check a value against every revision that declares its option; False if none does.

    binds: variables are filled in, so that what a value with references becomes is decided on each cluster.
    """
    found = [match for revision in revisions if (match := revision.find(steps)) is not None]
    if not found:
        # An option of versions that are not in the input any more: migrations say what became of it.
        moved = migrations_to(sorted(revisions, key=lambda one: parse_version(one.version))).moved(steps)
        if moved == steps:
            return False
        message, hint = f"{each.text} was removed; the value is left out", "drop it"
        if moved is not None:
            message = f"{each.text} is {text_of(moved)} now; the value is migrated in memory"
            hint = "write it as it is now"
        report.warn("deprecated-option", message, hint, *each.name_place)
        return True
    secret = any(option.type == "secret" for option, _ in found)
    problems = [misfit(option, inside, each.item.value, each.strategy, secret) for option, inside in found]
    filled_in = binds and each.item.value is not UNSET and bool(variable_references_in(each.item.value))
    if all(problems) and not filled_in:
        # Wrong everywhere is an error; wrong for some revisions is a gate there (S13).
        report.error("wrong-type", str(problems[0]), "fix the value", *value_place(each))
    written = (each.item.value is not UNSET and not filled_in) or each.item.expression is not None
    if secret and written and each.strategy != "Remove" and not is_secret_reference(each.item.value):
        add = report.error if report.object.conventions.refuses_plain_secrets else report.warn
        message = f"{each.text} is a secret, and is written here in plain text"
        add("plain-secret", message, "keep it in a Secret, and use valueFrom.secret", *value_place(each))
    if all(option.deprecated is not None for option, _ in found):
        replacement = next((option.deprecated.replaced_by for option, _ in found if option.deprecated), None)
        hint = f"use {replacement}" if replacement else "drop it"
        report.warn("deprecated-option", f"{found[-1][0].name} is deprecated", hint, *each.name_place)
    return True


def misfit(option: Option, inside: Steps, value: object, strategy: str | None, secret: bool) -> str | None:
    """Why a value cannot be written for an option, or inside it; None if it can, or is not known here."""
    if inside:
        if option.type in ("map", "list", "any"):
            return None
        return f"there is no {text_of(inside)} inside {option.name}, which is {kind_of(option)}"
    if value is UNSET or value is None or strategy == "Remove":
        return None
    if strategy == "Merge" and option.type not in ("map", "any"):
        return f"Merge needs a map option, and {option.name} is {kind_of(option)}"
    return breaks_rules(option, value, secret)


def report_undeclared(
    report: Report, each: LocatedValue, definition: str, names: list[str], error: bool = True
) -> None:
    message = f"{definition} has no option {each.text}"
    some = f"it has {', '.join(names[:8])}{', …' if len(names) > 8 else ''}" if names else "it has no options"
    add = report.error if error else report.warn
    add("undeclared-option", message, did_you_mean(each.text, names, some), *each.name_place)
