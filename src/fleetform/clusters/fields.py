"""Which fields of an object are whose, as its server keeps it (`managedFields`). Pure.

Whoever changes or removes a field that we applied takes it out of our entry; what others add beside leaves it as it is.
So what is missing from our entry is what drifted, and no value has to be read to know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fleetform.clusters.ownership import MANAGER

# A tree whose leaves are empty, as the server writes it: {"f:spec": {"f:replicas": {}}}.
FieldSet = Mapping[str, Any]
FieldPath = tuple[str, ...]

_REPLICAS: FieldPath = ("f:spec", "f:replicas")
# As whom autoscalers write: the controller manager, by itself or in a program that holds it.
_AUTOSCALERS = ("kube-controller-manager", "k3s", "kubelite")


class LostField(NamedTuple):
    """A field that is no longer ours, and who has it now; "" if nobody has."""

    path: str
    manager: str

    def __str__(self) -> str:
        return f"{self.path} ({self.manager})" if self.manager else f"{self.path} (removed)"


def our_fields(live: Mapping[str, Any]) -> FieldSet:
    """The fields that our last apply set; none if the entry is gone."""
    for entry in _entries(live):
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply" and not entry.get("subresource"):
            return entry.get("fieldsV1") or {}
    return {}


def lost_fields(live: Mapping[str, Any], applied: FieldSet) -> list[LostField]:
    """What we applied and no longer have, by path; whole branches are named once. Replicas that an autoscaler set are
    none of them."""
    now = our_fields(live)
    missing = [path for path in _missing(applied, now) if path != _REPLICAS or not is_autoscaled(live)]
    # Through a subresource, too: autoscalers and `kubectl scale` set replicas so.
    others = [entry for entry in _entries(live) if entry.get("manager") != MANAGER]
    return [LostField(_text(path), _manager_of(others, path)) for path in missing]


def is_autoscaled(live: Mapping[str, Any]) -> bool:
    """Whether an autoscaler set the replicas last: people use the same subresource, under other names."""
    scaled = [each for each in _entries(live) if each.get("subresource") == "scale"]
    return any(each.get("manager") in _AUTOSCALERS and _has(each.get("fieldsV1") or {}, _REPLICAS) for each in scaled)


def paths_beyond(one: FieldSet, other: FieldSet) -> list[str]:
    """The fields that one set has and the other has not, as people write them."""
    return [_text(path) for path in _missing(one, other)]


def _entries(live: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return live["metadata"].get("managedFields") or []


def _missing(applied: FieldSet, now: FieldSet, path: FieldPath = ()) -> Iterator[FieldPath]:
    for name, below in applied.items():
        if name == ".":
            continue
        here = (*path, name)
        if name not in now:
            yield here
        else:
            yield from _missing(below or {}, now[name] or {}, here)


def _manager_of(entries: list[Mapping[str, Any]], path: FieldPath) -> str:
    """Who changed a field last: the latest entry that has it, or something in it."""
    found = [entry for entry in entries if _has(entry.get("fieldsV1") or {}, path)]
    latest = max(found, key=lambda entry: str(entry.get("time", "")), default=None)
    return str(latest.get("manager", "")) if latest is not None else ""


def _has(fields: FieldSet, path: FieldPath) -> bool:
    for name in path:
        if name not in fields:
            return False
        fields = fields[name] or {}
    return True


def _text(path: FieldPath) -> str:
    return "".join(_step(each) for each in path)


def _step(name: str) -> str:
    """One step as people write it: .spec, [name=web], [=value]."""
    kind, _, rest = name.partition(":")
    if kind == "f":
        return f".{rest}"
    try:
        key = msgspec.json.decode(rest)
    except msgspec.DecodeError:
        return f"[{rest}]"
    if kind == "k" and isinstance(key, dict):
        return "[" + ",".join(f"{field}={value}" for field, value in key.items()) + "]"
    return f"[={key}]"
