"""Verdicts: reasons that many plugins have in common, and what they come to. Made once a pass, told often."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from fleetform.engine.plan.records import Action, Reason, State
from fleetform.model.reasons import VALIDITY_GATES

Reasons = tuple[Reason, ...]
# Somebody must deal with these; time and progress open the others.
BLOCKING = VALIDITY_GATES | {"veto", "budget"}


class Verdict(Struct, frozen=True, gc=False):
    """What reasons come to: blocked if somebody must deal with any of them, else waiting, for a person or for time."""

    reasons: Reasons
    action: Action
    state: State


def verdict_of(reasons: Reasons) -> Verdict:
    gates = {reason.gate for reason in reasons}
    if gates & BLOCKING:
        return Verdict(reasons, "block", "Blocked")
    return Verdict(reasons, "wait", "Paused" if "suspended" in gates else "Waiting")


class Verdicts:
    """What plugins of one owner share: reasons by calendar, and those joined to the reasons of a stage."""

    def __init__(self) -> None:
        self.by_calendar: dict[tuple[int, bool], Reasons] = {}
        self._spread: dict[tuple[int, datetime], Reasons] = {}
        self._alone: dict[int, Reasons] = {}
        self._joined: dict[tuple[int, int], tuple[Reasons, Reasons, Verdict]] = {}

    def spread(self, calendar: int, starts: datetime, make: Callable[[], Reasons]) -> Reasons:
        """Reasons of plugins whose starts a window spreads to one time."""
        found = self._spread.get((calendar, starts))
        if found is None:
            found = self._spread[calendar, starts] = make()
        return found

    def alone(self, reason: Reason) -> Reasons:
        return self._alone.setdefault(id(reason), (reason,))

    def join(self, held: Reasons, own: Reasons) -> Verdict:
        # An entry keeps what it was made of, so that no other tuple can come to bear the same identity.
        found = self._joined.get((id(held), id(own)))
        if found is None:
            found = self._joined[id(held), id(own)] = (held, own, verdict_of(held + own))
        return found[2]
