"""Waits: how a plugin stands to what is wanted, in one sentence, and everything that holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import structs

from fleetform.app.answering.advice import in_commands
from fleetform.app.answering.references import object_reference, reference
from fleetform.app.fleet import Fleet
from fleetform.app.support_ends import EndDates
from fleetform.engine.plan.decide_by import DecideBy, Prospect
from fleetform.engine.plan.earliest import Earliest, Outlook
from fleetform.engine.plan.records import Candidate, OwnerPlan, Reason, Removal, StageCount, Step, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.world.hashes import is_known
from fleetform.engine.world.opening import is_zone
from fleetform.model.answers.base import ObjectReference
from fleetform.model.answers.planning import ConsentNeeded, HoldingGate, PluginPhase, ReportedTrouble, WhyItem
from fleetform.model.objects import Ref
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.decisions import Gate, PluginDecision, PluginKey
from fleetform.model.state import UNKNOWN, Attempt, Deployed, PluginState, Trouble
from fleetform.ports.state import KnownState
from fleetform.syntax.times import clock_text, time_text

_ONCE = {
    "stage": "the stages before it are done",
    "concurrency": "a slot of its stage is free",
    "approval": "it is approved",
    "in-flight": "the other change on the cluster is over",
    "dependency": "what it depends on is healthy",
    "queue": "the rollout that runs is over",
    "budget": "the failures are dealt with",
    "veto": "the cluster's hold is removed",
    "suspended": "it is resumed",
    "unreachable": "the cluster answers again",
    "downstream": "its value was read on the cluster",
    "deletes": "the deletions are approved",
    "rejected": "it is changed or tried again",
}
_MENDED = "what blocks it is fixed"
_UNRENDERED = "waiting, starts once what it is made of can be rendered"
_ALREADY_SAID = ("", "it failed", "it took too long")


class Waits:
    """Answers about the plugins of one plan. now is the time that people read them at, unless it is the plan's."""

    def __init__(self, fleet: Fleet, now: datetime | None = None) -> None:
        self._fleet, self._plan = fleet, fleet.plan
        self._now, self._locator = now or fleet.plan.at, fleet.input.locator
        self._ends = EndDates(fleet)
        self._outlook = Outlook(self._plan)
        self._owners: dict[PluginKey, tuple[OwnerPlan, Candidate]] = {}
        for owner in self._plan.owners:
            self._owners.update((each.key, (owner, each)) for each in owner.change.candidates)
        self._removals = {each.key: each for each in self._plan.world.removals}
        self._prospects: dict[Ref, Prospect] = {}
        self._decide_by: dict[tuple[Ref, str], DecideBy | None] = {}

    def items(self, steps: Iterable[Step]) -> list[WhyItem]:
        return [self.item(step) for step in steps]

    def item(self, step: Step) -> WhyItem:
        organization, cluster, plugin = step.key
        owner, candidate = self._owners.get(step.key, (None, None))
        removal = self._removals.get(step.key)
        rollout = self._rollout(step, owner)
        earliest = self._outlook.earliest(step)
        # The step bears what is stored once it is taken; what runs is what is stored now.
        admitted = self._plan.world.states.get(step.key, UNKNOWN).admitted
        target = _goes_to(step, candidate)
        known = target or admitted
        ref = owner.change.owner if owner is not None else removal.owner if removal is not None else None
        attempt = step.progress.attempt
        unknown = step.state != "UpToDate" and _is_unknown(admitted, candidate)
        decided = self._fleet.decisions.plugins.get(step.key)
        end = self._ends.of(decided) if decided is not None else None
        return WhyItem(
            organization=organization,
            cluster=cluster,
            plugin=plugin,
            preset=ref.name if ref is not None and ref.kind == "PluginPreset" else None,
            definition=known.definition if known is not None else None,
            state=shown_state(step),
            action=step.action,
            from_=_runs(self._plan.world.states.get(step.key, UNKNOWN)),
            to=version_of(self._fleet, step.key, target) if target is not None else None,
            unknown=unknown,
            rollout=rollout,
            stage=step.stage or None,
            since=time_text(attempt.since) if attempt is not None and step.action != "start" else None,
            earliest=time_text(earliest.at) if earliest.at is not None else None,
            summary=self._summary(step, earliest, unknown, removal)
            + _then(owner, candidate, target)
            + (self._support(decided, end) if decided is not None and end is not None else ""),
            reasons=[self._reason(step, each, earliest, candidate) for each in step.reasons],
            approvals=self._approvals(step, owner),
            trouble=trouble_of(step, self._fleet.state),
            support_ends=time_text(end) if end is not None else None,
            removal=removal is not None and not removal.retain,
        )

    def _support(self, plugin: PluginDecision, end: datetime) -> str:
        verb = "ends" if end > self._now else "ended"
        return f"; support of {plugin.running} {verb} {clock_text(end, self._now, self.zone(plugin.key))}"

    def zone(self, key: PluginKey) -> str:
        """The clock of a cluster."""
        found = self._fleet.snapshot.clusters.get(Ref("Cluster", key[0], key[1]))
        zone = found.spec.time_zone if found is not None else None
        return zone if zone is not None and is_zone(zone) else "UTC"

    def _rollout(self, step: Step, owner: OwnerPlan | None) -> str | None:
        if owner is None:
            removal = self._removals.get(step.key)
            return removal.rollout if removal is not None and not removal.retain else None
        rollout = owner.rollout
        return rollout.name if rollout is not None and rollout.is_open and step.stage is not None else None

    # ---- In one sentence

    def _summary(self, step: Step, earliest: Earliest, unknown: bool, removal: Removal | None) -> str:
        trouble = trouble_of(step, self._fleet.state)
        told = _UNRENDERED if is_unrendered(trouble) else self._told(step, earliest, removal) + trouble_text(trouble)
        if unknown:
            told += "; whether it already is what is wanted is not known here: its input hash is not"
        return told

    def _told(self, step: Step, earliest: Earliest, removal: Removal | None) -> str:
        attempt = step.progress.attempt
        if removal is not None:
            if removal.retain:
                return "it is no longer wanted, and it stays: it is retained or handed over"
            what = "is deleted" if step.action == "delete" else "waits to be deleted"
            return f"it is no longer wanted: it {what}{self._when(step, earliest)}"
        if step.action == "start":
            return "starts now: nothing holds it"
        if step.action == "rollback":
            return "rolls back now to what was healthy before"
        if step.state == "UpToDate":
            soaks = self._soaks(step) if attempt is not None else ""
            return f"up to date{soaks}{drift_text(step.progress.drift)}"
        if step.state == "InFlight" and attempt is not None:
            doing = "rolls back to what was healthy before" if attempt.back else "is being changed"
            return f"{doing}, since {self._clock(step, attempt.started)}"
        if step.state == "Failed" and attempt is not None:
            return self._failed(step, attempt, earliest)
        word = {"Blocked": "blocked", "Paused": "paused", "Unreachable": "unreachable"}.get(step.state, "waiting")
        return word + self._when(step, earliest)

    def _soaks(self, step: Step) -> str:
        attempt = step.progress.attempt
        if attempt is None or attempt.phase != "Healthy":
            return ""
        return f", healthy since {self._clock(step, attempt.since)}"

    def _failed(self, step: Step, attempt: Attempt, earliest: Earliest) -> str:
        times = "once" if attempt.failures == 1 else f"{attempt.failures} times"
        how = "took too long" if attempt.timed_out else "failed"
        why = f" ({step.progress.failure})" if step.progress.failure not in _ALREADY_SAID else ""
        return f"{how} {times}{why}, last {self._clock(step, attempt.since)}{self._again(step, earliest)}"

    def _again(self, step: Step, earliest: Earliest) -> str:
        if step.action == "wait":
            return self._when(step, earliest)
        if any(each.gate == "wait" for each in step.reasons):
            # A way back: its next try waits for the end of its rollout, which does not wait for it.
            return ", tried again once the rollout is over"
        return ", and is not tried again by itself"

    def _when(self, step: Step, earliest: Earliest) -> str:
        """When it starts at the earliest, and on what condition."""
        once = list(dict.fromkeys(_ONCE.get(each.gate, _MENDED) for each in earliest.conditions if _is_condition(each)))
        conditions = f"once {_and(once)}" if once else ""
        if earliest.at is None and any(not _is_condition(each) for each in step.reasons):
            never = "never by itself: no window opens again, or a freeze has no end"
            return f", {never}" + (f"; also {conditions}" if conditions else "")
        if earliest.at is not None and earliest.at > self._now:
            return f", earliest {self._clock(step, earliest.at)}" + (f", {conditions}" if conditions else "")
        return f", starts {conditions}" if conditions else ""

    def _clock(self, step: Step, time: datetime) -> str:
        return clock_text(time, self._now, self.zone(step.key))

    # ---- Gate by gate

    def _reason(self, step: Step, reason: Reason, earliest: Earliest, candidate: Candidate | None) -> HoldingGate:
        return HoldingGate(
            gate=reason.gate,
            message=reason.message,
            until=time_text(reason.until) if reason.until is not None else None,
            object=self._object(step, reason, candidate),
            do=in_commands(reason.do),
            decides=reason is earliest.decider,
            zone=self.zone(step.key),
        )

    def _object(self, step: Step, reason: Reason, candidate: Candidate | None) -> ObjectReference:
        """What a reason is about: the object that it names, at the place that a gate of validity knows."""
        gate = _gate_of(reason, candidate)
        if gate is not None and gate.ref is not None and gate.at is not None:
            return reference(gate.ref, gate.at, self._locator)
        snapshot = self._fleet.snapshot
        organization, cluster, _ = step.key
        ref = reason.ref
        if ref is None and reason.gate in ("veto", "unreachable", "in-flight", "dependency", "downstream"):
            ref = Ref("Cluster", organization, cluster)
        if ref is None:
            owner = self._owners.get(step.key)
            ref = owner[0].change.owner if owner is not None else Ref("Cluster", organization, cluster)
        written = ref._replace(name=ref.name.partition("/")[0]) if ref.kind == "PluginPreset" else ref
        places = (snapshot.presets, snapshot.plugins, snapshot.clusters, snapshot.overrides, snapshot.others)
        found = next((each[written] for each in places if written in each), None)
        if found is not None:
            return object_reference(found, self._locator)
        return reference(ref, None, self._locator)

    # ---- Approvals

    def _approvals(self, step: Step, owner: OwnerPlan | None) -> list[ConsentNeeded]:
        if owner is None or owner.rollout is None or not any(each.gate == "approval" for each in step.reasons):
            return []
        counts = [each for each in owner.stages if each.name == step.stage]
        return [self.consent(owner, owner.rollout, each) for each in counts if each.approvals_needed]

    def consent(self, owner: OwnerPlan, rollout: Rollout, stage: StageCount) -> ConsentNeeded:
        """Who must agree to a stage, and by when."""
        missing = stage.approvals_given < stage.approvals_needed and rollout.is_open
        due = self._due(owner, stage.name) if missing else None
        if due is None:
            return consent_needed(rollout, stage)
        costs = int(due.costs.total_seconds()) if due.costs is not None else None
        return structs.replace(
            consent_needed(rollout, stage), decide_by=time_text(due.at), end=time_text(due.end), costs=costs
        )

    def _due(self, owner: OwnerPlan, stage: str) -> DecideBy | None:
        ref = owner.change.owner
        if (ref, stage) not in self._decide_by:
            if ref not in self._prospects:
                self._prospects[ref] = prospect_of(self._plan.world, owner, self._now)
            self._decide_by[ref, stage] = self._prospects[ref].decide_by(stage)
        return self._decide_by[ref, stage]


