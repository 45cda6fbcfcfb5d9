"""Why an object is not as it should be on its cluster, in words that say what to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fleetform.clusters.inventory import ObjectRef
from fleetform.clusters.ownership import Manifest, is_another_plugins, owner_of
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.errors import ApiError, ConflictError, DeniedError, InvalidError, NoKindError


class Problem(NamedTuple):
    """Why an object is not as it should be. refused: trying again does not help unless somebody acts."""

    ref: ObjectRef
    message: str
    hint: str = ""
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


def problem_of(ref: ObjectRef, error: OutsideError) -> Problem:
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
    return Problem(ref, error.message, error.hint, refused=not isinstance(error, ApiError))


def belongs_to_another(ref: ObjectRef, live: Manifest, key: PluginKey) -> Problem | None:
    if not is_another_plugins(live, key):
        return None
    hint = "two plugins cannot have one object: rename one"
    return Problem(ref, f"it belongs to {owner_of(live)}", hint, refused=True)


def not_adopted(ref: ObjectRef, live: Manifest, changes: Sequence[str]) -> Problem:
    """An object that is there already and that nobody asked to take over, with what that would change of it."""
    owner = owner_of(live)
    whose = f", and belongs to {owner}" if owner else ", and not from Fleetform"
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    change = f"would change {', '.join(changes[:3])}{more}" if changes else "would change nothing of it"
    hint = f"delivery.kubernetes.adopt: true takes it over, which {change}"
    return Problem(ref, f"it is there already{whose}", hint, refused=True)


def conflict(ref: ObjectRef, error: ConflictError) -> Problem:
    fields = "; ".join(f"{each.field} ({each.message})" for each in error.causes)
    hint = "let one of the two manage the field, or set delivery.kubernetes.drift: Correct"
    return Problem(ref, f"others manage fields of it: {fields}", hint, refused=True)
