"""Records: what the planner takes and what it answers.

A World is everything that one plan depends on but the time. It is put together by whoever knows objects and selectors;
here stages, calendars and gates of validity are already those of the one plugin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, structs

from fleetform.engine.plan.crowd import Crowd
from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.rollouts import Policy, Rollout, is_brought_by, place_that_brought
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import ALWAYS, Calendar
from fleetform.model.objects import Ref
from fleetform.model.results.advice import Do
from fleetform.model.results.decisions import Gate, PluginKey
from fleetform.model.state import Deployed, PluginState

ClusterKey = tuple[str, str]


class ClusterFacts(Struct, frozen=True, gc=False):
    """What matters of a cluster: its veto, and since when it has not answered. key follows from its names."""

    organization: str
    name: str
    hold: str | None = None
    silent_since: datetime | None = None
    key: ClusterKey = ("", "")

    def __post_init__(self) -> None:
        structs.force_setattr(self, "key", (self.organization, self.name))


class Candidate(Struct, frozen=True, gc=False):
    """One plugin on one cluster, and what its owner wants of it now.

    kinds says in what it differs from what is admitted: version, values, configs, bindings. depends_on names plugins of
    the same cluster that come first. baseline, underway and earlier are for a cluster that joins (B21): what its owner
    last admitted, which it gets before the rollout has reached its stage; what the rollout that runs brings it, if that
    is not what is wanted by now (B8); and what it would have got before the last one, which has succeeded and may still
    be rolled back (S50). meanwhile is what it gets at the version that runs while gates keep it from the
    one that is wanted: a blocked upgrade does not freeze a cluster. forced_at is when a breaking version no longer
    waits for anybody's consent (S56). What is wanted always has a hash: one that cannot be known is the plugin's own,
    and equals none that is stored (B30). is_plain follows from the rest: nothing but time and its rollout can hold it.
    """

    key: PluginKey
    cluster: ClusterFacts
    wanted: Deployed
    stage: str | None
    kinds: frozenset[str] = frozenset({"version"})
    gates: tuple[Gate, ...] = ()
    not_before: datetime | None = None
    depends_on: tuple[str, ...] = ()
    irreversible: bool = False
    forced: bool = False
    calendar: Calendar = ALWAYS
    baseline: Deployed | None = None
    meanwhile: Deployed | None = None
    forced_at: datetime | None = None
    underway: Deployed | None = None
    earlier: Deployed | None = None
    is_plain: bool = False

    def __post_init__(self) -> None:
        held = self.cluster.hold is not None or self.cluster.silent_since is not None
        plain = not (held or self.gates or self.depends_on) and self.not_before is None
        structs.force_setattr(self, "is_plain", plain)


class Approval(Struct, frozen=True, gc=False):
    """A person's consent, with the groups that the person is in. policy is the digest that was in force (B26).

    also are other names that were proved to be that person's.
    """

    rollout: str
    stage: str
    change_id: str
    policy: str
    user: str
    groups: frozenset[str] = frozenset()
    organization: str = ""
    comment: str = ""
    at: datetime | None = None
    also: tuple[str, ...] = ()


class Emergency(Struct, frozen=True, gc=False):
    """An emergency that somebody declared: why, until when, and who agreed (B12)."""

    reason: str
    expires: datetime
    approved_by: frozenset[str] = frozenset()


class Change(Struct, frozen=True):
    """What one owner wants now: its plugins by cluster name, and the change that this is (B3b).

    rollout is the owner's last one, running or not, used are the names of those before, gone_back those of them that
    were rolled back, and unfinished the names of those that were replaced or aborted. authors are those who made the
    change; where nobody knows them there are none, and any approver counts (S47). contents is a hash of all objects
    that the owner's plugins are made of: while a rollout runs and they are the same, it is the same change. crowd are
    members of the rollout that are counted instead of listed. continues are changes that had succeeded with what is
    wanted, if this one goes on with them: what came after them went back, and they had not come to all plugins.
    """

    owner: Ref
    change_id: str
    candidates: tuple[Candidate, ...]
    policy: Policy = Policy()
    rollout: Rollout | None = None
    used: frozenset[str] = frozenset()
    approvals: tuple[Approval, ...] = ()
    authors: frozenset[str] = frozenset()
    emergency: Emergency | None = None
    supersede: bool = False
    suspended: bool = False
    rejected: frozenset[str] = frozenset()
    contents: str = ""
    crowd: Crowd | None = None
    gone_back: tuple[Rollout, ...] = ()
    continues: tuple[str, ...] = ()
    unfinished: frozenset[str] = frozenset()

    @property
    def is_rejected(self) -> bool:
        """Whether this very change was rolled back or aborted."""
        last = self.rollout
        by_rollout = last is not None and last.rejected and last.change_id == self.change_id
        return by_rollout or self.change_id in self.rejected

    def may_come_again(self, rollout: str) -> bool:
        """Whether what one of the owner's rollouts brought may be brought by another one as the same change."""
        last = self.rollout
        return rollout in self.unfinished or (last is not None and last.name == rollout and last.is_unfinished)

    def left_behind(self, progress: PluginState) -> Rollout | None:
        """The rollout that went back while a plugin's cluster could not be reached, if the plugin still has what that
        brought, whatever came after it; what a later one is to bring it to, too, it has from that."""
        if not self.gone_back and (self.rollout is None or not self.rollout.went_back):
            return None
        attempt, admitted, place = progress.attempt, progress.admitted, progress.enrolment
        if attempt is None or admitted is None or place is None:
            return None
        if admitted.input_hash != attempt.input_hash:
            return None
        known = place_that_brought(progress)
        brought_by = known.rollout if known is not None else attempt.rollout
        every = self.gone_back if self.rollout is None else (*self.gone_back, self.rollout)
        found = next((each for each in every if each.name == brought_by and each.went_back), None)
        return found if found is not None and is_brought_by(found, place, attempt) else None


