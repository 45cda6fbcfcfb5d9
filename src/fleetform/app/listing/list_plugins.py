"""Plugins, with all that they get; and as rows of a table, for which no tree of values is made."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied
from fleetform.app.answering.plugins import config_status, reported_gates
from fleetform.app.answering.references import object_reference
from fleetform.app.answering.waits import drift_text, shown_state
from fleetform.app.fleet import Fleet
from fleetform.app.listing.found import Found
from fleetform.app.scope import Scope
from fleetform.app.states import ALL_STATES, StateFilter
from fleetform.app.support_ends import EndDates
from fleetform.engine.desired import values_tree
from fleetform.engine.layers.injected import with_injected
from fleetform.engine.plan.records import Step
from fleetform.engine.report.effects import sides_of
from fleetform.model.answers.base import JsonMap
from fleetform.model.answers.listed import Condition, ListedMetadata
from fleetform.model.answers.listed_plugins import (
    DefinitionReference,
    EffectiveValue,
    ListedPlugin,
    ListedPluginSpec,
    PluginRow,
    PluginStatus,
    PresetReference,
    SecretKeyReference,
    SecretValueSource,
)
from fleetform.model.answers.options import AppliedOverride
from fleetform.model.answers.planning import PluginPhase
from fleetform.model.kinds import API_VERSION
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret, Shared
from fleetform.ports.state import KnownState
from fleetform.syntax.times import time_text

_REMEMBERED = 10_000
_RENDER_CHANGED = Condition(
    type="RenderChanged",
    status="True",
    reason="RenderDiffers",
    message="the same input would be rendered differently now; what was admitted stays until a change is rolled out",
)
_TROUBLES = {
    "render": ("NotRendered", "RenderUnavailable"),
    "delivery": ("NotDelivered", "DeliveryFailed"),
    "removal": ("NotRemoved", "RemovalFailed"),
    "health": ("HealthUnknown", "CannotBeJudged"),
}


def find_plugins(fleet: Fleet, scope: Scope, wanted: StateFilter = ALL_STATES) -> Found[PluginDecision]:
    """Plugins in the native shape, whatever dialect they came from (S9), and those that another owner keeps out.

    How they stand is planned if it is asked for, or if what runs is known: without that all wait.
    """
    states = PlannedStates(fleet) if fleet.state.plugins or not wanted.is_all else None
    plugins = [*scope.plugins(fleet), *scope.contenders(fleet)]
    if states is not None:
        plugins = [each for each in plugins if wanted.holds(states.of(each))]
    plugins.sort(key=lambda each: (each.organization, each.name, each.cluster.ref.name))
    answers = _PluginAnswers(fleet, states)
    return Found(plugins, lambda plugin: plugin.name, answers.whole, answers.row)


class PlannedStates:
    """How plugins stand to what is wanted. One that another owner keeps out has no place in a plan."""

    def __init__(self, fleet: Fleet) -> None:
        self._steps = {each.key: each for each in fleet.plan.steps}
        self._rollouts = {each.change.owner: each.rollout for each in fleet.plan.owners}

    def of(self, plugin: PluginDecision) -> PluginPhase:
        step = self._step(plugin)
        return shown_state(step) if step is not None else "Blocked"

    def rollout(self, plugin: PluginDecision) -> str | None:
        rollout = self._rollouts.get(plugin.target.owner.ref)
        return rollout.name if rollout is not None and rollout.is_open else None

    def stage(self, plugin: PluginDecision) -> str | None:
        step = self._step(plugin)
        return step.stage or None if step is not None else None

    def _step(self, plugin: PluginDecision) -> Step | None:
        lost = any(each.gate == "conflict" for each in plugin.gates)
        return self._steps.get(plugin.key) if not lost else None


class _Options(NamedTuple):
    """What is said of a plugin's options; many plugins share it, so nobody may change it."""

    values: list[EffectiveValue]
    tree: JsonMap
    applied: list[AppliedOverride]


class AppliedOverrides:
    """The overrides of each plugin, made once for all plugins that share them: nobody may change the lists."""

    def __init__(self) -> None:
        self._shared: dict[Shared, list[AppliedOverride]] = {}
        # Plugins with options of their own share their decisions on all others.
        self._sides = lru_cache(_REMEMBERED)(sides_of)

    def of(self, plugin: PluginDecision) -> list[AppliedOverride]:
        found = self._shared.get(plugin.shared) if _is_like_others(plugin) else None
        if found is None:
            found = applied(plugin, plugin.options, self._sides)
            if _is_like_others(plugin):
                self._shared[plugin.shared] = found
        return found


