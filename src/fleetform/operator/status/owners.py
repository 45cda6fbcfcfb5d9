"""What presets and their rollouts tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fleetform.app.answering.changed_objects import changes_text
from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_presets import preset_status
from fleetform.app.listing.list_rollouts import rollout_standing
from fleetform.app.plan import versions
from fleetform.engine.plan.records import OwnerPlan, Step
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.answers.planning import ObjectChange, RolloutAnswer, RolloutStage
from fleetform.model.kinds.status import (
    MOST_NAMED,
    ApprovalCount,
    ChangedObjectStatus,
    Condition,
    ConflictStatus,
    NotableClusters,
    PlaceInRollout,
    PluginPresetStatus,
    PresetPlugins,
    RolloutStageStatus,
    RolloutStatus,
    StageNumbers,
)
from fleetform.model.results.advice import Advice
from fleetform.model.results.decisions import Claim, PluginDecision, PluginKey
from fleetform.model.state import PluginState
from fleetform.operator.advice import with_kubectl
from fleetform.operator.status.conditions import as_status, condition, sentence, shortened

_MOST_SKIPPED = 10
_LONGEST_SUMMARY = 200


def preset_told(
    plugins: Sequence[PluginDecision],
    stored: Sequence[PluginState],
    wanted: Sequence[str | None],
    steps: Mapping[PluginKey, Step],
    lost: Sequence[Claim],
    rollout: PlaceInRollout | None,
    valid: Condition,
) -> PluginPresetStatus:
    found = preset_status(plugins, stored, wanted, steps, lost, is_state_known=True)
    counts = as_status(found.plugins, PresetPlugins)
    conflicts = [ConflictStatus(cluster=each.cluster.ref.name, with_=each.keeps.ref.name) for each in lost]
    return PluginPresetStatus(
        plugins=counts,
        versions=found.versions,
        rollout=rollout,
        conflicts=conflicts[:MOST_NAMED],
        conditions=[_ready(counts), _up_to_date(counts), valid],
    )


def _ready(counts: PresetPlugins) -> Condition:
    message = f"{counts.ready:,} of {counts.total:,} plugins have what is wanted and are healthy"
    reason = "Healthy" if counts.ready == counts.total else "Failed" if counts.failed else "NotAllReady"
    return condition("Ready", counts.ready == counts.total, reason, message)


def _up_to_date(counts: PresetPlugins) -> Condition:
    parts = {
        "Failed": counts.failed,
        "Blocked": counts.blocked,
        "Unreachable": counts.unreachable,
        "Waiting": counts.waiting,
    }
    reason = next((name for name, number in parts.items() if number), "InFlight")
    told = [f"{number:,} {name.lower()}" for name, number in parts.items() if number]
    message = ", ".join([f"{counts.updated:,} of {counts.total:,} plugins have what is wanted", *told])
    done = counts.updated == counts.total and not told
    return condition("UpToDate", done, "UpToDate" if done else reason, message)


def rollout_told(fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout) -> RolloutStatus:
    answer = rollout_standing(fleet, owner, rollout)
    stages = [_stage(each) for each in answer.stages]
    current = next((each for each in stages if each.done is None), None) if answer.ended is None else None
    notable = [as_status(each, NotableClusters) for each in answer.causes]
    return RolloutStatus(
        phase=answer.phase,
        policy=answer.policy or None,
        from_=answer.from_,
        to=answer.to,
        summary=_summary(answer),
        changes=[_changed(each) for each in answer.changes],
        stage=current.name if current is not None else None,
        waits_for=", ".join(dict.fromkeys(each.gate for each in notable if each.gate)) or None,
        clusters=_sum([each.clusters for each in stages]),
        stages=stages,
        notable=notable,
        queued=answer.queued,
        skipped=answer.skipped[-_MOST_SKIPPED:],
        rejected=answer.rejected,
        note=shortened(answer.note) or None,
        created=answer.created,
        started=answer.started,
        ended=answer.ended,
        conditions=[_complete(answer, _ended(fleet, owner, rollout, answer)), *_approval_needed(answer, current)],
    )


def _summary(answer: RolloutAnswer) -> str | None:
    """Where the version stays, what made it another change is all that tells it from the one before."""
    if answer.from_ is None or answer.from_ != answer.to or not answer.changes:
        return None
    return shortened(changes_text(answer.changes), _LONGEST_SUMMARY)


def _changed(change: ObjectChange) -> ChangedObjectStatus:
    return ChangedObjectStatus(
        kind=change.kind,
        namespace=change.organization,
        name=change.name,
        change=change.change,
        options=change.options,
    )


def _stage(stage: RolloutStage) -> RolloutStageStatus:
    asked = stage.approvals
    return RolloutStageStatus(
        name=stage.name,
        phase=stage.phase,
        clusters=as_status(stage.clusters, StageNumbers),
        approvals=ApprovalCount(need=asked.need, have=asked.have) if asked is not None else None,
        soak_until=stage.soak_until,
        started=stage.started,
        done=stage.done,
    )


def _sum(counts: Sequence[StageNumbers]) -> StageNumbers:
    names = StageNumbers.__struct_fields__
    return StageNumbers(**{name: sum(getattr(each, name) for each in counts) for name in names})


def _complete(answer: RolloutAnswer, ended: str) -> Condition:
    """True once it succeeded; what ended otherwise stays False, with the phase as the reason."""
    first = answer.causes[0].message if answer.causes else ""
    done = answer.phase == "Succeeded"
    return condition("Complete", done, answer.phase, sentence([ended, *([answer.note, first] if not done else [])]))


def _ended(fleet: Fleet, owner: OwnerPlan | None, rollout: Rollout, answer: RolloutAnswer) -> str:
    """What became of a rollout that is over."""
    if answer.phase == "Succeeded":
        brought, summary = answer.to or "it", _summary(answer)
        updated, total = (sum(getattr(each.clusters, name) for each in answer.stages) for name in ("updated", "total"))
        of = f" ({summary})" if summary else ""
        return f"{brought}{of} is on {updated:,} of {total:,} cluster{'' if total == 1 else 's'}" if total else ""
    if answer.phase != "Superseded":
        return ""
    stored = fleet.state.rollouts.rollouts.get(rollout.owner, ())
    latest = (owner.rollout,) if owner is not None and owner.rollout is not None else ()
    later = [each for each in (*stored, *latest) if each.number > rollout.number]
    if not later:
        return "nothing of it is wanted any more"
    by = min(later, key=lambda each: each.number)
    to = ", ".join(versions(by.to_versions))
    return f"replaced by {by.name}" + (f" ({to})" if to else "")


def _approval_needed(answer: RolloutAnswer, stage: RolloutStageStatus | None) -> Iterator[Condition]:
    if stage is None or stage.approvals is None or stage.approvals.have >= stage.approvals.need:
        return
    message = f"{stage.approvals.have} of {stage.approvals.need} people have approved stage {stage.name}"
    do = Advice("approve", answer.organization, None, answer.name, stage.name, answer.change_id)
    yield condition("ApprovalNeeded", True, "Approval", sentence([message, with_kubectl(do)]))