def trouble_of(step: Step, known: KnownState) -> ReportedTrouble | None:
    """What keeps a plugin from arriving or from being judged, unless what was under way is over."""
    unrendered = known.unrendered.get(step.key) if step.is_free else None
    if unrendered is not None:
        return reported_trouble(unrendered)
    found = known.troubles.get(step.key)
    if found is None or (found.of == "health" and step.state != "InFlight"):
        return None
    return reported_trouble(found)


def is_unrendered(trouble: ReportedTrouble | None) -> bool:
    """Whether a start is not made, since something to render it is not there for now."""
    return trouble is not None and trouble.of == "render"


def consent_needed(rollout: Rollout, stage: StageCount) -> ConsentNeeded:
    """How many must agree to a stage, and how many have."""
    return ConsentNeeded(
        rollout=rollout.name, stage=stage.name, need=stage.approvals_needed, have=stage.approvals_given
    )


def prospect_of(world: World, owner: OwnerPlan, now: datetime) -> Prospect:
    """What becomes of an owner's change if all goes well: starts take the usual time or what their stage gives them,
    and nothing fails again."""
    policy = owner.rollout.policy if owner.rollout is not None else owner.change.policy
    deadlines = [rule.deadline for rule in policy.stages if rule.deadline is not None]
    patience = world.limits_of(owner.change.owner.organization).patience
    scenario = Scenario(duration=min([Scenario().duration, *deadlines]), retries=patience.retries)
    return Prospect(world, owner.change.owner, now, scenario)


