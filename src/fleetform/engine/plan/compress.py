"""Compress: a world whose owners' ordinary clusters are crowds, so that simulating it costs what the others cost.

An ordinary cluster is a member of the rollout with nothing of its own to hold it, that waits, is on its way, is done or
has failed for good. Whatever differs in any way stays a candidate and is planned singly, so that both worlds play the
same: when stages start and are done, how a rollout ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import structs

from fleetform.engine.plan.crowd import Crowd, CrowdStage, Waiting
from fleetform.engine.plan.emergency import in_force
from fleetform.engine.plan.gates.chain import is_plain
from fleetform.engine.plan.members import Member, place
from fleetform.engine.plan.records import Candidate, Change, ClusterKey, World
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.stages import APPLYING, DONE, FAILED, SOAKING, WAITING, StageRule
from fleetform.engine.plan.view import StageView, View
from fleetform.engine.plan.windows.calendar import Almanac
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState

_EVER = datetime.min.replace(tzinfo=UTC)


def compressed(world: World, scenario: Scenario, now: datetime) -> World:
    """The same world at a time. Owners whose rollout does not go forward are left as they are."""
    clusters = Counter(candidate.cluster.key for change in world.changes for candidate in change.candidates)
    clusters.update(removal.cluster.key for removal in world.removals)
    changes = tuple(_Sorting(world, change, scenario, now, clusters).change for change in world.changes)
    single = {candidate.key for change in changes for candidate in change.candidates}
    single |= {removal.key for removal in world.removals}
    depended = {(*each.key[:2], name) for change in changes for each in change.candidates for name in each.depends_on}
    states = {key: world.states[key] for key in single | depended if key in world.states}
    return structs.replace(world, changes=changes, states=states)


class _Sorting:
    """One owner's candidates, sorted into the crowd and those that are planned singly."""

    def __init__(
        self, world: World, change: Change, scenario: Scenario, now: datetime, clusters: Counter[ClusterKey]
    ) -> None:
        self._scenario, self._now, self._clusters = scenario, now, clusters
        self._limits = world.limits_of(change.owner.organization)
        self._particular = {spell.cluster for spell in (*scenario.failing, *scenario.unreachable)}
        self.change = change
        rollout = change.rollout
        if rollout is not None and rollout.is_open and rollout.phase != "RollingBack":
            self.change = self._sorted(world, change, rollout)

    def _sorted(self, world: World, change: Change, rollout: Rollout) -> Change:
        members = [_member(candidate, world.states) for candidate in change.candidates]
        self._place(world, change, rollout, members)
        waiting: list[dict[tuple[int, bool, timedelta], list[tuple[int, str]]]] = [{} for _ in rollout.stages]
        calendars = {id(each.calendar): each.calendar for each in change.candidates}
        flights: list[Counter[datetime]] = [Counter() for _ in rollout.stages]
        healthy: list[Counter[datetime]] = [Counter() for _ in rollout.stages]
        failed = [0 for _ in rollout.stages]
        singly: list[Candidate] = []
        ranks: dict[PluginKey, int] = {}
        for rank, member in enumerate(members):
            if member.role == "settled":
                continue
            candidate, at = member.candidate, member.position
            rule = rollout.policy.stages[at] if at >= 0 else None
            if rule is None or not self._is_ordinary(member, rule):
                singly.append(candidate)
                ranks[candidate.key] = rank
                continue
            attempt, takes = member.progress.attempt, self._scenario.takes(candidate.key[1])
            if member.standing is WAITING:
                alike = (id(candidate.calendar), member.progress.admitted is None, takes)
                waiting[at].setdefault(alike, []).append((rank, candidate.key[1]))
            elif member.standing is FAILED:
                failed[at] += 1
            elif member.standing is APPLYING and attempt is not None:
                flights[at][max(self._now, attempt.started + takes)] += 1
            else:
                since = attempt.since if attempt is not None and member.standing is SOAKING else _EVER
                healthy[at][since] += 1
        stages = tuple(
            CrowdStage(
                tuple(
                    Waiting(calendars[calendar], first_install, takes, tuple(here))
                    for (calendar, first_install, takes), here in waiting[at].items()
                ),
                tuple(sorted(flights[at].items())),
                tuple(sorted(healthy[at].items())),
                failed[at],
            )
            for at in range(len(rollout.stages))
        )
        return structs.replace(change, candidates=tuple(singly), crowd=Crowd(stages, ranks))

    def _place(self, world: World, change: Change, rollout: Rollout, members: list[Member]) -> None:
        emergency = in_force(change, self._limits, self._now)
        view = View(self._now, change, rollout, self._limits, emergency, world.states, {}, {}, Almanac())
        times = {each.name: each for each in rollout.stages}
        view.stages = [StageView(rule, times[rule.name]) for rule in rollout.policy.stages]
        place(view, members)

    def _is_ordinary(self, member: Member, rule: StageRule) -> bool:
        candidate, progress = member.candidate, member.progress
        if member.role != "member" or member.joined or not (candidate.is_plain and is_plain(progress)):
            return False
        cluster, takes = candidate.key[1], self._scenario.takes(candidate.key[1])
        if cluster in self._particular or self._clusters[candidate.cluster.key] > 1:
            return False
        attempt = progress.attempt
        if member.standing in (WAITING, APPLYING):
            in_time = rule.deadline is None or takes <= rule.deadline
            return in_time and not self._scenario.fails(cluster, member.target.input_hash or "", self._now)
        if member.standing is FAILED:
            given_up = attempt is not None and self._limits.patience.retry_at(attempt) is None
            return given_up and not rule.failed_holds_slot
        return member.standing in (SOAKING, DONE)


def _member(candidate: Candidate, states: Mapping[PluginKey, PluginState]) -> Member:
    progress = states.get(candidate.key, UNKNOWN)
    return Member(candidate, progress, progress, candidate.wanted)
