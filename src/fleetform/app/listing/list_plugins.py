"""Plugins, with all that they get; and as rows of a table, for which no tree of values is made."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied
from fleetform.app.answering.plugins import config_status, reported_gates
from fleetform.app.answering.references import object_reference
from fleetform.app.fleet import Fleet
from fleetform.app.listing.found import Found
from fleetform.app.scope import Scope
from fleetform.engine.desired import values_tree
from fleetform.engine.layers.injected import with_injected
from fleetform.model.answers.base import JsonMap
from fleetform.model.answers.listing import (
    Condition,
    DefinitionReference,
    EffectiveValue,
    ListedMetadata,
    ListedPlugin,
    ListedPluginSpec,
    PluginRow,
    PluginStatus,
    PresetReference,
    SecretKeyReference,
    SecretValueSource,
)
from fleetform.model.answers.options import AppliedOverride
from fleetform.model.kinds import API_VERSION
from fleetform.model.results.decisions import ABSENT, OptionDecision, PluginDecision, Secret, Shared


def find_plugins(fleet: Fleet, scope: Scope) -> Found[PluginDecision]:
    """Plugins in the native shape, whatever dialect they came from (S9), and those that another owner keeps out."""
    plugins = [*scope.plugins(fleet), *scope.contenders(fleet)]
    plugins.sort(key=lambda each: (each.organization, each.name, each.cluster.ref.name))
    answers = _PluginAnswers(fleet)
    return Found(plugins, lambda plugin: plugin.name, answers.whole, answers.row)


class _Options(NamedTuple):
    """What is said of a plugin's options; many plugins share it, so nobody may change it."""

    values: list[EffectiveValue]
    tree: JsonMap
    applied: list[AppliedOverride]


class _PluginAnswers:
    """Answers about plugins. What is said of options is made once for all plugins that share them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._options: dict[Shared, _Options] = {}
        self._applied: dict[Shared, list[AppliedOverride]] = {}

    def row(self, plugin: PluginDecision) -> PluginRow:
        target, shared = plugin.target, plugin.shared
        overrides = self._applied.get(shared) if not plugin.own else None
        if overrides is None:
            overrides = applied(plugin, plugin.options)
            if not plugin.own:
                self._applied[shared] = overrides
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
            applied_overrides=overrides,
            blocked=sorted({gate.gate for gate in plugin.blocked_by}),
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
        held = next(iter((*plugin.blocked_by, *plugin.waits)), None)
        resolved = Condition(
            type="Resolved",
            status="False" if held else "True",
            reason="".join(word.capitalize() for word in held.gate.split("-")) if held else "Resolved",
            message=held.message if held else "every option has a valid value",
        )
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
            conditions=[resolved],
            owner=object_reference(owner, locator),
        )
        metadata = ListedMetadata(name=plugin.name, namespace=plugin.organization)
        return ListedPlugin(api_version=API_VERSION, kind="Plugin", metadata=metadata, spec=spec, status=status)

    def _options_of(self, plugin: PluginDecision) -> _Options:
        found = self._options.get(plugin.shared) if not plugin.own else None
        if found is None:
            options = plugin.options
            values = [
                _effective_value(name, decision) for name, decision in options.items() if decision.value is not ABSENT
            ]
            found = _Options(values, masked(values_tree(options)), applied(plugin, options))
            if not plugin.own:
                self._options[plugin.shared] = found
        return found


def _effective_value(name: str, decision: OptionDecision) -> EffectiveValue:
    value = decision.value
    if isinstance(value, Secret) and value.ref is not None:
        secret = SecretKeyReference(name=value.ref.name, key=value.ref.key)
        return EffectiveValue(name=name, value_from=SecretValueSource(secret=secret))
    return EffectiveValue(name=name, value=masked(value))
