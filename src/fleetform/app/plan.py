"""plan: what starts now, what waits grouped by stage, and when to look again. It writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fleetform.app.answering.changed_objects import changed_objects
from fleetform.app.answering.references import reported
from fleetform.app.answering.waits import Waits, is_unrendered
from fleetform.app.consents import consent_findings
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.plan import next_look_of
from fleetform.engine.plan.records import OwnerPlan, StageCount, Step
from fleetform.model.answers.planning import (
    ConsentNeeded,
    FailureBudget,
    PlanAnswer,
    PlannedRollout,
    PlannedStage,
    Removals,
    StageClusters,
    WhyItem,
)
from fleetform.syntax.times import time_text
from fleetform.syntax.versions import VersionError, parse_version


def plan_answer(fleet: Fleet, scope: Scope) -> PlanAnswer:
    """A plan of the owners that have plugins in a scope; those that have nothing to do are counted."""
    found = fleet.plan
    waits = Waits(fleet)
    rollouts, up_to_date = [], 0
    moving = []
    for owner in found.owners:
        steps = [each for each in owner.steps if scope.holds_plugin(fleet, each.key)]
        idle = [each for each in steps if each.state == "UpToDate"]
        up_to_date += len(idle)
        running = owner.rollout is not None and owner.rollout.is_open
        if len(idle) < len(steps) or (running and steps):
            rollouts.append(_rollout(fleet, waits, owner, steps))
            moving.append(owner)
    gone = [each for each in found.removals if scope.holds_plugin(fleet, each.key) and each.state != "UpToDate"]
    problems = [each for each in fleet.findings.of_objects if scope.concerns(each.object)]
    consents = consent_findings(fleet, moving, [each.key for each in gone])
    next_look = found.next_look
    if scope.visible is not None:
        owners = [each for each in found.owners if scope.holds(each.change.owner)]
        next_look = next_look_of(owners, (each for each in found.removals if scope.holds_plugin(fleet, each.key)))
    return PlanAnswer(
        at=time_text(found.at),
        rollouts=sorted(rollouts, key=lambda each: (each.organization, each.preset, each.name or "")),
        removals=Removals(
            start=waits.items(each for each in gone if each.action == "delete"),
            waiting=waits.items(each for each in gone if each.action != "delete"),
        ),
        up_to_date=up_to_date,
        next_look_at=time_text(next_look) if next_look is not None else None,
        diagnostics=reported([*problems, *consents], fleet.input.locator),
    )


def _rollout(fleet: Fleet, waits: Waits, owner: OwnerPlan, steps: list[Step]) -> PlannedRollout:
    rollout = owner.rollout if owner.rollout is not None and owner.rollout.is_open else None
    counts = owner.stages if rollout is not None else ()
    by_stage: dict[str | None, list[Step]] = {each.name: [] for each in counts}
    beside: list[Step] = []
    for step in steps:
        by_stage.get(step.stage, beside).append(step)
    moving = [each for each in beside if each.state != "UpToDate"]
    items = {step.key: waits.item(step) for step in steps if step.state != "UpToDate"}
    stages = []
    for count in counts:
        assert rollout is not None
        consent = waits.consent(owner, rollout, count) if count.approvals_needed else None
        stages.append(_stage(count, by_stage[count.name], items, consent))
    return PlannedRollout(
        organization=owner.change.owner.organization,
        name=rollout.name if rollout is not None else None,
        preset=owner.change.owner.name,
        change_id=rollout.change_id if rollout is not None else owner.change.change_id,
        phase=rollout.phase if rollout is not None else None,
        from_=versions(each.from_ for each in items.values()),
        to=versions(each.to for each in items.values()),
        unknown=sum(each.unknown for each in items.values()),
        stages=stages,
        beside=_beside(moving, items) if moving else None,
        queued=rollout.queued if rollout is not None else None,
        changes=changed_objects(fleet.state, fleet.owner_changes, owner.change.owner),
    )


def _stage(
    count: StageCount, steps: list[Step], items: dict[tuple[str, str, str], WhyItem], consent: ConsentNeeded | None
) -> PlannedStage:
    return PlannedStage(
        name=count.name,
        start=sorted(each.key[1] for each in steps if _starts(each, items)),
        waiting=[items[each.key] for each in steps if each.key in items and not _starts(each, items)],
        done=sorted(each.key[1] for each in steps if each.state == "UpToDate"),
        budget=FailureBudget(max=count.budget, used=count.failed),
        clusters=stage_clusters(count, sum(each.is_start for each in steps)),
        approvals=consent,
        soak_until=time_text(count.soaked_at) if count.soaked_at is not None else None,
    )


def _starts(step: Step, items: Mapping[tuple[str, str, str], WhyItem]) -> bool:
    return step.is_start and not is_unrendered(items[step.key].trouble)


def stage_clusters(count: StageCount, starting: int) -> StageClusters:
    """A stage in numbers, as it stands: what starts in this plan waits until somebody carries it out."""
    return StageClusters(
        total=count.total,
        updated=count.in_flight - starting + count.soaking + count.done + _settled_failures(count),
        healthy=count.soaking + count.done,
        failed=count.failed,
        unreachable=count.absent,
        waiting=count.waiting + starting,
    )


def _settled_failures(count: StageCount) -> int:
    """Failures that are not being tried again; those that are count as in flight."""
    accounted = count.waiting + count.in_flight + count.soaking + count.done + count.absent
    return max(count.total - accounted, 0)


def _beside(steps: list[Step], items: dict[tuple[str, str, str], WhyItem]) -> PlannedStage:
    """What no stage of a rollout holds: clusters that join, changes that are not staged, those without a stage."""
    starts = [each for each in steps if _starts(each, items)]
    others = [each for each in steps if not _starts(each, items)]
    return PlannedStage(
        name="",
        start=sorted(each.key[1] for each in starts),
        waiting=[items[each.key] for each in others],
        done=[],
        budget=FailureBudget(max=0, used=0),
        clusters=StageClusters(
            total=len(steps),
            updated=sum(items[each.key].state == "InFlight" for each in others),
            healthy=0,
            failed=sum(each.state == "Failed" for each in others),
            unreachable=sum(each.state == "Unreachable" for each in others),
            waiting=sum(each.is_free or each.action in ("wait", "block") for each in others),
        ),
        approvals=None,
        soak_until=None,
    )


def versions(found: Iterable[str | None]) -> list[str]:
    """Distinct versions, lowest first."""
    return sorted({each for each in found if each is not None}, key=_version)


def _version(text: str) -> tuple[int, object, str]:
    try:
        return 1, parse_version(text), text
    except VersionError:
        return 0, 0, text
