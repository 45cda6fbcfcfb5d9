"""Gates, configs and bindings of plugins, as answers bear them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET, structs

from fleetform.app.answering.masks import masked
from fleetform.app.answering.references import object_reference, reference
from fleetform.model.answers.configs import (
    ConfigReferenceStatus,
    DesiredConfig,
    HiddenNamedConfig,
    NamedConfig,
)
from fleetform.model.answers.explanation import ExplainedBinding, FieldRead
from fleetform.model.answers.gates import ReportedGate
from fleetform.model.results.bindings import Bound, FieldOnCluster
from fleetform.model.results.configs import ConfigReference, HiddenConfig
from fleetform.model.results.decisions import Gate, PluginDecision
from fleetform.model.state import Reading
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


def explained_binding(
    bound: Bound, plugin: PluginDecision, readings: Mapping[str, Reading], locator: Locator
) -> ExplainedBinding:
    """A variable's value, where it is bound, and the object that it was read from."""
    source, unresolved, owner = bound.source, bound.unresolved, plugin.target.owner
    return ExplainedBinding(
        name=bound.name,
        value=None if unresolved is not None else masked(bound.value),
        from_=object_reference(source, locator) if source is not None else reference(owner.ref, bound.at, locator),
        resolved=bound.resolved,
        section=bound.section,
        place=locator.place(bound.at),
        problem=without_logins(unresolved.message) if unresolved is not None else UNSET,
        do=without_logins(unresolved.do) if unresolved is not None else UNSET,
        read=_field_read(bound.field, plugin, readings.get(bound.name)) if bound.field is not None else UNSET,
    )


def _field_read(field: FieldOnCluster, plugin: PluginDecision, reading: Reading | None) -> FieldRead:
    if reading is not None and reading.of != field.identity:
        reading = None
    since = reading.since if reading is not None and reading.is_known else None
    return FieldRead(
        cluster=plugin.cluster.ref.name,
        kind=field.kind,
        namespace=(reading.namespace if reading is not None else field.namespace) or plugin.target.release_namespace,
        name=field.name,
        path=field.path,
        since=time_text(since) if since is not None else None,
        problem=reading.problem if reading is not None and reading.problem else UNSET,
    )
