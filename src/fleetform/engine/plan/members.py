"""Members: what each plugin is to its owner's rollout, and what it has come to there.

Membership is fixed when a rollout starts: who leaves is no longer among the candidates, who joins becomes a member and
gets at once what its stage has admitted (B21). Until then the rollout is all plugins that differ from what is wanted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct, structs

from fleetform.engine.plan.gates.found_by_decide import block_of, is_wanted
from fleetform.engine.plan.gates.unreachable import is_lost
from fleetform.engine.plan.progress import is_reread
from fleetform.engine.plan.records import Candidate
from fleetform.engine.plan.rollouts import Rollout, is_of_any, is_rollout_of, place_that_brought, rollout_name
from fleetform.engine.plan.stages import (
    ABSENT,
    APPLYING,
    BUSY,
    DONE,
    FAILED,
    RETRYING,
    SOAKING,
    TIMED_OUT,
    WAITING,
    StageRule,
    Standing,
)
from fleetform.engine.plan.view import View
from fleetform.model.state import Attempt, Deployed, Enrolment, PluginState

# member: of the rollout. free: starts beside it, by the gates of its own cluster. queued: behind a rollout that runs.
# settled: is what is wanted.
Role = Literal["member", "free", "queued", "settled"]
NO_STAGE = -1  # no stage selects the cluster
UNSTAGED = -2  # a kind of change that the policy does not stage
# So many changes that replaced one another may come again and go back, one after the other. Where each replaces the one
# before and none succeeds, records would grow for ever otherwise.
_MOST_EARLIER = 3


class Member(Struct, gc=False):
    """A plugin as its owner's rollout sees it now. stored is its progress before time did what it alone does.

    The rest is filled in once it is known which rollout runs (place).
    """

    candidate: Candidate
    progress: PluginState
    stored: PluginState
    target: Deployed
    role: Role = "settled"
    standing: Standing = DONE
    position: int = NO_STAGE
    soaked_at: datetime | None = None
    joined: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether what is admitted is not what the owner wants."""
        return differs(self.progress, self.candidate.wanted)

    def becomes(self, role: Role, target: Deployed, standing: Standing, position: int = NO_STAGE) -> None:
        self.role, self.target, self.standing, self.position = role, target, standing, position
        self.soaked_at, self.joined = None, False


def differs(progress: PluginState, wanted: Deployed) -> bool:
    return progress.admitted is None or progress.admitted.input_hash != wanted.input_hash


def place(view: View, members: list[Member]) -> None:
    """Fills in what each plugin is to the rollout, and what it has come to."""
    rollout = view.rollout
    name = rollout.name if rollout is not None else None
    positions = {stage.rule.name: index for index, stage in enumerate(view.stages)}
    earlier = _on_its_way_before(view, rollout) if rollout is not None else ()
    for member in members:
        enrolment = member.progress.enrolment
        if rollout is not None and enrolment is not None and enrolment.rollout == name:
            _place_enrolled(view, rollout, member, enrolment, positions)
        else:
            _place_other(view, rollout, member, positions, earlier)


def _place_enrolled(
    view: View, rollout: Rollout, member: Member, enrolment: Enrolment, positions: dict[str, int]
) -> None:
    candidate, progress, stage, target = member.candidate, member.progress, enrolment.stage, enrolment.target
    position = UNSTAGED if stage == "" else positions.get(stage, NO_STAGE) if stage is not None else NO_STAGE
    rule = rollout.policy.stages[position] if position >= 0 else None
    standing, soaked_at = stand(view, candidate, progress, target, rule)
    moved = candidate.wanted.input_hash != target.input_hash and rollout.change_id == view.change.change_id
    if moved and standing not in (APPLYING, RETRYING, SOAKING):
        # The same change means something else here by now: a value that was read on the cluster is another (B16). What
        # is under way finishes first; a cluster that is done need not wait for the others' stages again.
        target = candidate.wanted
        standing, soaked_at = stand(view, candidate, progress, target, rule)
    member.role, member.target, member.standing, member.position = "member", target, standing, position
    member.soaked_at, member.joined = soaked_at, enrolment.joined
    if (candidate.gates or enrolment.blocked) and is_wanted(candidate, enrolment.target.input_hash):
        blocked = _block_of(view, member, enrolment.target)
        if blocked != enrolment.blocked:
            place = structs.replace(enrolment, blocked=blocked)
            member.progress = structs.replace(progress, enrolment=place)


