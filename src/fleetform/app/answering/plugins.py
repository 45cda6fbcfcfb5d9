"""Gates, configs and bindings of plugins, as answers bear them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, structs

from fleetform.app.answering.masks import masked
from fleetform.app.answering.references import object_reference, reference
from fleetform.model.answers.configs import (
    ConfigReferenceStatus,
    DesiredConfig,
    HiddenNamedConfig,
    NamedConfig,
)
from fleetform.model.answers.explanation import ExplainedBinding
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.objects import Object
from fleetform.model.results.bindings import Bound
from fleetform.model.results.configs import ConfigReference, HiddenConfig
from fleetform.model.results.decisions import Gate, PluginDecision
from fleetform.ports.inputs import Locator
from fleetform.syntax.addresses import without_logins
from fleetform.syntax.times import time_text


def reported_gates(gates: Iterable[Gate], plugin: PluginDecision, locator: Locator) -> list[ReportedGate]:
    """Gates with their places; one that names none is the owner's."""
    owner = plugin.target.owner
    return [
        ReportedGate(
            gate=gate.gate,
            option=gate.option or None,
            message=without_logins(gate.message),
            until=time_text(gate.until) if gate.until is not None else None,
            object=reference(gate.ref or owner.ref, gate.at if gate.at is not None else owner.at(), locator),
            do=without_logins(gate.do),
        )
        for gate in gates
    ]


def named_config(config: ConfigReference, locator: Locator) -> NamedConfig:
    """A config that somebody names: what it is, who names it, and where."""
    group, resource, namespace, name = config.identity
    return NamedConfig(
        group=group,
        resource=resource,
        namespace=namespace,
        name=name,
        spec_hash=config.spec_hash,
        place=config.place,
        index=config.index,
        from_=reference(config.object.ref, config.at, locator),
        part=config.part or UNSET,
    )


def hidden_config(config: HiddenConfig, locator: Locator) -> HiddenNamedConfig:
    return HiddenNamedConfig(**structs.asdict(named_config(config.reference, locator)), reason=config.reason)


def config_status(config: ConfigReference) -> ConfigReferenceStatus:
    """One entry of status.configReferences."""
    group, resource, namespace, name = config.identity
    generation = config.config.content["metadata"].get("generation") if config.config is not None else None
    return ConfigReferenceStatus(
        group=group,
        resource=resource,
        namespace=namespace or UNSET,
        name=name,
        last_observed_generation=generation if isinstance(generation, int) else 0,
        desired_config=DesiredConfig(namespace=namespace or UNSET, name=name, spec_hash=config.spec_hash),
    )


def explained_binding(bound: Bound, owner: Object[object], locator: Locator) -> ExplainedBinding:
    """A variable's value, where it is bound, and the object that it was read from."""
    source, unresolved = bound.source, bound.unresolved
    return ExplainedBinding(
        name=bound.name,
        value=None if unresolved is not None else masked(bound.value),
        from_=object_reference(source, locator) if source is not None else reference(owner.ref, bound.at, locator),
        resolved=bound.resolved,
        section=bound.section,
        place=locator.place(bound.at),
        problem=unresolved.message if unresolved is not None else UNSET,
        do=unresolved.do if unresolved is not None else UNSET,
    )
