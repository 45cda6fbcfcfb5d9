"""Validity: what keeps a plugin from its target whatever the time, as resolve found it; and failed renders (B2)."""

from __future__ import annotations

from datetime import datetime

from fleetform.engine.plan.records import Candidate, Reason
from fleetform.model.state import PluginState


def validity(candidate: Candidate, now: datetime) -> tuple[Reason, ...]:
    """A breaking version waits for consent until it is forced (S56); nothing else of this is a question of time."""
    forced = "ForcedButBlocked: its version has ended, and " if candidate.forced else ""
    found = []
    for gate in candidate.gates:
        until = candidate.forced_at if gate.gate == "breaking" else None
        if until is None or now < until:
            found.append(Reason(gate.gate, forced + gate.message, gate.do, until, gate.ref))
    return tuple(found)


def render_failed(candidate: Candidate, progress: PluginState, target: str | None) -> Reason | None:
    if progress.render_failed is None or progress.render_failed != target:
        return None
    message = f"what {candidate.key[2]} is made of now cannot be rendered"
    return Reason("render-failed", message, f"fleetform render {candidate.key[2]}")