def _on_its_way_before(view: View, rollout: Rollout) -> tuple[str, ...]:
    """The names under which what a rollout brings was on its way before: its own, if it comes again; and those of
    changes that it continues."""
    change = view.change
    again = rollout.name != rollout_name(rollout.owner.name, rollout.change_id)
    continued = change.continues if rollout.change_id == change.change_id else ()
    return (rollout.change_id, *continued) if again else continued


def _place_other(
    view: View, rollout: Rollout | None, member: Member, positions: dict[str, int], earlier: tuple[str, ...]
) -> None:
    """earlier: the names under which the change was on its way before."""
    candidate, progress = member.candidate, member.progress
    admitted, wanted = progress.admitted, candidate.wanted
    if not differs(progress, wanted) and (rollout is None or not _takes_part(rollout, progress, earlier)):
        return member.becomes("settled", wanted, DONE)
    if is_reread(admitted, wanted):
        # Stages are no matter of one cluster's values (B16).
        return member.becomes("free", wanted, WAITING)
    # What its stage has admitted, for a cluster that joins before its turn (B21).
    late = candidate.baseline if admitted is None else None
    if rollout is None:
        return member.becomes("free", late if late is not None and view.change.is_rejected else wanted, WAITING)
    is_fixed = rollout.started is not None
    target: Deployed | None = wanted
    if is_fixed and rollout.change_id != view.change.change_id:
        # It finishes on what it started with, on clusters that join, too (B8).
        target = candidate.underway if admitted is None else None
    if target is None:
        return member.becomes("free", late, WAITING) if late is not None else member.becomes("queued", wanted, WAITING)
    position = _position(rollout, candidate, positions, differs(progress, target))
    rule = rollout.policy.stages[position] if position >= 0 else None
    standing, soaked_at = stand(view, candidate, progress, target, rule)
    member.becomes("member", target, standing, position)
    member.soaked_at, member.joined = soaked_at, is_fixed or late is not None
    view.joins = view.joins or is_fixed
    return None


def _takes_part(rollout: Rollout, progress: PluginState, earlier: tuple[str, ...]) -> bool:
    """Whether a plugin that has what is wanted is a member all the same.

    What is in flight holds its slot, whoever started it. Where a change comes again, because what replaced it went back
    or somebody asked for it, so is whatever has it already: what failed counts against the budget, and what is healthy
    must have soaked. It is the same where it had succeeded and goes on where it had not come to.
    """
    attempt = progress.attempt
    if attempt is None or attempt.phase == "Applying":
        return attempt is not None
    return bool(earlier) and (attempt.back or is_of_any(attempt.rollout, rollout.owner.name, earlier))


def new_place(view: View, rollout: Rollout, member: Member) -> Enrolment:
    """A member's place in a rollout, before it is started. A cluster that joins goes back to what its stage had; one
    that has this change already, or what an earlier rollout left behind, to what it had before that."""
    candidate, target, progress = member.candidate, member.target, member.progress
    before = candidate.baseline if member.joined and progress.admitted is None else None
    irreversible, brought = candidate.irreversible, place_that_brought(progress)
    known: Enrolment | None
    if brought is not None and _has_it_already(rollout, member, brought):
        known, earlier = brought, brought.earlier
    else:
        is_left = view.change.left_behind(progress) is not None
        known, earlier = progress.enrolment if is_left else None, None
        # Where what it has may be brought again, or is yet to be taken back, what was there before that is asked for.
        if brought is not None and (is_left or view.change.may_come_again(brought.rollout)):
            earlier = _kept(brought)
    if known is not None:
        before, irreversible = known.before, irreversible or known.irreversible
    stage, blocked = stage_name(rollout, member.position), _block_of(view, member, target)
    return Enrolment(rollout.name, stage, target, before, irreversible, member.joined, blocked, earlier)


