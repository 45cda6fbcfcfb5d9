"""Secrets that values refer to and that are not there: what is applied by us cannot be filled in without them (S5)."""

from __future__ import annotations

from collections.abc import Iterator

from fleetform.engine.bindings.compile import substitutions
from fleetform.engine.desired import Inputs
from fleetform.engine.secrets import secrets_in
from fleetform.model.kinds.base import SecretKey
from fleetform.model.objects import At, Ref
from fleetform.model.results.decisions import (
    ABSENT,
    Gate,
    Item,
    OptionDecision,
    PluginDecision,
    Secret,
    SecretOnCluster,
)
from fleetform.model.snapshot import Snapshot


def missing_secrets(inputs: Inputs, plugin: PluginDecision, snapshot: Snapshot) -> tuple[Gate, ...]:
    """A gate for each Secret, or key of one, that a plugin needs and that its organization does not have.

    Nobody can tell without the store's key, and it matters only where we fill secrets in: Flux takes references, and
    finds the Secrets where it runs; folders and branches take none.
    """
    if inputs.secret_digest is None or not _is_filled_in_by_us(inputs, plugin):
        return ()
    found: dict[tuple[str, str, str], Gate] = {}
    for name, secret, named_by, at in _references(inputs, plugin):
        ref = secret.ref
        if ref is None or isinstance(ref, SecretOnCluster):
            continue
        if inputs.secret_digest(plugin.organization, secret) is not None:
            continue
        named = f"which {named_by.kind} {named_by.name} names for {name}"
        what, do = _what_is_missing(snapshot, plugin.organization, ref, named)
        found.setdefault((name, ref.name, ref.key), Gate("config-missing", what, do, name, named_by, at))
    return tuple(found.values())


def _what_is_missing(snapshot: Snapshot, organization: str, ref: SecretKey, named: str) -> tuple[str, str]:
    """What is not there, and what to do about it."""
    secret = f"Secret {organization}/{ref.name}"
    if Ref("Secret.v1", organization, ref.name) in snapshot.others:
        return f"{secret} has no text under the key {ref.key}, {named}", "add it, or fix the key"
    missing = "does not exist"
    if snapshot.unreadable.may_hold("Secret", ref.name, organization):
        missing = "does not exist or cannot be read"
    return f"{secret} with key {ref.key}, {named}, {missing}", "create it, or fix the name"


def _is_filled_in_by_us(inputs: Inputs, plugin: PluginDecision) -> bool:
    """Whether a plugin is applied to its cluster by us. Where nobody says how it is delivered, its cluster does."""
    delivery, access = inputs.delivery(plugin), plugin.cluster.spec.access
    if delivery is not None:
        return delivery.kubernetes is not None
    return access is not None and access.directory is None


def _references(inputs: Inputs, plugin: PluginDecision) -> Iterator[tuple[str, Secret, Ref, At | None]]:
    """The secrets among a plugin's values: the option or variable, and the object and place that says so."""
    for name, decision in plugin.options.items():
        if decision.value is ABSENT:
            continue
        for _, secret in secrets_in(decision.value):
            item = _item_of(decision, secret)
            ref, at = (item.layer.object.ref, item.at) if item is not None else (plugin.target.owner.ref, None)
            yield name, secret, ref, at
    owner = plugin.target.owner
    places = {name: path for name, path, _ in substitutions(owner)}
    for name, value in inputs.substituted(plugin).items():
        for _, secret in secrets_in(value):
            yield name, secret, owner.ref, owner.at(*places[name]) if name in places else None


def _item_of(decision: OptionDecision, secret: Secret) -> Item | None:
    """What put a secret into an option's value: the winner, or that of the part in which it lies."""
    named = (part.winner for part in decision.parts if part.winner.secret == secret.ref)
    return next(named, decision.winner)
