"""Comparing: what an object should be, held against what is there. Pure.

The answer is a list of requests, and none where nothing differs. What only an earlier status knows is taken from there:
since when a condition holds, and which config was applied last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.status import Condition, ConfigReference, Status
from fleetform.model.objects import Ref
from fleetform.operator.generated import PERSONS_FIELDS
from fleetform.operator.status.conditions import OURS
from fleetform.operator.status.seen import Seen
from fleetform.operator.status.wanted import MANAGED_BY, MANAGER, Generated, OwnerReference, Wanted
from fleetform.syntax.times import time_text

Tree = dict[str, Any]
_NO_BODY: Mapping[str, Any] = MappingProxyType({})
# Kinds of which all that is wanted is known in a pass: what is not wanted goes. A revision of which nothing is known
# any more may still be what a cluster runs.
_REMOVED = frozenset({"Plugin", "Rollout"})


class Request(NamedTuple):
    """A write. body is the manifest, or a merge patch; uid is whom a deletion is meant for."""

    verb: Literal["apply", "merge", "status", "delete"]
    ref: Ref
    body: Mapping[str, Any] = _NO_BODY
    uid: str = ""


def requests(ref: Ref, wanted: Wanted | None, seen: Seen | None, now: datetime) -> list[Request]:
    """What has to be written, in order."""
    if seen is not None and seen.metadata.deletion_timestamp is not None:
        return []
    if wanted is None or wanted.is_gone:
        known = wanted is not None or ref.kind in _REMOVED
        return _removal(ref, seen) if known else []
    found: list[Request] = []
    if wanted.generated is not None:
        if seen is not None and not _is_ours(wanted.generated, ref, seen):
            return []
        found += _objects(wanted, wanted.generated, seen)
    elif seen is None:
        # Somebody else's, and not there: nobody would read it.
        return []
    return [*found, *_status(wanted, seen, now)]


def _is_fleetforms_alone(seen: Seen) -> bool:
    """Whether nobody else wrote anything into an object, so that it may be taken away."""
    return (seen.metadata.labels or {}).get(MANAGED_BY) == MANAGER and not _has_persons_part(_tree(seen.spec))


def _has_persons_part(spec: Tree) -> bool:
    return any(spec.get(field) for field in PERSONS_FIELDS)


def _removal(ref: Ref, seen: Seen | None) -> list[Request]:
    if seen is None or not _is_fleetforms_alone(seen):
        return []
    return [Request("delete", ref, uid=seen.metadata.uid)]


def _is_ours(generated: Generated, ref: Ref, seen: Seen) -> bool:
    """Whether an object of the name is the one that is meant, and not one that somebody made of their own accord."""
    if (seen.metadata.labels or {}).get(MANAGED_BY) == MANAGER or ref.kind != "Plugin":
        return True
    return bool(_tree(seen.spec).get("presetRef") == generated.spec["presetRef"])


# ---- What Fleetform makes


def _objects(wanted: Wanted, generated: Generated, seen: Seen | None) -> list[Request]:
    spec = _tree(seen.spec) if seen is not None else {}
    people = _has_persons_part(spec)
    labels = dict(generated.labels)
    owners = [generated.owner] if generated.owner is not None else []
    if people:
        # It holds what a person wrote: it does not go with its preset.
        labels.pop(MANAGED_BY, None)
        owners = []
    body = _manifest(wanted, labels, owners)
    if seen is None or not generated.is_fixed:
        body["spec"] = generated.spec
    if seen is None:
        return [Request("apply", wanted.ref, body)]
    foreign = spec.keys() - generated.spec.keys() - {*PERSONS_FIELDS}
    if foreign and not generated.is_fixed:
        # An apply takes only away what is ours.
        patch = {"spec": {**generated.spec, **dict.fromkeys(foreign)}}
        return [Request("merge", wanted.ref, patch), Request("apply", wanted.ref, body)]
    same = generated.is_fixed or all(spec.get(name) == each for name, each in generated.spec.items())
    there = seen.metadata.labels or {}
    same &= all(there.get(name) == each for name, each in labels.items())
    same &= not (people and there.get(MANAGED_BY) == MANAGER)
    same &= _are_owners(owners, seen)
    return [] if same else [Request("apply", wanted.ref, body)]


def _are_owners(owners: Sequence[OwnerReference], seen: Seen) -> bool:
    there = {(each.get("uid"), each.get("name")) for each in seen.metadata.owner_references or ()}
    if owners:
        return all((each.uid, each.name) in there for each in owners)
    # One that we gave it, and that it should not have any more.
    return not any(each.get("controller") for each in seen.metadata.owner_references or ())


def _manifest(wanted: Wanted, labels: Mapping[str, str], owners: Sequence[OwnerReference]) -> Tree:
    metadata: Tree = {"name": wanted.ref.name, "namespace": wanted.ref.organization}
    if labels:
        metadata["labels"] = dict(labels)
    if owners:
        metadata["ownerReferences"] = [msgspec.to_builtins(each) for each in owners]
    return {"apiVersion": wanted.api_version, "kind": wanted.ref.kind, "metadata": metadata}


# ---- Statuses


def _status(wanted: Wanted, seen: Seen | None, now: datetime) -> list[Request]:
    there = _tree(seen.status) if seen is not None else {}
    generation = wanted.generation if wanted.generation is not None else seen.metadata.generation if seen else 1
    if wanted.api_version != API_VERSION:
        # Another system's: what it has no field for is refused.
        generation = None
    status = msgspec.to_builtins(_with_history(wanted.status, there, generation, now))
    fields = wanted.status.__struct_encode_fields__
    if seen is not None and _comparable(status, fields) == _comparable(there, fields):
        return []
    return [Request("status", wanted.ref, {**_manifest(wanted, {}, ()), "status": status})]


def _with_history(status: Status, there: Tree, generation: int | None, now: datetime) -> Status:
    before = {each.get("type"): each for each in there.get("conditions", ())}
    conditions = [_with_time(each, before.get(each.type, {}), generation, now) for each in status.conditions]
    found = structs.replace(status, conditions=conditions, observed_generation=generation)
    references: list[ConfigReference] | None = getattr(status, "config_references", None)
    if references:
        applied = {_identity(each): each.get("lastAppliedConfig") for each in there.get("configReferences", ())}
        kept = [_with_applied(each, applied) for each in references]
        found = structs.replace(found, config_references=kept)
    return found


def _with_time(condition: Condition, before: Tree, generation: int | None, now: datetime) -> Condition:
    since = before.get("lastTransitionTime") if before.get("status") == condition.status else None
    return structs.replace(condition, last_transition_time=since or time_text(now), observed_generation=generation)


def _with_applied(reference: ConfigReference, applied: Mapping[tuple[str, ...], Tree | None]) -> ConfigReference:
    if reference.last_applied_config is not None:
        return reference
    known = applied.get(_identity(msgspec.to_builtins(reference)))
    if known is None:
        return reference
    return msgspec.convert({**msgspec.to_builtins(reference), "lastAppliedConfig": known}, ConfigReference)


def _identity(reference: Tree) -> tuple[str, ...]:
    return tuple(str(reference.get(name, "")) for name in ("group", "resource", "namespace", "name"))


def _comparable(status: Tree, fields: Iterable[str]) -> Tree:
    """What of a status is ours, with conditions by type."""
    conditions = {each.get("type"): each for each in status.get("conditions", ()) if each.get("type") in OURS}
    return {**{name: status.get(name) for name in fields}, "conditions": conditions}


def _tree(text: msgspec.Raw) -> Tree:
    return msgspec.json.decode(text) or {}
