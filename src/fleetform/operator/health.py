"""Whether a replica is alive, and whether it is ready: what its supervisor asks.

Alive is about this process alone, so that starting it again can help: every thread that must run does, and those that
go round and round do. An API server that does not answer kills nobody. Ready is about what it has to give: the fleet
was read, and reviews are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fleetform.operator.leases import boot_time


class Vital(NamedTuple):
    """Something that must run. went_on_at is when it last did something, and longest for how many seconds it may not;
    without it, it may wait for as long as it likes."""

    name: str
    runs: Callable[[], bool]
    went_on_at: Callable[[], float] | None = None
    longest: float = 0.0


class Need(NamedTuple):
    """Something without which a replica is not ready; missing says what is missing, in words."""

    is_there: Callable[[], bool]
    missing: str


class Health:
    """alive and ready give what is wrong, nothing if all is well. Any thread may ask, also before it begins."""

    def __init__(self, clock: Callable[[], float] = boot_time) -> None:
        self._clock = clock
        self._vitals: Sequence[Vital] = ()
        self._needs: Sequence[Need] = (Need(lambda: False, "it is starting"),)
        self._is_ending: Callable[[], bool] = lambda: False

    def begin(self, vitals: Sequence[Vital], needs: Sequence[Need], is_ending: Callable[[], bool]) -> None:
        """Everything was started. While it is ending, what ends need not run."""
        self._vitals, self._needs, self._is_ending = vitals, needs, is_ending

    def alive(self) -> list[str]:
        return [each for each in map(self._wrong, self._vitals) if each and not self._is_ending()]

    def ready(self) -> list[str]:
        if self._is_ending():
            return ["it is ending"]
        return [need.missing for need in self._needs if not need.is_there()]

    def _wrong(self, vital: Vital) -> str:
        if not vital.runs():
            return f"{vital.name} has ended"
        silent = self._clock() - vital.went_on_at() if vital.went_on_at is not None else 0.0
        return f"{vital.name} has stood still for {silent:.0f} s" if silent > vital.longest else ""
