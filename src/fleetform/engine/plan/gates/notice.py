"""notice: a version is announced some time before it starts (R2-28); it concerns versions only (S46)."""

from __future__ import annotations

from fleetform.engine.plan.records import Candidate, Reason
from fleetform.engine.plan.view import View
from fleetform.model.state import PluginState


def notice(view: View, candidate: Candidate, progress: PluginState) -> Reason | None:
    until = candidate.not_before
    if until is None or view.now >= until or view.emergency:
        return None
    if progress.admitted is None or "version" not in candidate.kinds:
        return None
    return Reason("notice", f"{candidate.wanted.version} was announced and may not start yet", "wait", until=until)
