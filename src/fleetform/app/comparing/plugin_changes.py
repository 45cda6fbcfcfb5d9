"""Compares two fleets, plugin by plugin and option by option: what differs, and what nobody can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from fleetform.app.comparing.config_changes import config_changes
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.desired import has_secret
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.answers.diff import ChangeAction
from fleetform.model.kinds.base import SecretKey
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret
from fleetform.syntax.trees import same_value
from fleetform.syntax.versions import parse_version


class OptionChange(NamedTuple):
    """One option that differs; unknown says that it may."""

    name: str
    before: OptionDecision | None
    after: OptionDecision | None
    unknown: bool = False


class VariableChange(NamedTuple):
    """One variable that an owner names and that differs; unknown says that it may."""

    name: str
    before: Json
    after: Json
    unknown: bool = False


_Change = TypeVar("_Change", OptionChange, VariableChange)


class PluginChange(NamedTuple):
    """One plugin that differs, or may."""

    before: PluginDecision | None
    after: PluginDecision | None
    action: ChangeAction
    options: tuple[OptionChange, ...]
    also: tuple[str, ...] = ()
    variables: tuple[VariableChange, ...] = ()

    @property
    def either(self) -> PluginDecision:
        plugin = self.after if self.after is not None else self.before
        assert plugin is not None
        return plugin


def compare(before: Fleet, after: Fleet, scope: Scope) -> tuple[list[PluginChange], int]:
    """What differs, by cluster and plugin, and how many plugins hold secrets whose content nobody can compare."""
    changes = []
    unknown = 0
    # A plugin that either side selects is looked at on both: a relabelled cluster is neither new nor gone.
    keys = {each.key for fleet in (before, after) for each in scope.plugins(fleet)}
    runs = [plugin for key, plugin in before.decisions.plugins.items() if key in keys]
    wanted = [plugin.upgrade or plugin for key, plugin in after.decisions.plugins.items() if key in keys]
    unread = _has_unread_catalog(before) or _has_unread_catalog(after)
    for one, other in _pairs(runs, wanted):
        if unread and _is_undecided(one) and _is_undecided(other):
            # Their definitions may be in a catalog that nobody read: nobody can tell what changes.
            unknown += 1
            continue
        if one is None or other is None:
            changes.append(_one_sided(after, one, other))
            continue
        left, right = before.inputs.parts(one), after.inputs.parts(other)
        same = _Same(before, after, one.organization)
        options = tuple(_option_changes(same, one, other))
        variables = tuple(_variable_changes(same, _variables(left), _variables(right)))
        unknown += any(each.unknown for each in options) or any(each.unknown for each in variables)
        also = tuple(_other_differences(left, right, one, other))
        change = PluginChange(one, other, _action(one, other), _certain(options), also, _certain(variables))
        if change.options or change.variables or also or one.version != other.version or one.name != other.name:
            changes.append(change)
    return sorted(changes, key=lambda change: change.either.key), unknown


def _has_unread_catalog(fleet: Fleet) -> bool:
    return any(each.read is None for sources in fleet.catalog_definitions.sources.values() for each in sources)


def _is_undecided(plugin: PluginDecision | None) -> bool:
    return plugin is None or plugin.target.revision is None


# What a change says by itself.
_ELSEWHERE = {"revision", "substitute"}


def _other_differences(left: JsonMap, right: JsonMap, one: PluginDecision, other: PluginDecision) -> Iterator[str]:
    """What else a plugin is made of that differs, by name; and whether it is blocked by something else."""
    for name in sorted((left.keys() | right.keys()) - _ELSEWHERE):
        if _beside_variables(left, name) != _beside_variables(right, name):
            yield name
    if left.get("configs") == right.get("configs") and config_changes(one.configs, other.configs):
        yield "configs"
    if {(gate.gate, gate.message) for gate in one.gates} != {(gate.gate, gate.message) for gate in other.gates}:
        yield "blocked"


def _pairs(
    before: list[PluginDecision], after: list[PluginDecision]
) -> Iterator[tuple[PluginDecision | None, PluginDecision | None]]:
    """Plugins of both sides by name; a release that goes from one owner to another is one plugin, too (B23)."""
    old = {each.key: each for each in before}
    new = {each.key: each for each in after}
    left = {(key[:2], _release(each)): each for key, each in old.items() if key not in new}
    for key, plugin in new.items():
        handed = left.pop((key[:2], _release(plugin)), None) if key not in old else None
        yield old.get(key, handed), plugin
    for plugin in left.values():
        yield plugin, None


def _one_sided(after: Fleet, one: PluginDecision | None, other: PluginDecision | None) -> PluginChange:
    if other is not None:
        options = tuple(
            OptionChange(each.name, None, each) for each in other.options.values() if each.value is not ABSENT
        )
        named = _variables(after.inputs.parts(other))
        variables = tuple(VariableChange(name, ABSENT, each) for name, each in sorted(named.items()))
        return PluginChange(None, other, "install", options, (), variables)
    assert one is not None
    policy = getattr(one.target.owner.spec, "deletion_policy", None)
    return PluginChange(one, None, "retain" if policy == "Retain" else "delete", ())


def _release(plugin: PluginDecision) -> tuple[str, str, str]:
    target = plugin.target
    return target.definition, target.release_namespace, target.release_name


def _action(one: PluginDecision, other: PluginDecision) -> ChangeAction:
    if one.target.owner.ref != other.target.owner.ref:
        return "handover"
    if one.target.definition != other.target.definition:
        # Versions of two definitions do not compare.
        return "reconfigure"
    if one.version is not None and other.version is not None and one.version != other.version:
        return "upgrade" if parse_version(other.version) > parse_version(one.version) else "downgrade"
    return "reconfigure"


def _certain(changes: tuple[_Change, ...]) -> tuple[_Change, ...]:
    return tuple(each for each in changes if not each.unknown)


def _option_changes(same: _Same, one: PluginDecision, other: PluginDecision) -> Iterator[OptionChange]:
    old, new = one.options, other.options
    for name in [*new, *(name for name in old if name not in new)]:
        left, right = old.get(name), new.get(name)
        if left is right:
            continue
        alike = same(left.value if left is not None else ABSENT, right.value if right is not None else ABSENT)
        if alike is not True:
            yield OptionChange(name, left, right, unknown=alike is None)


# ---- Variables


def _variables(parts: JsonMap) -> JsonMap:
    """The variables that an owner names; those made of values of the cluster as they are written (B16)."""
    downstream = parts["downstream"] or {}
    return {**parts["substitute"], **downstream.get("variables", {})}


def _beside_variables(parts: JsonMap, name: str) -> Json:
    """A part without the variables that are in it, which are not to be told twice."""
    part = parts.get(name)
    if name != "downstream" or part is None:
        return part
    return {key: each for key, each in part.items() if key != "variables"}


def _variable_changes(same: _Same, old: JsonMap, new: JsonMap) -> Iterator[VariableChange]:
    for name in sorted(old.keys() | new.keys()):
        left, right = old.get(name, ABSENT), new.get(name, ABSENT)
        alike = same(left, right)
        if alike is not True:
            yield VariableChange(name, left, right, unknown=alike is None)


# ---- Values


class _Same(NamedTuple):
    """Whether two values of two fleets are the same; None where nobody can tell (B30)."""

    before: Fleet
    after: Fleet
    organization: str

    def __call__(self, one: Json, other: Json) -> bool | None:
        if has_secret(one) or has_secret(other):
            return self._with_secrets(one, other)
        if one is ABSENT or other is ABSENT:
            return one is other
        return same_value(one, other)

    def _with_secrets(self, one: Json, other: Json) -> bool | None:
        if isinstance(one, Secret) and isinstance(other, Secret):
            return self._secrets(one, other)
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and self._all(one.values(), [other[key] for key in one])
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and self._all(one, other)
        return False

    def _all(self, ones: Iterable[Json], others: Iterable[Json]) -> bool | None:
        found = [self(one, other) for one, other in zip(ones, others, strict=True)]
        if False in found:
            return False
        return None if None in found else True

    def _secrets(self, one: Secret, other: Secret) -> bool | None:
        if one.ref != other.ref:
            return False
        if one.ref is None or (one.plain is not None and other.plain is not None):
            return same_value(one.plain, other.plain)
        left, right = (_content(each, self.organization, one.ref) for each in (self.before, self.after))
        return None if left is None or right is None else bool(left == right)


def _content(fleet: Fleet, organization: str, key: SecretKey) -> Json:
    object_ = fleet.snapshot.others.get(Ref("Secret.v1", organization, key.name))
    if object_ is None:
        return None
    tree = object_.content
    for field in ("stringData", "data"):
        held = tree.get(field)
        if isinstance(held, dict) and key.key in held:
            return field, held[key.key]
    return None