class Removal(Struct, frozen=True, gc=False):
    """A plugin that nobody wants any more. dependents are plugins of its cluster that must go before it.

    rollout is the name under which its removal is approved, policy the digest that approvals are bound to. Where its
    cluster left the fleet nobody sees what becomes of an attempt there: it keeps nothing waiting. handed_to is the
    plugin of its cluster that has its release now, and takes over what is installed (B23).
    """

    key: PluginKey
    owner: Ref
    change_id: str
    cluster: ClusterFacts
    retain: bool = False
    dependents: tuple[str, ...] = ()
    calendar: Calendar = ALWAYS
    rollout: str = ""
    policy: str = ""
    approvals: tuple[Approval, ...] = ()
    authors: frozenset[str] = frozenset()
    cluster_left: bool = False
    handed_to: str = ""


class Limits(Struct, frozen=True):
    """What an organization's lifecycle policy says about plans."""

    patience: Patience = Patience()
    max_unreachable: int | str = "10%"
    max_deletes: int | str = "5%"
    deletes_approval: ApprovalRule = ApprovalRule(1)
    emergency_approvals: int = 1


class World(Struct, frozen=True, eq=False):
    """Everything that a plan depends on but the time. complete: all was loaded and rendered, so absence means gone.

    unrendered are plugins whose start could not be rendered a moment ago, as a source or a tool is not there.
    """

    changes: tuple[Change, ...]
    states: Mapping[PluginKey, PluginState]
    removals: tuple[Removal, ...] = ()
    limits: Mapping[str, Limits] = {}
    complete: bool = True
    unrendered: frozenset[PluginKey] = frozenset()

    def limits_of(self, organization: str) -> Limits:
        return self.limits.get(organization, STANDARD_LIMITS)


STANDARD_LIMITS = Limits()


class Reason(Struct, frozen=True, gc=False):
    """Why a plugin does not start: a gate of the closed list, a sentence, until when if that is known, what to do."""

    gate: str
    message: str
    do: Do
    until: datetime | None = None
    ref: Ref | None = None


# render: nothing holds it, and it starts once it can be rendered again.
Action = Literal["start", "render", "wait", "block", "rollback", "delete", "nothing"]
State = Literal["UpToDate", "Waiting", "Blocked", "InFlight", "Failed", "Unreachable", "Paused"]


class Step(Struct, frozen=True, gc=False):
    """What a plan says of one plugin. progress is what is stored once the step is taken."""

    key: PluginKey
    action: Action
    state: State
    progress: PluginState
    reasons: tuple[Reason, ...] = ()
    stage: str | None = None
    target: Deployed | None = None

    @property
    def is_start(self) -> bool:
        """Whether it starts something with this plan: what is wanted, or what was healthy before."""
        return self.action == "start" or self.action == "rollback"

    @property
    def is_free(self) -> bool:
        """Whether nothing holds it: it starts with this plan, or once it can be rendered."""
        return self.is_start or self.action == "render"


class StageCount(Struct, frozen=True):
    """A stage in numbers, for people and for the plan's check of itself."""

    name: str
    total: int
    waiting: int
    in_flight: int
    soaking: int
    done: int
    failed: int
    absent: int
    slots: int
    budget: int
    starts: int
    approvals_needed: int
    approvals_given: int
    started: datetime | None
    finished: datetime | None
    soaked_at: datetime | None


class OwnerPlan(Struct, frozen=True):
    """A plan for one owner: a step for each of its plugins, in the order of its candidates, and its rollout after it.

    replaced is the rollout that this one supersedes. look is the next time at which something under way is due: a
    deadline, a cluster that is set aside; next_look is that, or when something ends that its plugins wait for. moves
    are steps after which something else is stored of a plugin, starts those that start it or roll it back. is_idle:
    nothing is to be stored. crowd is the change's, after the plan. at_rest: every plugin is what is wanted, and no
    rollout is open, so that time alone changes nothing; keys are its plugins then. stands_alone: nothing of it is in
    flight, and none of its plugins depends on another, so that it has nothing to do with other owners.
    """

    change: Change
    rollout: Rollout | None
    stages: tuple[StageCount, ...]
    steps: tuple[Step, ...]
    replaced: Rollout | None = None
    look: datetime | None = None
    emergency: bool = False
    is_idle: bool = False
    crowd: Crowd | None = None
    at_rest: bool = False
    keys: frozenset[PluginKey] = frozenset()
    moves: tuple[Step, ...] = ()
    starts: tuple[Step, ...] = ()
    next_look: datetime | None = None
    stands_alone: bool = False


class Plan(Struct, frozen=True, eq=False):
    """What starts now, what waits and for what; when to look again, and until when nothing of this can change.

    is_idle: nothing is to be stored.
    """

    world: World
    at: datetime
    owners: tuple[OwnerPlan, ...]
    removals: tuple[Step, ...]
    next_look: datetime | None
    fresh_until: datetime | None
    is_idle: bool

    @property
    def steps(self) -> Iterator[Step]:
        for owner in self.owners:
            yield from owner.steps
        yield from self.removals

    @property
    def starts(self) -> list[Step]:
        deleted = [step for step in self.removals if step.action == "delete"]
        return [*(step for owner in self.owners for step in owner.starts), *deleted]

    @property
    def renders(self) -> list[Step]:
        """What would start if it could be rendered."""
        if not self.world.unrendered:
            return []
        return [step for owner in self.owners for step in owner.steps if step.action == "render"]
