"""Why an object is not as it should be on its cluster, in words that say what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fleetform.clusters.inventory import KIND, ObjectRef
from fleetform.clusters.ownership import PLUGIN, Manifest, is_another_plugins, owner_of
from fleetform.deliver.kubernetes.existing import Difference
from fleetform.deliver.kubernetes.flux_owners import FluxOwner
from fleetform.deliver.kubernetes.helm_records import Release
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.kubernetes.errors import (
    ConflictError,
    DeniedError,
    InvalidError,
    NoKindError,
    ObjectError,
)

_MOST_OBJECTS, _MOST_FIELDS = 10, 5


class Problem(NamedTuple):
    """Why an object is not as it should be. refused: trying again does not help unless somebody acts."""

    ref: ObjectRef
    message: str
    hint: str = ""
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


def problem_of(ref: ObjectRef, error: ObjectError) -> Problem:
    """A refusal in words that say what to do."""
    if isinstance(error, NoKindError):
        hint = "install what brings this kind first, and say so with dependsOn"
        return Problem(ref, error.message, hint)
    if isinstance(error, DeniedError):
        hint = "grant the account of the cluster's kubeconfig what it needs, or leave the object out by a transform"
        return Problem(ref, error.message, hint, refused=True)
    if isinstance(error, InvalidError):
        immutable = "immutable" in error.message
        hint = "a field of it cannot be changed: delete the object, and it is created again" if immutable else ""
        return Problem(ref, error.message, hint or "the cluster refuses it as it is rendered", refused=True)
    return Problem(ref, error.message, error.hint)


def belongs_to_another(ref: ObjectRef, live: Manifest, key: PluginKey) -> Problem | None:
    if not is_another_plugins(live, key):
        return None
    inventory = f"{KIND}=true,{PLUGIN}={live['metadata']['labels'][PLUGIN]}"
    gone = f"if that plugin is gone for good, delete its inventory: kubectl delete configmap -A -l {inventory}"
    hint = f"two plugins cannot have one object: rename one; {gone}"
    return Problem(ref, f"it belongs to {owner_of(live)}", hint, refused=True)


class Existing(NamedTuple):
    """An object that is there already, whose it is ("" if nobody says so), what taking it over would change, and which
    plugin left it."""

    ref: ObjectRef
    owner: str
    difference: Difference
    left_by: str = ""


class KeptByHelm(NamedTuple):
    """What Helm has of a release: how many revisions, and objects that the plugin does not have."""

    release: str
    revisions: int
    others: Sequence[ObjectRef]


def not_adopted(found: Sequence[Existing], releases: Sequence[KeptByHelm], setting: str) -> Problem:
    """Objects that are there already and that nobody asked to take over, with what that would change, and the setting
    that asks for it."""
    first, *more = found
    whose = f", and belongs to {first.owner}" if first.owner else ", and not from Fleetform"
    if first.left_by:
        whose = f", and was left by {first.left_by}, which no longer has it"
    verb = "is" if len(more) == 1 else "are"
    also = f"; so {verb} {_listed([str(each.ref) for each in more], _MOST_OBJECTS)}" if more else ""
    of_all = [f"{each.ref if more else 'it'} {_change(each.difference)}" for each in found[:_MOST_OBJECTS]]
    if len(found) > _MOST_OBJECTS:
        of_all.append(f"and so on for {len(found) - _MOST_OBJECTS} more")
    told = "; ".join([*of_all, *(_of_release(each) for each in releases)])
    hint = f"{setting}: true takes {'them' if more else 'it'} over: {told}"
    return Problem(first.ref, f"it is there already{whose}{also}", hint, refused=True)


def _change(difference: Difference) -> str:
    parts = []
    if difference.changed:
        parts.append(f"would change in {_listed(difference.changed, _MOST_FIELDS)}")
    if difference.removed:
        parts.append(f"would lose {_listed(difference.removed, _MOST_FIELDS)}")
    return " and ".join(parts) or "would not change"


def _of_release(kept: KeptByHelm) -> str:
    revisions = "1 revision" if kept.revisions == 1 else f"{kept.revisions:,} revisions"
    told = f"{kept.release} would no longer be known to Helm ({revisions}, set aside)"
    if not kept.others:
        return told
    stay = "stays as it is" if len(kept.others) == 1 else "stay as they are"
    return f"{told}; {_listed([str(each) for each in kept.others], _MOST_OBJECTS)}, not of the plugin, {stay}"


def _listed(texts: Sequence[str], most: int) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def helm_is_at_work(ref: ObjectRef, release: Release) -> Problem:
    hint = "wait until Helm is done; if it was stopped in between, end it: helm rollback, or helm upgrade"
    return Problem(ref, f"Helm is at work on {release}, which it belongs to", hint, refused=True)


def flux_is_at_work(ref: ObjectRef, owner: FluxOwner) -> Problem:
    command = f"flux suspend {owner.kind.lower()} {owner.name} -n {owner.namespace}"
    message = f"{owner} would apply it again and again"
    return Problem(ref, message, f"suspend that first: {command}", refused=True)


def conflict(ref: ObjectRef, error: ConflictError) -> Problem:
    fields = "; ".join(f"{each.field} ({each.message})" for each in error.causes)
    hint = "let one of the two manage the field, or set delivery.kubernetes.drift: Correct"
    return Problem(ref, f"others manage fields of it: {fields}", hint, refused=True)
