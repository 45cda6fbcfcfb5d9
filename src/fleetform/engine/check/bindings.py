"""Bindings that people write: one source each, no name twice, no cycles, no variable references that are text."""

from __future__ import annotations

from fleetform.engine.bindings.builtin import is_built_in
from fleetform.engine.bindings.compile import (
    SOURCES,
    LocatedBinding,
    Program,
    binds_variables,
    sources_of,
    written_bindings,
)
from fleetform.engine.check.report import Report
from fleetform.engine.check.substitute import lint_substitute
from fleetform.engine.check.variable_references import counted_texts, lint_text, lint_without_section
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import Object
from fleetform.syntax.variables import split_references


def lint_bindings(report: Report, owner: Object[OwnerSpec]) -> None:
    """Check the variables of a preset or a Plugin."""
    lint_substitute(report, owner)
    if not binds_variables(owner):
        lint_without_section(report)
        return
    program = Program(owner)
    seen: dict[str, LocatedBinding] = {}
    for each in written_bindings(owner):
        _lint_binding(report, each, program)
        first = seen.setdefault(each.binding.name, each)
        if first is not each:
            related = (report.object.at(*first.path, "name"),)
            message = f"{each.binding.name} is bound twice"
            report.error("duplicate-object", message, "rename one", *each.path, "name", related=related)
    for cycle in program.cycles:
        places = tuple(report.object.at(*program.bindings[name].path) for name in cycle[1:])
        message = f"the bindings {' → '.join([*cycle, cycle[0]])} refer to each other in a cycle"
        if len(cycle) == 1:
            message = f"the binding {cycle[0]} refers to itself"
        at = program.bindings[cycle[0]].path
        report.error("binding-cycle", message, "break it at one of them", *at, related=places)
    for name, other in program.crossings:
        message = f"{name} is resolved in the control plane, and refers to {other}, which is read on the cluster"
        related = (report.object.at(*program.bindings[other].path),)
        hint = f"move {name} to bindings, or {other} to controlPlaneBindings"
        report.error("mentions-downstream", message, hint, *program.bindings[name].path, related=related)
    _lint_aggregates(report, program)
    lint_text(report, program)


def _lint_binding(report: Report, written: LocatedBinding, program: Program) -> None:
    binding, path = written.binding, written.path
    sources = sources_of(binding)
    if len(sources) != 1:
        what = " and ".join(sources) or "no source"
        message = f"the binding {binding.name} needs exactly one source, and has {what}"
        report.error("exactly-one", message, f"keep one of {', '.join(SOURCES)}", *path)
    elif binding.value is None:
        report.error("null-value", f"{binding.name} cannot be null", "leave the binding out", *path, "value")
    if binding.default is None:
        message = f"the default of {binding.name} cannot be null"
        report.error("null-value", message, "write optional: true to leave the variable out", *path, "default")
    # An assemblage of Fleeet brings values of built-in variables along, from where it was made.
    may_bind = report.object.conventions.brings_variables and report.object.ref.kind == "Plugin"
    if is_built_in(binding.name, program.syntax) and not may_bind:
        message = f"{binding.name} is a built-in variable, and cannot be bound"
        report.error("given-name", message, "choose another name", *path, "name")
    if ")" in binding.name or "$(" in binding.name:
        report.error("bad-name", f"{binding.name} can never be referred to", "leave out ) and $(", *path, "name")
    namespace = program.out_of_reach(written)
    if namespace is not None:
        message = f"objects of {namespace} are out of reach"
        hint = f"refer to objects of {report.object.ref.organization}"
        report.error("out-of-reach", message, hint, *path, "objectFieldRef", "namespace")


def _lint_aggregates(report: Report, program: Program) -> None:
    """A list or a map may be a whole value; within a text it has no form of its own (S37)."""
    for path, text in counted_texts(program.object) if program.aggregates else ():
        parts = split_references(text, program.syntax)
        if len(parts) == 3 and not parts[0] and not parts[2]:
            continue
        for name in sorted(program.aggregates.intersection(parts[1::2])):
            message = f"$({name}) is used inside text, but is a map or a list"
            hint = "refer to it alone, or bind it with as: json, yaml or string"
            related = (report.object.at(*program.bindings[name].path),)
            report.error("bad-value", message, hint, *path, related=related)
