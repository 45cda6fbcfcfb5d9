"""Compares two fleets, plugin by plugin and option by option: what differs, and what nobody can tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fleetform.app.config_changes import config_changes
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.inputs import has_secret
from fleetform.engine.trees import same_value
from fleetform.engine.versions import parse_version
from fleetform.model.kinds.base import SecretKey
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret


class OptionChange(NamedTuple):
    """One option that differs; unknown says that it may."""

    name: str
    before: OptionDecision | None
    after: OptionDecision | None
    unknown: bool = False


class PluginChange(NamedTuple):
    """One plugin that differs, or may."""

    before: PluginDecision | None
    after: PluginDecision | None
    action: str
    options: tuple[OptionChange, ...]
    also: tuple[str, ...] = ()

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
            changes.append(_one_sided(one, other))
            continue
        options = tuple(_option_changes(before, after, one, other))
        unknown += any(option.unknown for option in options)
        certain = tuple(option for option in options if not option.unknown)
        also = tuple(_other_differences(before.inputs.parts(one), after.inputs.parts(other), one, other))
        if certain or also or one.version != other.version or one.name != other.name:
            changes.append(PluginChange(one, other, _action(one, other), certain, also))
    return sorted(changes, key=lambda change: change.either.key), unknown


def _has_unread_catalog(fleet: Fleet) -> bool:
    return any(each.read is None for sources in fleet.brought.sources.values() for each in sources)


def _is_undecided(plugin: PluginDecision | None) -> bool:
    return plugin is None or plugin.target.revision is None


_ALSO = {
    "transforms": "transforms",
    "patches": "patches",
}


def _other_differences(
    left: dict[str, Any], right: dict[str, Any], one: PluginDecision, other: PluginDecision
) -> Iterator[str]:
    """What else a plugin is made of that differs, by name; and whether it is blocked by something else."""
    yield from (
        name for name in sorted(left.keys() | right.keys()) if left.get(name) != right.get(name) and name != "revision"
    )
    if left.get("configs") == right.get("configs") and config_changes(one.configs, other.configs):
        yield "configs"
    for name, written in _ALSO.items():
        if _written(one, name) != _written(other, name):
            yield written
    if {(gate.gate, gate.message) for gate in one.gates} != {(gate.gate, gate.message) for gate in other.gates}:
        yield "blocked"


def _written(plugin: PluginDecision, name: str) -> Any:
    """A field of the definition and of its owner, which both count."""
    revision = plugin.target.revision
    of_definition = getattr(revision.object.spec, name, None) if revision is not None else None
    owner = plugin.target.owner.spec
    return of_definition, getattr(owner, name, None), getattr(getattr(owner, "plugin", None), name, None)


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


def _one_sided(one: PluginDecision | None, other: PluginDecision | None) -> PluginChange:
    if other is not None:
        options = tuple(
            OptionChange(each.name, None, each) for each in other.options.values() if each.value is not ABSENT
        )
        return PluginChange(None, other, "install", options)
    assert one is not None
    policy = getattr(one.target.owner.spec, "deletion_policy", None)
    return PluginChange(one, None, "retain" if policy == "Retain" else "delete", ())


def _release(plugin: PluginDecision) -> tuple[str, str, str]:
    target = plugin.target
    return target.definition, target.release_namespace, target.release_name


def _action(one: PluginDecision, other: PluginDecision) -> str:
    if one.target.owner.ref != other.target.owner.ref:
        return "handover"
    if one.target.definition != other.target.definition:
        # Versions of two definitions do not compare.
        return "reconfigure"
    if one.version is not None and other.version is not None and one.version != other.version:
        return "upgrade" if parse_version(other.version) > parse_version(one.version) else "downgrade"
    return "reconfigure"


def _option_changes(before: Fleet, after: Fleet, one: PluginDecision, other: PluginDecision) -> Iterator[OptionChange]:
    old, new = one.options, other.options
    for name in [*new, *(name for name in old if name not in new)]:
        left, right = old.get(name), new.get(name)
        if left is right:
            continue
        left_value = left.value if left is not None else ABSENT
        right_value = right.value if right is not None else ABSENT
        if has_secret(left_value) or has_secret(right_value):
            same = _same_secret(before, after, one.organization, left_value, right_value)
            if same is not True:
                yield OptionChange(name, left, right, unknown=same is None)
        elif left_value is ABSENT or right_value is ABSENT:
            if left_value is not right_value:
                yield OptionChange(name, left, right)
        elif not same_value(left_value, right_value):
            yield OptionChange(name, left, right)


def _same_secret(before: Fleet, after: Fleet, organization: str, one: Any, other: Any) -> bool | None:
    """Whether two secrets are the same; None where their content is in neither input to compare (B30)."""
    if not isinstance(one, Secret) or not isinstance(other, Secret):
        return False
    if one.ref is None or other.ref is None:
        return one.ref is None and other.ref is None and same_value(one.plain, other.plain)
    if one.ref != other.ref:
        return False
    left, right = _content(before, organization, one.ref), _content(after, organization, other.ref)
    if left is None or right is None:
        return None
    return bool(left == right)


def _content(fleet: Fleet, organization: str, key: SecretKey) -> Any:
    object_ = fleet.snapshot.others.get(Ref("Secret.v1", organization, key.name))
    if object_ is None:
        return None
    tree = object_.content
    for field in ("stringData", "data"):
        held = tree.get(field)
        if isinstance(held, dict) and key.key in held:
            return field, held[key.key]
    return None