def reported_trouble(trouble: Trouble) -> ReportedTrouble:
    return ReportedTrouble(
        of=trouble.of,
        message=trouble.message,
        do=trouble.hint,
        where=trouble.where,
        since=time_text(trouble.since),
        tries=trouble.tries,
        next_try=time_text(trouble.retry_at) if trouble.retry_at is not None else None,
    )


def trouble_text(trouble: ReportedTrouble | None) -> str:
    """That there is something in the way, in a word: what it is stands beside."""
    said = {"delivery": "; it cannot be delivered", "removal": "; its files cannot be removed"}
    return said.get(trouble.of, "") if trouble is not None else ""


def drift_text(files: Sequence[str]) -> str:
    """That files are not as they were delivered."""
    if not files:
        return ""
    more = f" and {len(files) - 3:,} more" if len(files) > 3 else ""
    return f"; drifted: {', '.join(files[:3])}{more} not as delivered"


def shown_state(step: Step) -> PluginPhase:
    """What a plugin has come to so far: what a plan starts has not started yet."""
    return "Waiting" if step.is_start or step.action == "delete" else step.state


def _runs(state: PluginState) -> str | None:
    """The version that a plugin comes from: while it is being changed, the one that was healthy before."""
    attempt, place = state.attempt, state.enrolment
    moving = attempt is not None and attempt.phase != "Healthy" and not attempt.back
    if moving and place is not None and attempt is not None and attempt.rollout == place.rollout:
        return place.before.version if place.before is not None else None
    return state.admitted.version if state.admitted is not None else None


