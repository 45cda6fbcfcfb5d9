"""Against: what a change of definitions owes its users (R2-10), from the definitions before it and after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from fleetform.engine.checks import must_be_set
from fleetform.engine.migrate import Migrations, migrations_to
from fleetform.engine.paths import normal_form
from fleetform.engine.version import versions_between
from fleetform.engine.versions import parse_version
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.objects import At
from fleetform.model.results.decisions import Revision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import VersionKey

Name = tuple[str, str]
Versions = Mapping[str, Revision]
FOR_PEOPLE = ("displayName", "description", "icon", "docsURL")


def compare_definitions(
    before: Mapping[Name, Versions], after: Mapping[Name, Versions], rendering_anew: Collection[VersionKey] = ()
) -> Iterator[Diagnostic]:
    """What is wrong with a change of definitions, in the order of their names.

    rendering_anew are the versions whose definition may say the same, and whose source holds other bytes.
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None:
            continue
        if new is None:
            yield _vanished(old[max(old, key=parse_version)])
            continue
        yield from _compare_contents(old, new, rendering_anew)
        yield from _compare_newest(old, new)


def content_of(revision: Revision) -> dict[str, Any]:
    """What makes a version what it is: its whole spec, less what is for people only (S27)."""
    return content_of_spec(revision.object.spec)


def content_of_spec(spec: PluginDefinitionSpec) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(spec).items() if key not in FOR_PEOPLE}


def _vanished(revision: Revision) -> Diagnostic:
    ref = revision.object.ref
    message = f"the definition {ref.name} is gone"
    return Diagnostic("vanished-definition", message, "keep it while anyone uses it", "warning", ref)


def _compare_contents(old: Versions, new: Versions, rendering_anew: Collection[VersionKey]) -> Iterator[Diagnostic]:
    for version in sorted(old.keys() & new.keys(), key=parse_version):
        one, other = old[version], new[version]
        if content_of(one) != content_of(other):
            message = f"{other.object.ref.name} {version} changed, and its version did not"
            hint = f"raise spec.version above {max(old, key=parse_version)}"
            yield _error("changed-without-bump", message, hint, other, "spec", "version")
        elif (other.object.ref, version) in rendering_anew:
            message = f"what {other.object.ref.name} {version} renders changed, and its version did not"
            hint = f"raise spec.version above {max(old, key=parse_version)}"
            yield _error("changed-without-bump", message, hint, other, "spec", "source")


def _compare_newest(old: Versions, new: Versions) -> Iterator[Diagnostic]:
    low, high = max(old, key=parse_version), max(new, key=parse_version)
    if parse_version(high) < parse_version(low):
        message = f"{new[high].object.ref.name} went down from {low} to {high}"
        yield _error("version-went-down", message, f"raise it above {low}", new[high], "spec", "version")
    elif parse_version(high).major == parse_version(low).major and low != high:
        passed = versions_between({**old, **new}, low, high)
        yield from _compare_options(old[low], new[high], migrations_to(passed), _required(passed))


def _required(passed: list[Revision]) -> set[tuple[str, ...]]:
    """Options that a migration says must now be set."""
    steps = [
        each
        for revision in passed
        if revision.object.spec.changes
        for each in revision.object.spec.changes.migrations or []
    ]
    return {tuple(each.require.name.split(".")) for each in steps if each.require is not None}


def _compare_options(
    one: Revision, other: Revision, migrations: Migrations, required: set[tuple[str, ...]]
) -> Iterator[Diagnostic]:
    """Within a major version, nobody's values may stop working."""
    old = {normal_form(steps): option for steps, option in one.options.items()}
    new = {normal_form(steps): option for steps, option in other.options.items()}
    places = {normal_form(steps): index for steps, index in _indexes(other).items()}
    what = f"{other.object.ref.name} {one.version} → {other.version}"
    retyped = {name for name, _ in migrations.retypes}
    moved = dict(migrations.moves)
    for form, option in old.items():
        now = new.get(form)
        if now is None:
            if form not in moved:
                hint = "bump the major version, or say in changes.migrations what becomes of it"
                message = f"{what} removes the option {option.name}"
                yield _error("option-removed", message, hint, other, "spec", "options")
        else:
            yield from _compare_option(what, option, now, other, places[form], form in retyped, form in required)
    renamed = {normal_form(target) for target in moved.values() if target is not None}
    for form, option in new.items():
        if form not in old and form not in renamed and form not in required and must_be_set(option):
            message = f"{what} adds the required option {option.name}"
            hint = "give it a default, bump the major version, or add a require migration"
            yield _error("option-required", message, hint, other, "spec", "options", places[form])


def _compare_option(
    what: str, old: Option, new: Option, revision: Revision, index: int, retyped: bool, required: bool
) -> Iterator[Diagnostic]:
    path = ("spec", "options", index)
    if old.type != new.type and not retyped:
        message = f"{what} makes {new.name} a {new.type} option; it was a {old.type} option"
        hint = "bump the major version, or add a retype migration"
        yield _error("option-retyped", message, hint, revision, *path, "type")
    if must_be_set(new) and not must_be_set(old) and not required:
        message = f"{what} makes the option {new.name} required"
        hint = "give it a default, bump the major version, or add a require migration"
        yield _error("option-required", message, hint, revision, *path)
    if old.required and not new.required:
        message = f"{what} no longer requires the option {new.name}"
        yield _error("requirement-lost", message, "bump the major version", revision, *path)


def _indexes(revision: Revision) -> dict[Any, int]:
    by_name = {option.name: index for index, option in reversed(list(enumerate(revision.object.spec.options or [])))}
    return {steps: by_name[option.name] for steps, option in revision.options.items()}


def _error(code: str, message: str, hint: str, revision: Revision, *path: str | int) -> Diagnostic:
    at: At = revision.object.at(*path)
    return Diagnostic(code, message, hint, "error", revision.object.ref, at)