class _PluginAnswers:
    """Answers about plugins. What is said of options is made once for all plugins that share them."""

    def __init__(self, fleet: Fleet, states: PlannedStates | None) -> None:
        self._fleet = fleet
        self._options: dict[Shared, _Options] = {}
        self._applied = AppliedOverrides()
        self._states = states
        dates = EndDates(fleet)
        self._ends = dates if fleet.state.plugins and not dates.is_empty else None
        self._value = lru_cache(_REMEMBERED)(_effective_value)

    def row(self, plugin: PluginDecision) -> PluginRow:
        target = plugin.target
        return PluginRow(
            api_version=API_VERSION,
            kind="Plugin",
            metadata=ListedMetadata(name=plugin.name, namespace=plugin.organization),
            cluster=plugin.cluster.ref.name,
            definition=target.definition,
            version=plugin.version,
            release_name=target.release_name,
            release_namespace=target.release_namespace,
            owner_kind=target.owner.ref.kind,
            owner_name=target.owner.ref.name,
            applied_overrides=self._applied.of(plugin),
            blocked=sorted({gate.gate for gate in plugin.blocked_by}),
            state=self._states.of(plugin) if self._states is not None else None,
            conditions=[each.type for each in self._amiss(plugin)],
        )

    def whole(self, plugin: PluginDecision) -> ListedPlugin:
        target, owner, locator = plugin.target, plugin.target.owner, self._fleet.input.locator
        options = self._options_of(plugin)
        spec = ListedPluginSpec(
            plugin_definition=DefinitionReference(name=target.definition, version=plugin.version or UNSET),
            cluster_name=plugin.cluster.ref.name,
            release_name=target.release_name,
            release_namespace=target.release_namespace,
            option_values=options.values,
            preset_ref=PresetReference(name=owner.ref.name) if owner.ref.kind == "PluginPreset" else UNSET,
        )
        states = self._states
        status = PluginStatus(
            version=plugin.version,
            input_hash=self._fleet.inputs.hash(plugin),
            values=with_injected(options.tree, self._fleet.inputs.injected(plugin)),
            applied_overrides=options.applied,
            config_references=[config_status(each) for each in plugin.configs.effective],
            running=plugin.running,
            wanted=plugin.wanted_version,
            blocked=reported_gates(plugin.blocked_by, plugin, locator),
            waiting=reported_gates(plugin.waits, plugin, locator),
            conditions=[resolved(plugin), *self._amiss(plugin)],
            owner=object_reference(owner, locator),
            state=states.of(plugin) if states is not None else None,
            rollout=states.rollout(plugin) if states is not None else None,
            stage=states.stage(plugin) if states is not None else None,
        )
        metadata = ListedMetadata(name=plugin.name, namespace=plugin.organization)
        return ListedPlugin(api_version=API_VERSION, kind="Plugin", metadata=metadata, spec=spec, status=status)

    def _amiss(self, plugin: PluginDecision) -> list[Condition]:
        found = amiss(plugin, self._fleet.state)
        ends = self._ends.of(plugin) if self._ends is not None else None
        if ends is not None:
            word = "ends" if ends > self._fleet.snapshot.at else "ended"
            message = f"support of {plugin.target.definition} {plugin.running} {word} {time_text(ends)}"
            found.append(Condition(type="SupportEnds", status="True", reason="EndOfSupport", message=message))
        return found

    def _options_of(self, plugin: PluginDecision) -> _Options:
        found = self._options.get(plugin.shared) if _is_like_others(plugin) else None
        if found is None:
            options = plugin.options
            values = [self._value(decision) for decision in options.values() if decision.value is not ABSENT]
            found = _Options(values, masked(values_tree(options)), self._applied.of(plugin))
            if _is_like_others(plugin):
                self._options[plugin.shared] = found
        return found


def resolved(plugin: PluginDecision) -> Condition:
    """Whether every option has a value that its revision takes."""
    held = next(iter((*plugin.blocked_by, *plugin.waits)), None)
    return Condition(
        type="Resolved",
        status="False" if held else "True",
        reason=reason_word(held.gate) if held else "Resolved",
        message=held.message if held else "every option has a valid value",
    )


def amiss(plugin: PluginDecision, known: KnownState) -> list[Condition]:
    """What is not as it should be about what was delivered."""
    found = []
    state, trouble = known.plugin(plugin.cluster.ref, plugin.name), known.troubles.get(plugin.key)
    if state.drift:
        message = drift_text(state.drift).removeprefix("; drifted: ")
        found.append(Condition(type="Drifted", status="True", reason="FilesChanged", message=message))
    if state.admitted is not None and state.admitted.input_hash in known.altered:
        found.append(_RENDER_CHANGED)
    in_the_way = [known.unrendered.get(plugin.key)]
    in_the_way += [trouble] if trouble is not None and (trouble.of != "health" or state.in_flight) else []
    for each in in_the_way:
        if each is not None:
            type_, reason = _TROUBLES[each.of]
            message = each.message + (f"; {each.hint}" if each.hint else "")
            found.append(Condition(type=type_, status="True", reason=reason, message=message))
    return found


def reason_word(gate: str) -> str:
    """A gate as the reason of a condition: RequiredOption."""
    return "".join(word.capitalize() for word in gate.split("-"))


def _is_like_others(plugin: PluginDecision) -> bool:
    """Whether it has nothing of its own beside what it shares."""
    return not plugin.own and not plugin.own_skipped


def _effective_value(decision: OptionDecision) -> EffectiveValue:
    name, value = decision.name, decision.value
    if isinstance(value, Secret) and value.ref is not None:
        secret = SecretKeyReference(name=value.ref.name, key=value.ref.key)
        return EffectiveValue(name=name, value_from=SecretValueSource(secret=secret))
    return EffectiveValue(name=name, value=masked(value))
