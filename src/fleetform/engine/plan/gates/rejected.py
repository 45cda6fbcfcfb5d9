"""rejected: this very change was rolled back or aborted, or failed as often as it may (B10, B34, S50)."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.view import View
from fleetform.model.results.advice import Advice
from fleetform.model.state import Attempt


def rejected(view: View) -> Reason | None:
    change, last = view.change, view.change.rollout
    if not change.is_rejected:
        return None
    what = "was aborted" if last is not None and last.phase == "Aborted" else "failed and was rolled back"
    do = Advice("change-or-retry", change.owner.organization, change.owner)
    return Reason("rejected", f"this change {what}; it does not start again by itself", do, ref=change.owner)


def gave_up(view: View, attempt: Attempt) -> Reason:
    took = " (it took too long)" if attempt.timed_out else ""
    times = "once" if attempt.failures == 1 else f"{attempt.failures} times"
    owner = view.change.owner
    do = Advice("retry-or-change", owner.organization, owner)
    return Reason("rejected", f"it failed {times}{took} with this input and is not tried again", do)
