"""What lost over many objects, so that ten thousand with the same conflict are read once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fleetform.engine.transform.records import Ignored, Reason


class ConflictGroup(NamedTuple):
    """One conflict, and the objects that have it, in their order."""

    plugin: str
    winner: str
    reason: Reason
    op: str
    path: str
    objects: tuple[str, ...]


def group_conflicts(ignored: Iterable[tuple[str, Iterable[Ignored]]]) -> list[ConflictGroup]:
    """Conflicts with the names of the objects that have them, the most frequent first."""
    found: dict[tuple[str, str, Reason, str, str], list[str]] = {}
    for name, each in ignored:
        for lost in each:
            key = (lost.plugin, lost.winner, lost.reason, lost.operation.op, lost.operation.path)
            found.setdefault(key, []).append(name)
    groups = [ConflictGroup(*key, tuple(dict.fromkeys(names))) for key, names in found.items()]
    return sorted(groups, key=lambda group: (-len(group.objects), group[:5]))
