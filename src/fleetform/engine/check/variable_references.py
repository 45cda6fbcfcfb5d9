"""`$(…)` in places where it is text, and somebody may have meant a variable reference (R3-22, B6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from fleetform.engine.bindings.builtin import is_built_in
from fleetform.engine.bindings.compile import Program
from fleetform.engine.check.report import Report
from fleetform.engine.check.values import LocatedValue, value_place
from fleetform.model.kinds.definition import PluginDefinitionSpec
from fleetform.model.objects import Object, Path
from fleetform.syntax.variables import variable_references_in

# A place, its text, and whether variables are filled in there.
_Text = tuple[Path, str, bool]

# All that is written below these counts; of an option's entry only its value does.
_COUNTED = frozenset({"controlPlaneBindings", "bindings", "substitute"})
_BLOCKS = ("clusterOptionOverrides", "clusterOverrides")
_FILLED_IN = "variables are filled in only in option values, substitute and references of bindings"
_IN_EXPRESSION = "an expression reads the cluster by itself: cluster.name, cluster.labels, cluster.facts"


def lint_text(report: Report, program: Program) -> None:
    """References to known variables in what a section of bindings does not reach."""
    names = set(program.names)
    for path, text, counted in _texts_of(report.object):
        for name in variable_references_in(text, syntax=program.syntax) if not counted else ():
            if name in names or is_built_in(name, program.syntax):
                hint = _IN_EXPRESSION if path[-1] == "expression" else _FILLED_IN
                report.warn("mention-is-text", f"$({name}) is text here", hint, *path)


def lint_without_section(report: Report) -> None:
    """Without a section of bindings `$(…)` is text, also with the name of a built-in variable."""
    if report.object.conventions.lenient:
        return
    for path, text, counted in _texts_of(report.object):
        if counted:
            why = "variables are filled in only beside a section of bindings"
            _warn_of_built_in(report, text, path, why, "add controlPlaneBindings: [] to the spec")
        elif path[-1] == "expression":
            _warn_of_built_in(report, text, path, "", _IN_EXPRESSION)


def lint_values_for_others(report: Report, written: Iterable[LocatedValue], why: str, hint: str) -> None:
    """Values of an override, or of a Plugin beside a preset; why they are text, where those that get them bind nothing.

    Their expressions are text to bindings in any case.
    """
    for each in written:
        if why:
            _warn_of_built_in(report, each.item.value, value_place(each), why, hint)
        _warn_of_built_in(report, each.item.expression, (*each.place, "expression"), "", _IN_EXPRESSION)


def lint_option_defaults(report: Report, spec: PluginDefinitionSpec) -> None:
    """A definition's defaults are text: whoever installs it may bind other variables than its author thought of."""
    for index, option in enumerate(spec.options or []):
        default = option.default if option.default is not UNSET else None
        name = next(iter(variable_references_in(default)), None)
        # In other systems nothing of this form is ever filled in.
        if name is not None and (is_built_in(name) or not report.object.conventions.lenient):
            message = f"$({name}) is text in a default"
            hint = "let presets set the option: in their values variables are filled in"
            report.warn("mention-is-text", message, hint, "spec", "options", index, "default")


def _warn_of_built_in(report: Report, tree: object, path: Path, why: str, hint: str) -> None:
    name = next((each for each in variable_references_in(tree) if is_built_in(each)), None)
    if name is not None:
        message = f"$({name}) is text here{': ' if why else ''}{why}"
        report.warn("mention-is-text", message, hint, *path)


# ---- Texts of a spec


def counted_texts(object_: Object[object]) -> Iterator[tuple[Path, str]]:
    """The texts of an object in which variables may be filled in."""
    return ((path, text) for path, text, counted in _texts_of(object_) if counted)


def _texts_of(object_: Object[object]) -> Iterator[_Text]:
    """Every text of a spec that may hold a variable reference."""
    yield from _parts(msgspec.to_builtins(object_.spec), ("spec",))


def _parts(tree: object, path: Path) -> Iterator[_Text]:
    if isinstance(tree, dict):
        for key, each in tree.items():
            yield from _texts(key, path, False)
            if key in _COUNTED:
                yield from _texts(each, (*path, key), True)
            elif key == "optionValues" or (key == "overrides" and (len(path) == 1 or path[-2] in _BLOCKS)):
                yield from _values(each, (*path, key))
            else:
                yield from _parts(each, (*path, key))
    elif isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _parts(each, (*path, index))
    else:
        yield from _texts(tree, path, False)


def _values(tree: object, path: Path) -> Iterator[_Text]:
    """Options by name, or a list of entries."""
    if not isinstance(tree, list):
        yield from _texts(tree, path, True)
        return
    for index, entry in enumerate(tree):
        for key, each in entry.items():
            yield from _texts(each, (*path, index, key), key == "value")


def _texts(tree: object, path: Path, counted: bool) -> Iterator[_Text]:
    if isinstance(tree, str):
        if "$(" in tree:
            yield path, tree, counted
    elif isinstance(tree, dict):
        for key, each in tree.items():
            yield from _texts(key, path, False)
            yield from _texts(each, (*path, key), counted)
    elif isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _texts(each, (*path, index), counted)