def _is_unknown(admitted: Deployed | None, candidate: Candidate | None) -> bool:
    """Whether nobody can tell here if a plugin is what is wanted."""
    if candidate is None or admitted is None:
        return False
    same = admitted.version == candidate.wanted.version and admitted.definition in (None, candidate.wanted.definition)
    return same and not (is_known(admitted.input_hash) and is_known(candidate.wanted.input_hash))


def version_of(fleet: Fleet, key: PluginKey, target: Deployed) -> str | None:
    """The version that a plugin goes to; what its owner asks for, a pin or a range, where no version answers that."""
    plugin = fleet.decisions.plugins.get(key)
    return target.version or (plugin.target.wanted if plugin is not None else None)


def _goes_to(step: Step, candidate: Candidate | None) -> Deployed | None:
    """What a plugin is being changed to, or will be: once that is under way, files that changed since do not count."""
    if step.target is not None or candidate is None:
        return step.target
    return step.progress.admitted if step.state == "InFlight" else candidate.wanted


def _then(owner: OwnerPlan | None, candidate: Candidate | None, target: Deployed | None) -> str:
    """That what it waits for is not the last: a newer change is queued behind the rollout that runs (B8)."""
    rollout = owner.rollout if owner is not None else None
    if rollout is None or not rollout.is_open or rollout.queued is None or candidate is None or target is None:
        return ""
    newer = candidate.wanted
    if newer.input_hash == target.input_hash:
        return ""
    return f"; {newer.version if newer.version != target.version else 'a newer change'} is queued behind it"


def _gate_of(reason: Reason, candidate: Candidate | None) -> Gate | None:
    if candidate is None or reason.gate not in VALIDITY_GATES:
        return None
    return next((each for each in candidate.gates if each.gate == reason.gate and each.do == reason.do), None)


def _is_condition(reason: Reason) -> bool:
    return reason.gate not in ("window", "freeze")


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
