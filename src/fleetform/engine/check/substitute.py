"""Variables of substitute: one name each, none twice, and values that fit into a text."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.bindings.compile import binds_variables
from fleetform.engine.check.report import Report
from fleetform.model.kinds.preset import OwnerSpec
from fleetform.model.objects import At, Object, Path
from fleetform.syntax.envsubst import is_name_of_variable

_PATH: Path = ("spec", "substitute")
# A name and its place, a value and its place.
_Variable = tuple[str, Path, object, Path]


def lint_substitute(report: Report, owner: Object[OwnerSpec]) -> None:
    first: dict[str, At] = {}
    for name, place, value, value_place in _variables(report, owner):
        if not is_name_of_variable(name):
            report.error("bad-name", f"{name} is not a variable name", "use letters, digits and _", *place)
        if name in first:
            message = f"the variable {name} is set twice"
            report.error("duplicate-object", message, "keep one of them", *place, related=(first[name],))
        first.setdefault(name, report.object.at(*place))
        if value is None:
            report.error("null-value", f"{name} cannot be null", "leave the variable out", *value_place)
        elif isinstance(value, (dict, list)):
            what = "a map" if isinstance(value, dict) else "a list"
            hint = "bind it with as: json or yaml, and refer to that"
            report.error("bad-value", f"the variable {name} is text, and cannot be {what}", hint, *value_place)


def _variables(report: Report, owner: Object[OwnerSpec]) -> Iterator[_Variable]:
    """The entries that can be read as a variable; the others are reported."""
    written = owner.spec.substitute
    if isinstance(written, dict):
        for name, value in written.items():
            yield name, (*_PATH, name), value, (*_PATH, name)
        return
    for index, entry in enumerate(written or []):
        path: Path = (*_PATH, index)
        if "name" in entry and set(entry) <= {"name", "value"}:
            name = entry["name"]
            if not isinstance(name, str):
                message = "the name of a variable is text"
                report.error("bad-value", message, "write {name: NAME, value: …}, or {NAME: value}", *path, "name")
                continue
            if "value" not in entry and not binds_variables(owner):
                report.error("bad-value", f"{name} is not bound", "bind it, or give it a value", *path)
            yield name, (*path, "name"), entry.get("value", ""), (*path, "value")
        elif len(entry) == 1:
            name, value = next(iter(entry.items()))
            yield name, (*path, name), value, (*path, name)
        else:
            message = "an entry of substitute is one name with its value, or name and value"
            report.error("bad-value", message, "write {NAME: value}", *path)