def _has_it_already(rollout: Rollout, member: Member, brought: Enrolment) -> bool:
    """Whether a plugin has what a rollout brings from one of the same change, which did not come to its end."""
    same = is_rollout_of(brought.rollout, rollout.owner.name, rollout.change_id)
    return same and not differs(member.progress, member.target)


def _kept(place: Enrolment, most: int = _MOST_EARLIER) -> Enrolment | None:
    """A place as it is kept with the next one: with what was there before, and so many of those before that."""
    if place.before is None or not most:
        return None
    return structs.replace(place, earlier=_kept(place.earlier, most - 1)) if place.earlier is not None else place


def _block_of(view: View, member: Member, target: Deployed) -> str:
    """The gate to be remembered with a target. Those of a plugin that is to go back first are judged once it has."""
    if view.change.left_behind(member.progress) is not None:
        return ""
    return block_of(member.candidate, target, view.now)


def stage_name(rollout: Rollout, position: int) -> str | None:
    """A position as it is stored."""
    if position >= 0:
        return rollout.policy.stages[position].name
    return "" if position == UNSTAGED else None


def _position(rollout: Rollout, candidate: Candidate, positions: dict[str, int], is_changed: bool) -> int:
    """What has come to its target already stands in its stage: in what it differed nobody knows any more."""
    if is_changed and not candidate.kinds & rollout.policy.trigger:
        return UNSTAGED
    return positions.get(candidate.stage, NO_STAGE) if candidate.stage is not None else NO_STAGE


def stand(
    view: View, candidate: Candidate, progress: PluginState, target: Deployed, rule: StageRule | None
) -> tuple[Standing, datetime | None]:
    """What a plugin has come to with a target, by its hash alone; and when it will have soaked."""
    attempt = progress.attempt
    if attempt is None or attempt.input_hash != target.input_hash:
        return _not_started(view, candidate, progress, target), None
    if attempt.phase == "Healthy":
        soak = rule.soak if rule is not None and not view.emergency else None
        if not soak or attempt.since + soak <= view.now:
            return DONE, None
        return SOAKING, attempt.since + soak
    if attempt.phase == "Applying":
        return (RETRYING if attempt.failures else APPLYING), None
    if attempt.phase == "SetAside":
        return ABSENT, None
    return _failed(view, attempt, rule), None


def _failed(view: View, attempt: Attempt, rule: StageRule | None) -> Standing:
    """Where failed clusters hold their slots, they do so until the deadline: then nobody waits for them (S2)."""
    if rule is None or not rule.failed_holds_slot or rule.deadline is None:
        return FAILED
    until = attempt.since + rule.deadline
    if until <= view.now:
        return TIMED_OUT
    view.look_at(until)
    return FAILED


def _not_started(view: View, candidate: Candidate, progress: PluginState, target: Deployed) -> Standing:
    attempt = progress.attempt
    if attempt is not None and attempt.phase == "Applying":
        return BUSY
    if not differs(progress, target) and progress.is_healthy:
        return DONE
    if attempt is not None and attempt.phase == "Failed" and candidate.gates and view.rollout is not None:
        # What it got meanwhile, at the version that runs, is part of the same rollout and counts as such.
        return FAILED if attempt.rollout == view.rollout.name else WAITING
    return ABSENT if candidate.cluster.silent_since and is_lost(view, candidate.cluster) else WAITING
