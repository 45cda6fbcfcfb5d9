"""stage: the stages before this one are not done."""

from __future__ import annotations

from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.stages import Standing
from fleetform.engine.plan.view import StageView, View
from fleetform.model.results.advice import Advice


def earlier_stage(view: View, stage: StageView) -> StageView | None:
    """The first stage before this one that is not done."""
    for each in view.stages:
        if each is stage:
            return None
        if each.done is None:
            return each
    return None


def stage(view: View, here: StageView) -> Reason | None:
    earlier = earlier_stage(view, here)
    if earlier is None or only_soaks(earlier):
        return None
    if earlier.was_left:
        return _left(view, here, earlier)
    tally = earlier.tally
    parts = [f"{tally.of(Standing.DONE, Standing.SOAKING)} of {tally.members} are healthy"]
    parts += [f"{tally.failed} failed"] if tally.failed else []
    parts += [f"{count} cannot be reached"] if (count := tally.of(Standing.ABSENT)) else []
    message = f"stage {here.rule.name} follows {earlier.rule.name}, where {', '.join(parts)}"
    owner, rollout = view.change.owner, view.rollout.name if view.rollout is not None else ""
    return Reason("stage", message, Advice("see-earlier-stage", owner.organization, owner, rollout, earlier.rule.name))


def _left(view: View, here: StageView, earlier: StageView) -> Reason:
    rollout, owner = view.rollout.name if view.rollout is not None else "", view.change.owner
    message = f"stage {here.rule.name} follows {earlier.rule.name}, whose clusters all left before it was done"
    do = Advice("go-on-without-stage", owner.organization, owner, rollout, earlier.rule.name)
    return Reason("stage", message, do, ref=owner)


def only_soaks(earlier: StageView) -> bool:
    """Whether time alone is missing to a stage: its last clusters are healthy and soak."""
    tally = earlier.tally
    waits = tally.of(Standing.WAITING, Standing.BUSY, Standing.APPLYING, Standing.RETRYING)
    return waits == 0 and tally.soaked_at is not None and tally.failed <= earlier.budget


def no_stage(view: View) -> Reason:
    policy = view.rollout.policy.name if view.rollout is not None else view.change.policy.name
    return Reason(
        "stage", f"no stage of {policy or 'the policy'} selects this cluster", "add a stage with remainder: true"
    )
