"""freeze: nothing starts while one holds; an emergency passes soft ones, nothing passes hard ones (B12, B13)."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.windows.calendar import Today


def freeze(today: Today, passes_soft: bool) -> Reason | None:
    found = today.hard or (None if passes_soft else today.soft)
    if found is None:
        return None
    kind = "hard freeze" if today.hard is not None else "freeze"
    do = "wait" if today.hard is not None else "wait, or declare an emergency"
    return Reason("freeze", f"the {kind} {found.name} holds", do, until=found.until)
