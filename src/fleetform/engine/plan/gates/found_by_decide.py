"""Validity: what keeps a plugin from its target whatever the time, as resolve found it; and failed renders (B2)."""

from __future__ import annotations

from fleetform.engine.plan.progress import Progress
from fleetform.engine.plan.records import Candidate, Reason


def validity(candidate: Candidate) -> tuple[Reason, ...]:
    forced = "ForcedButBlocked: its version has ended, and " if candidate.forced else ""
    return tuple(Reason(gate.gate, forced + gate.message, gate.do, ref=gate.ref) for gate in candidate.gates)


def render_failed(candidate: Candidate, progress: Progress, target: str | None) -> Reason | None:
    if progress.render_failed is None or progress.render_failed != target:
        return None
    message = f"what {candidate.key[2]} is made of now cannot be rendered"
    return Reason("render-failed", message, f"fleetform render {candidate.key[2]}")
