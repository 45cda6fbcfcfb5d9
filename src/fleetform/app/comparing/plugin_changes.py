"""Compares two fleets, plugin by plugin and option by option: what differs, and what nobody can tell."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, TypeVar

from fleetform.app.comparing.config_changes import config_changes
from fleetform.app.comparing.same_values import SameValues, has_marks, known_of
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.model.answers.base import Json, JsonMap
from fleetform.model.answers.diff import ChangeAction
from fleetform.model.results.configs import Configs
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Shared, Target
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


class UnknownPlugin(NamedTuple):
    """A plugin that may differ: options and variables that nobody can compare; none if it is the definition itself."""

    plugin: PluginDecision
    options: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def compare(before: Fleet, after: Fleet, scope: Scope) -> tuple[list[PluginChange], list[UnknownPlugin]]:
    """What differs, by cluster and plugin, and the plugins of which something cannot be compared."""
    changes: list[PluginChange] = []
    unknown: list[UnknownPlugin] = []
    sources = [each for fleet in (before, after) for each in fleet.catalog_definitions.sources.values()]
    unread = any(each.read is None for listed in sources for each in listed)
    comparison = _Comparison(before, after)
    for runs, wanted in _on_clusters(before, after, scope):
        for one, other in _pairs(runs, wanted):
            if unread and all(each is None or each.target.revision is None for each in (one, other)):
                # Their definitions may be in a catalog that nobody read: nobody can tell what changes.
                either = other or one
                assert either is not None
                unknown.append(UnknownPlugin(either))
            elif one is not other or not comparison.is_settled(other):
                change, unsure = comparison.change(one, other)
                unknown += [unsure] if unsure is not None else []
                if change is not None:
                    changes.append(change)
    return sorted(changes, key=lambda change: change.either.key), sorted(unknown, key=lambda each: each.plugin.key)


def _on_clusters(
    before: Fleet, after: Fleet, scope: Scope
) -> Iterator[tuple[Collection[PluginDecision], Collection[PluginDecision]]]:
    """What each cluster runs, and what it is to run: blocked upgrades as they are wanted.

    A cluster that either side selects is looked at on both: one with other labels is neither new nor gone.
    """
    then, now = before.decisions.clusters, after.decisions.clusters
    for ref in {**then, **now}:
        sides = [each for each in (then.get(ref), now.get(ref)) if each is not None]
        if any(scope.holds_cluster(ref, each.cluster.labels) for each in sides):
            runs = then[ref].plugins.values() if ref in then else ()
            wanted = now[ref].plugins.values() if ref in now else ()
            yield runs, [each.upgrade or each for each in wanted]


def _pairs(
    before: Iterable[PluginDecision], after: Iterable[PluginDecision]
) -> Iterator[tuple[PluginDecision | None, PluginDecision | None]]:
    """Plugins of a cluster by name; a release that goes from one owner to another is one plugin, too (B23)."""
    old = {each.name: each for each in before}
    new = {each.name: each for each in after}
    left = {_release(each): each for name, each in old.items() if name not in new}
    for name, plugin in new.items():
        handed = left.pop(_release(plugin), None) if name not in old else None
        yield old.get(name, handed), plugin
    for plugin in left.values():
        yield plugin, None


def _release(plugin: PluginDecision) -> tuple[str, str, str]:
    target = plugin.target
    return target.definition, target.release_namespace, target.release_name


class _Comparison:
    """Compares plugins of two fleets."""

    def __init__(self, before: Fleet, after: Fleet) -> None:
        self._before, self._after = before, after
        # By what many plugins share: whether both sides make the same of it, and whether it holds secrets or holes.
        self._same_parts: dict[tuple[Target, Configs], bool] = {}
        self._marked: dict[Shared, bool] = {}

    def is_settled(self, plugin: PluginDecision | None) -> bool:
        """Whether a plugin that both fleets have decided as one is the same beyond doubt.

        What it is made of may differ all the same: its organization's delivery, or what variables and secrets hold.
        """
        if plugin is None:
            return False
        target, owner = plugin.target, plugin.target.owner.spec
        key = (target, plugin.configs)
        same = self._same_parts.get(key)
        if same is None:
            one, other = (fleet.inputs.shared_parts(plugin) for fleet in (self._before, self._after))
            same = self._same_parts[key] = one == other and not owner.substitute and not self._binds(plugin)
        return same and not self._is_marked(plugin)

    def _binds(self, plugin: PluginDecision) -> bool:
        owner = plugin.target.owner
        return any(fleet.decisions.index.owners[owner].program is not None for fleet in (self._before, self._after))

    def _is_marked(self, plugin: PluginDecision) -> bool:
        shared = plugin.shared
        found = self._marked.get(shared)
        if found is None:
            decisions = [each.decision for each in shared.options if each.decision is not None]
            found = self._marked[shared] = any(has_marks(known_of(each)) for each in decisions)
        return found or any(has_marks(known_of(each)) for each in plugin.own)

    def change(
        self, one: PluginDecision | None, other: PluginDecision | None
    ) -> tuple[PluginChange | None, UnknownPlugin | None]:
        """What differs between a plugin on both sides, if anything, and what else may."""
        if one is not None and other is not None:
            return _change(self._before, self._after, one, other)
        if other is not None:
            given = [each for each in other.options.values() if each.value is not ABSENT]
            options = tuple(OptionChange(each.name, None, each) for each in given)
            named = sorted(_variables(self._after.inputs.parts(other)).items())
            variables = tuple(VariableChange(name, ABSENT, each) for name, each in named)
            return PluginChange(None, other, "install", options, (), variables), None
        assert one is not None
        retained = getattr(one.target.owner.spec, "deletion_policy", None) == "Retain"
        return PluginChange(one, None, "retain" if retained else "delete", ()), None


def _change(
    before: Fleet, after: Fleet, one: PluginDecision, other: PluginDecision
) -> tuple[PluginChange | None, UnknownPlugin | None]:
    """What differs between a plugin on both sides, if anything, and what else may."""
    left, right = before.inputs.parts(one), after.inputs.parts(other)
    same = SameValues(before, after, one.organization)
    options: list[OptionChange] = []
    earlier, later = one.options, other.options
    for name in [*later, *(name for name in earlier if name not in later)]:
        then, now = earlier.get(name), later.get(name)
        # The same decision may be about a secret that holds something else.
        if then is not now or has_marks(known_of(now)):
            alike = same.decisions(then, now)
            options += [OptionChange(name, then, now, unknown=alike is None)] if alike is not True else []
    variables: list[VariableChange] = []
    old, new = _variables(left), _variables(right)
    for name in sorted(old.keys() | new.keys()):
        values = old.get(name, ABSENT), new.get(name, ABSENT)
        alike = same(*values)
        variables += [VariableChange(name, *values, unknown=alike is None)] if alike is not True else []
    unsure = [tuple(each.name for each in found if each.unknown) for found in (options, variables)]
    also = tuple(_other_differences(left, right, one, other))
    # Versions of two definitions do not compare.
    comparable = one.target.definition == other.target.definition and one.version != other.version
    action: ChangeAction = "reconfigure"
    if one.target.owner.ref != other.target.owner.ref:
        action = "handover"
    elif comparable and one.version and other.version:
        action = "upgrade" if parse_version(other.version) > parse_version(one.version) else "downgrade"
    change = PluginChange(one, other, action, _certain(options), also, _certain(variables))
    differs = change.options or change.variables or also or one.version != other.version or one.name != other.name
    return change if differs else None, UnknownPlugin(other, *unsure) if any(unsure) else None


def _certain(changes: list[_Change]) -> tuple[_Change, ...]:
    return tuple(each for each in changes if not each.unknown)


# What a change has fields of its own for.
_TOLD = {"revision", "substitute"}


def _other_differences(left: JsonMap, right: JsonMap, one: PluginDecision, other: PluginDecision) -> Iterator[str]:
    """What else a plugin is made of that differs, by name; and whether it is blocked by something else."""
    for name in sorted((left.keys() | right.keys()) - _TOLD):
        if _beside_variables(left, name) != _beside_variables(right, name):
            yield name
    if left.get("configs") == right.get("configs") and config_changes(one.configs, other.configs):
        yield "configs"
    if {(gate.gate, gate.message) for gate in one.gates} != {(gate.gate, gate.message) for gate in other.gates}:
        yield "blocked"


def _variables(parts: JsonMap) -> JsonMap:
    """The variables that an owner names; those made of values of the cluster as they are written (B16)."""
    downstream = parts["downstream"] or {}
    return {**parts["substitute"], **downstream.get("variables", {})}


def _beside_variables(parts: JsonMap, name: str) -> Json:
    """A part without the variables that are in it, which are not to be reported twice."""
    part = parts.get(name)
    if name != "downstream" or part is None:
        return part
    return {key: each for key, each in part.items() if key != "variables"}
