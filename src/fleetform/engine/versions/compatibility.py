"""Compatibility: what a change of definitions must keep for its users (R2-10); definitions before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from fleetform.engine.versions.migrations import Form, migrations_to
from fleetform.model.kinds.definition import Option, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Revision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.snapshot import VersionKey
from fleetform.syntax.hashing import content_hash
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.option_rules import must_be_set
from fleetform.syntax.versions import parse_version, same_version

# An organization and a name.
_Definition = tuple[str, str]
Versions = Mapping[str, Revision]
FOR_PEOPLE = ("displayName", "description", "icon", "docsURL", "docMarkDownUrl")


def compare_definitions(
    before: Mapping[_Definition, Versions],
    after: Mapping[_Definition, Versions],
    rendering_anew: Collection[VersionKey] = (),
) -> Iterator[Diagnostic]:
    """What is wrong with a change of definitions, in the order of their names.

    rendering_anew are the versions whose definition may be the same, and whose source has other bytes.
    """
    for name in sorted(before):
        old, new = before[name], after.get(name)
        low = max(old, key=parse_version)
        if new is None:
            ref = old[low].object.ref
            message, hint = f"the definition {ref.name} is gone", "keep it while anyone uses it"
            yield Diagnostic("vanished-definition", message, hint, "warning", ref)
            continue
        yield from _compare_contents(old, new, rendering_anew)
        high = max(new, key=parse_version)
        if parse_version(high) < parse_version(low) and not new[high].object.conventions.unversioned:
            message = f"{new[high].object.ref.name} went down from {low} to {high}"
            yield _error("version-went-down", message, f"raise it above {low}", new[high], "spec", "version")
        yield from _compare_published(old, new)


def definition_hash(object_: Object[PluginDefinitionSpec]) -> str:
    """A hash of what makes a version what it is: its whole spec as written, less what is for people only (S27).

    How the version is spelt does not count: v1.0.0 is 1.0.0.
    """
    written = object_.content if isinstance(object_.content, dict) else msgspec.to_builtins(object_.spec)
    return content_hash({key: value for key, value in written.items() if key not in (*FOR_PEOPLE, "version")})


def _compare_contents(old: Versions, new: Versions, rendering_anew: Collection[VersionKey]) -> Iterator[Diagnostic]:
    for version in sorted(new, key=parse_version):
        # Builds of one version are one version: what differs between them has no number of its own.
        same = version if version in old else next((each for each in old if same_version(each, version)), None)
        if same is None:
            continue
        one, other = old[same], new[version]
        hint = f"raise spec.version above {max(old, key=parse_version)}"
        if other.object.conventions.unversioned:
            continue
        if definition_hash(one.object) != definition_hash(other.object):
            message = f"{other.object.ref.name} {version} changed, and its version did not"
            yield _error("changed-without-bump", message, hint, other, "spec", "version")
        elif (other.object.ref, version) in rendering_anew:
            message = f"what {other.object.ref.name} {version} renders changed, and its version did not"
            yield _error("changed-without-bump", message, hint, other, "spec", "source")


def _compare_published(old: Versions, new: Versions) -> Iterator[Diagnostic]:
    """Every version that is new against the one it follows, as long as that is of the same major version."""
    known = {**old, **new}
    for version in sorted(new.keys() - old.keys(), key=parse_version):
        this = parse_version(version)
        lower = [each for each in known if parse_version(each) < this]
        if not this.prerelease:
            # A release follows a release, whatever candidates there were between them.
            lower = [each for each in lower if not parse_version(each).prerelease]
        before = max(lower, key=parse_version, default=None)
        if before is not None and parse_version(before).major == this.major:
            yield from _Comparison(known[before], new[version]).findings()


class _Comparison:
    """Two versions of one major, in which nobody's values may stop working."""

    def __init__(self, old: Revision, new: Revision) -> None:
        self.what = f"{new.object.ref.name} {old.version} → {new.version}"
        self.old, self.new, self.migrations = old, new, migrations_to([new])
        # Options that a migration says must now be set.
        self.required: set[Form] = set()
        changes = new.object.spec.changes
        for step in (changes.migrations if changes is not None else None) or []:
            try:
                if step.require is not None:
                    self.required.add(normal_form(parse_path(step.require.name)))
            except PathError:
                # Reported where the definition is checked.
                continue

    def findings(self) -> Iterator[Diagnostic]:
        places = {option.name: index for index, option in reversed(list(enumerate(self.new.object.spec.options or [])))}
        arrived: set[Form] = set()
        for form, option in self.old.forms.items():
            # Where the option is now, None if a migration removes it; what the new version declares stays.
            steps = self.migrations.moved(form) if form not in self.new.forms else form
            target = normal_form(steps) if steps is not None else None
            now = self.new.forms.get(target) if target is not None else None
            if now is not None and target is not None:
                arrived.add(target)
                retyped = any(name in (form, target) for name, _ in self.migrations.retypes)
                yield from self._compare(option, now, places[now.name], retyped, target in self.required)
            elif target is not None:
                hint = "bump the major version, or say in changes.migrations what becomes of it"
                message = f"{self.what} removes the option {option.name}"
                yield _error("option-removed", message, hint, self.new, "spec", "options")
        for form, option in self.new.forms.items():
            if form not in arrived and form not in self.required and must_be_set(option):
                message = f"{self.what} adds the required option {option.name}"
                hint = "give it a default, bump the major version, or add a require migration"
                yield _error("option-required", message, hint, self.new, "spec", "options", places[option.name])

    def _compare(self, old: Option, new: Option, index: int, retyped: bool, required: bool) -> Iterator[Diagnostic]:
        path = ("spec", "options", index)
        if old.type != new.type and not retyped:
            message = f"{self.what} makes {new.name} a {new.type} option; it was a {old.type} option"
            hint = "bump the major version, or add a retype migration"
            yield _error("option-retyped", message, hint, self.new, *path, "type")
        if must_be_set(new) and not must_be_set(old) and not required:
            message = f"{self.what} makes the option {new.name} required"
            hint = "give it a default, bump the major version, or add a require migration"
            yield _error("option-required", message, hint, self.new, *path)
        if old.required and not new.required:
            message = f"{self.what} no longer requires the option {new.name}"
            yield _error("requirement-lost", message, "bump the major version", self.new, *path)


def _error(code: str, message: str, hint: str, revision: Revision, *path: str | int) -> Diagnostic:
    return Diagnostic(code, message, hint, "error", revision.object.ref, revision.object.at(*path))
