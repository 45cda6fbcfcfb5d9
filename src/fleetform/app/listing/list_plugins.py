"""Plugins, with all that they get."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied
from fleetform.app.answering.plugins import config_status, reported_gates
from fleetform.app.answering.references import object_reference
from fleetform.app.answering.waits import shown_state
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.desired import values_tree
from fleetform.model.answers.listing import (
    Condition,
    DefinitionReference,
    EffectiveValue,
    ListedMetadata,
    ListedPlugin,
    ListedPluginSpec,
    PluginStatus,
    PresetReference,
    SecretKeyReference,
    SecretValueSource,
)
from fleetform.model.kinds import API_VERSION
from fleetform.model.results.decisions import ABSENT, Secret


def list_plugins(fleet: Fleet, scope: Scope) -> Iterator[ListedPlugin]:
    """Plugins in the native shape, whatever dialect they came from (S9), and those that another owner keeps out."""
    locator = fleet.input.locator
    steps = {each.key: each for each in fleet.plan.steps}
    rollouts = {each.change.owner: each.rollout for each in fleet.plan.owners}
    for plugin in (*scope.plugins(fleet), *scope.contenders(fleet)):
        target, options, owner = plugin.target, plugin.options, plugin.target.owner
        values = []
        for name, decision in options.items():
            value = decision.value
            if isinstance(value, Secret) and value.ref is not None:
                secret = SecretKeyReference(name=value.ref.name, key=value.ref.key)
                values.append(EffectiveValue(name=name, value_from=SecretValueSource(secret=secret)))
            elif value is not ABSENT:
                values.append(EffectiveValue(name=name, value=masked(value)))
        spec = ListedPluginSpec(
            plugin_definition=DefinitionReference(name=target.definition, version=plugin.version or UNSET),
            cluster_name=plugin.cluster.ref.name,
            release_name=target.release_name,
            release_namespace=target.release_namespace,
            option_values=values,
            preset_ref=PresetReference(name=owner.ref.name) if owner.ref.kind == "PluginPreset" else UNSET,
        )
        held = next(iter((*plugin.blocked_by, *plugin.waits)), None)
        resolved = Condition(
            type="Resolved",
            status="False" if held else "True",
            reason="".join(word.capitalize() for word in held.gate.split("-")) if held else "Resolved",
            message=held.message if held else "every option has a valid value",
        )
        step, rollout = steps.get(plugin.key), rollouts.get(owner.ref)
        lost = any(each.gate == "conflict" for each in plugin.gates)
        status = PluginStatus(
            version=plugin.version,
            input_hash=fleet.inputs.hash(plugin),
            values=masked(values_tree(options)),
            applied_overrides=applied(plugin, options),
            config_references=[config_status(each) for each in plugin.configs.effective],
            running=plugin.running,
            wanted=plugin.wanted_version,
            blocked=reported_gates(plugin.blocked_by, plugin, locator),
            waiting=reported_gates(plugin.waits, plugin, locator),
            conditions=[resolved],
            owner=object_reference(owner, locator),
            # One that another owner keeps out under the same name has no place in a plan.
            state=shown_state(step) if step is not None and not lost else "Blocked",
            rollout=rollout.name if rollout is not None and rollout.is_open else None,
            stage=step.stage or None if step is not None and not lost else None,
        )
        metadata = ListedMetadata(name=plugin.name, namespace=plugin.organization)
        yield ListedPlugin(api_version=API_VERSION, kind="Plugin", metadata=metadata, spec=spec, status=status)
