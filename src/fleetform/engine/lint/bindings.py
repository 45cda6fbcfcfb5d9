"""Bindings that people write: one source each, no name twice, no cycles, no mentions where they do not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from fleetform.engine.envsubst import is_name_of_variable
from fleetform.engine.expand import mentions_in, split_mentions
from fleetform.engine.given import is_given
from fleetform.engine.lint.report import Report
from fleetform.engine.programs import Program, Written, in_force, written_bindings
from fleetform.model.kinds.definition import ObjectFieldRef, PluginDefinitionSpec
from fleetform.model.kinds.preset import Binding
from fleetform.model.objects import Path

_SOURCES = ("value", "objectFieldRef", "clusterFieldRef", "pluginOutputRef")
# Where mentions count (R3-22); the last step of a path says what is written there.
_COUNTED = frozenset({"controlPlaneBindings", "bindings", "substitute", "optionValues"})
_BLOCKS = ("clusterOptionOverrides", "clusterOverrides")


def lint_bindings(report: Report) -> None:
    """Check the names of a preset or a Plugin."""
    _lint_substitute(report)
    if not in_force(report.object):
        _lint_without_section(report)
        return
    program = Program(report.object)
    seen: dict[str, Written] = {}
    for each in written_bindings(report.object):
        _lint_binding(report, each, program)
        first = seen.setdefault(each.binding.name, each)
        if first is not each:
            related = (report.object.at(*first.path, "name"),)
            message = f"{each.binding.name} is bound twice"
            report.error("duplicate-object", message, "rename one", *each.path, "name", related=related)
    for cycle in program.cycles:
        places = tuple(report.object.at(*program.written[name].path) for name in cycle[1:])
        message = f"the bindings {' → '.join([*cycle, cycle[0]])} mention each other in a circle"
        at = program.written[cycle[0]].path
        report.error("binding-cycle", message, "break it at one of them", *at, related=places)
    for name, mentioned in program.crossings:
        message = f"{name} is resolved in the control plane, and mentions {mentioned}, which is read on the cluster"
        related = (report.object.at(*program.written[mentioned].path),)
        hint = f"move {name} to bindings, or {mentioned} to controlPlaneBindings"
        report.error("mentions-downstream", message, hint, *program.written[name].path, related=related)
    _lint_aggregates(report, program)
    _lint_text(report, program)


def _lint_binding(report: Report, written: Written, program: Program) -> None:
    binding, path = written.binding, written.path
    given = (binding.value is not UNSET, *(each is not None for each in _references(binding)))
    if sum(given) != 1:
        what = " and ".join(name for name, is_given_ in zip(_SOURCES, given, strict=True) if is_given_) or "no source"
        message = f"the binding {binding.name} needs exactly one source, and has {what}"
        report.error("exactly-one", message, f"keep one of {', '.join(_SOURCES)}", *path)
    if binding.value is None:
        report.error("null-value", f"{binding.name} cannot be null", "leave the binding out", *path, "value")
    # An assemblage brings along what was given where it was made.
    brought = program.dialect == "fleeet" and report.object.ref.kind == "Plugin"
    if is_given(binding.name, program.dialect) and not brought:
        message = f"{binding.name} is given, and cannot be bound"
        report.error("given-name", message, "choose another name", *path, "name")
    if ")" in binding.name or "$(" in binding.name:
        report.error("bad-name", f"{binding.name} can never be mentioned", "leave out ) and $(", *path, "name")
    if binding.object_field_ref is not None and written.section == "control-plane":
        _lint_reference(report, binding.object_field_ref, (*path, "objectFieldRef"))


def _references(binding: Binding) -> tuple[Any, ...]:
    return binding.object_field_ref, binding.cluster_field_ref, binding.plugin_output_ref


def _lint_reference(report: Report, ref: ObjectFieldRef, path: Path) -> None:
    """Nothing is read across organizations; whether it is there is not told either (B15)."""
    namespace, home = ref.namespace, report.object.ref.organization
    if namespace is not None and namespace != home and not mentions_in(namespace):
        message = f"objects of {namespace} are out of reach"
        report.error("out-of-reach", message, f"refer to objects of {home}", *path, "namespace")


def _lint_aggregates(report: Report, program: Program) -> None:
    """A list or a map within a text has no form of its own (S37)."""
    aggregates = {
        name
        for name, each in program.written.items()
        if isinstance(each.binding.value, (dict, list)) and each.binding.as_ is None
    }
    if not aggregates:
        return
    for path, text in _counted_texts(report):
        parts = split_mentions(text, program.dialect)
        if len(parts) == 3 and not parts[0] and not parts[2]:
            continue
        for name in aggregates.intersection(parts[1::2]):
            message = f"$({name}) stands within text, but is a map or a list"
            hint = "mention it alone, or bind it with as: json, yaml or string"
            related = (report.object.at(*program.written[name].path),)
            report.error("bad-value", message, hint, *path, related=related)


def _lint_substitute(report: Report) -> None:
    written = report.object.spec.substitute
    for index, entry in enumerate(written if isinstance(written, list) else ()):
        if len(entry) != 1 and not (set(entry) <= {"name", "value"} and "name" in entry):
            message = "an entry of substitute is one name with its value, or name and value"
            report.error("bad-value", message, "write {NAME: value}", "spec", "substitute", index)
        elif set(entry) == {"name"} and not in_force(report.object):
            message = f"{entry['name']} is bound nowhere"
            report.error("bad-value", message, "bind it, or give it a value", "spec", "substitute", index)
    names = written if isinstance(written, dict) else {}
    for name in names:
        if not is_name_of_variable(name):
            message = f"{name} is no name of a variable"
            report.error("bad-name", message, "use letters, digits and _", "spec", "substitute", name)


# ---- Mentions where they do not count


def _lint_text(report: Report, program: Program) -> None:
    names = set(program.names)
    for path, text in _uncounted_texts(report):
        for name in mentions_in(text, dialect=program.dialect):
            if name in names or is_given(name, program.dialect):
                message = f"$({name}) is text here"
                hint = "mentions count in option values, substitute and references of bindings"
                report.warn("mention-is-text", message, hint, *path)


def _lint_without_section(report: Report) -> None:
    """Where nothing is bound mentions are text, also those of given names; somebody may have meant otherwise."""
    if report.object.dialect != "native":
        return
    for path, text in _counted_texts(report):
        name = next((each for each in mentions_in(text) if is_given(each)), None)
        if name is not None:
            message = f"$({name}) is text here: mentions count only beside a section of bindings"
            report.warn("mention-is-text", message, "add controlPlaneBindings: [] to the spec", *path)


def lint_defaults(report: Report, spec: PluginDefinitionSpec) -> None:
    """A definition's defaults are text: whoever installs it may bind other names than its author thought of."""
    for index, option in enumerate(spec.options or []):
        default = option.default if option.default is not UNSET else None
        name = next((each for each in mentions_in(default) if is_given(each)), None)
        if name is not None:
            message = f"$({name}) is text in a default"
            hint = "let presets set the option, where mentions count"
            report.warn("mention-is-text", message, hint, "spec", "options", index, "default")


def _counted_texts(report: Report) -> Iterator[tuple[Path, str]]:
    return ((path, text) for path, text, counted in _spec_texts(report) if counted)


def _uncounted_texts(report: Report) -> Iterator[tuple[Path, str]]:
    return ((path, text) for path, text, counted in _spec_texts(report) if not counted)


def _spec_texts(report: Report) -> Iterator[tuple[Path, str, bool]]:
    """Every text of a spec that holds a dollar, its place, and whether mentions count there."""
    yield from _texts(msgspec.to_builtins(report.object.spec), ("spec",), False)


def _texts(tree: Any, path: Path, counted: bool) -> Iterator[tuple[Path, str, bool]]:
    if isinstance(tree, str):
        if "$(" in tree:
            yield path, tree, counted
    elif isinstance(tree, dict):
        for key, each in tree.items():
            if "$(" in key:
                yield path, key, False
            inside = counted or key in _COUNTED or (key == "overrides" and len(path) > 1 and path[-2] in _BLOCKS)
            yield from _texts(each, (*path, key), inside)
    elif isinstance(tree, list):
        for index, each in enumerate(tree):
            yield from _texts(each, (*path, index), counted)
