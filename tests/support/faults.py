"""Faults for a control plane: what a real world does between any two writes, on purpose and at a chosen moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from fleetform.model.results.decisions import PluginKey
from fleetform.ports.delivery import Failure, Note, Parcel
from fleetform.ports.store import Commit, ConflictError, Store, UnavailableError
from support.plane import Plane, Targets

Kind = Literal[
    "crash-before", "crash-after", "lost-answer", "unavailable", "conflict", "partial", "twice", "clock-back"
]
AT_COMMIT: tuple[Kind, ...] = ("crash-before", "crash-after", "lost-answer", "unavailable", "conflict", "clock-back")
AT_DELIVERY: tuple[Kind, ...] = ("crash-before", "crash-after", "partial", "twice")


class CrashError(BaseException):
    """The process ends here. No handler of the product may stop it."""


@dataclass(frozen=True)
class Fault:
    """What happens at which boundary: the nth commit, or the nth delivery, counted from 1."""

    where: Literal["commit", "delivery"]
    number: int
    kind: Kind


@dataclass
class Boundaries:
    """Counts commits and deliveries, and does what the schedule says at each."""

    faults: dict[tuple[str, int], Kind] = field(default_factory=dict)
    commits: int = 0
    deliveries: int = 0

    def at(self, where: str) -> Kind | None:
        if where == "commit":
            self.commits += 1
            return self.faults.get((where, self.commits))
        self.deliveries += 1
        return self.faults.get((where, self.deliveries))


class FaultyStore:
    """A store at whose commits things happen."""

    def __init__(self, store: Store, boundaries: Boundaries, plane: Plane) -> None:
        self._store, self._boundaries, self._plane = store, boundaries, plane

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, commit: Commit, at: datetime) -> int:
        kind = self._boundaries.at("commit")
        if kind == "crash-before":
            raise CrashError
        if kind == "unavailable":
            raise UnavailableError("the disk is full", "make room")
        if kind == "conflict":
            raise ConflictError(commit.writes[0].ref, 1, 2) if commit.writes else CrashError
        version = self._store.commit(commit, at)
        if kind == "crash-after":
            raise CrashError
        if kind == "lost-answer":
            raise UnavailableError("no answer", "try again")
        if kind == "clock-back":
            self._plane.clock.at -= timedelta(hours=1)
        return version


class FaultyTargets(Targets):
    """Clusters at whose deliveries things happen."""

    def __init__(self, boundaries: Boundaries) -> None:
        super().__init__()
        self._boundaries = boundaries

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        kind = self._boundaries.at("delivery")
        if kind == "crash-before":
            raise CrashError
        if kind == "partial":
            super().deliver(parcels[: len(parcels) // 2], removals[: len(removals) // 2], note)
            raise CrashError
        found = super().deliver(parcels, removals, note)
        if kind == "twice":
            found = super().deliver(parcels, removals, note)
        if kind == "crash-after":
            raise CrashError
        return found
