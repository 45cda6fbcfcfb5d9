"""Fleets for planning: worlds in a line, and a hand that plays them: plan, store, observe, let time pass."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import Health, Patience, observed
from fleetform.engine.plan.records import Approval, Candidate, Change, ClusterFacts, Limits, Plan, Step, World
from fleetform.engine.plan.rollouts import Policy, Rollout
from fleetform.engine.plan.stages import StageRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import Deployed, PluginState

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)  # a Monday
HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
OWNER = Ref("PluginPreset", "acme", "certs")
OLD = Deployed("1.0.0", "certs", "h1:old")
NEW = Deployed("1.1.0", "certs", "h1:new")
NEWER = Deployed("1.2.0", "certs", "h1:newer")
CHANGE, NEXT_CHANGE = "c1:aaaaaaaa11", "c1:bbbbbbbb22"
NIGHTS = Calendar((Window("nights", "0 22 * * *", timedelta(hours=4)),))
NO_RETRIES = Limits(patience=Patience(retries=0))


def key(cluster: str, plugin: str = "certs") -> PluginKey:
    return "acme", cluster, plugin


def candidate(cluster: str, stage: str | None = "all", **fields: Any) -> Candidate:
    plugin = fields.pop("plugin", "certs")
    facts = ClusterFacts("acme", cluster, fields.pop("hold", None), fields.pop("silent_since", None))
    return Candidate(key(cluster, plugin), facts, fields.pop("wanted", NEW), stage, **fields)


def stages(**rules: dict[str, Any]) -> tuple[StageRule, ...]:
    return tuple(StageRule(name, **fields) for name, fields in rules.items())


def world_of(
    candidates: Iterable[Candidate],
    policy: Policy | None = None,
    states: dict[PluginKey, PluginState] | None = None,
    limits: Limits = NO_RETRIES,
    **change: Any,
) -> World:
    """One owner's world; clusters of which nothing is said run the old version well."""
    found = tuple(candidates)
    fields = {"owner": OWNER, "change_id": CHANGE, **change}
    known = {each.key: PluginState(OLD, OLD) for each in found} | (states or {})
    return World((Change(candidates=found, policy=policy or Policy(), **fields),), known, limits={"acme": limits})


def _said(found: Plan) -> tuple[object, ...]:
    owners = [(each.rollout, each.replaced, each.steps, each.moves, each.is_idle) for each in found.owners]
    return owners, found.removals, found.starts, found.next_look, found.is_idle


class Hand:
    """Plays one world. Every plan it makes is stored, unless it only looks."""

    def __init__(self, world: World, now: datetime = NOON) -> None:
        self.world, self.now = world, now
        self._last: Plan | None = None

    def look(self) -> Plan:
        """The plan of now. What it takes over from the one before changes nothing that is done or told of a plugin."""
        found, anew = plan(self.world, self.now, self._last), plan(self.world, self.now)
        assert _said(found) == _said(anew)
        self._last = found
        return found

    def go(self) -> list[str]:
        """Plans and stores until nothing more happens at this time. The clusters that were started or rolled back."""
        started: list[str] = []
        for _ in range(10):
            found = self.look()
            started += [step.key[1] for step in found.starts]
            if found.is_idle:
                return started
            self.world = after(self.world, writes(found))
        raise AssertionError("ten plans at one time, and still something to store")

    def observe(self, health: Health, *clusters: str, plugin: str = "certs") -> None:
        states = dict(self.world.states)
        for cluster in clusters:
            progress = states[key(cluster, plugin)]
            assert progress.attempt is not None, f"nothing was started on {cluster}"
            states[key(cluster, plugin)] = observed(progress, progress.attempt.input_hash, health, self.now)
        self.world = structs.replace(self.world, states=states)

    def healthy(self, *clusters: str, plugin: str = "certs") -> None:
        self.observe("Healthy", *clusters, plugin=plugin)

    def fail(self, *clusters: str, plugin: str = "certs") -> None:
        self.observe("Failed", *clusters, plugin=plugin)

    def wait(self, time: timedelta) -> list[str]:
        self.now += time
        return self.go()

    def sleep(self) -> list[str]:
        """Exactly until the next look."""
        look = self.look().next_look
        assert look is not None, "nothing to wake up for"
        self.now = look
        return self.go()

    def change(self, **fields: Any) -> None:
        self.world = structs.replace(self.world, changes=(structs.replace(self.world.changes[0], **fields),))

    def edit(self, cluster: str, **fields: Any) -> None:
        """Changes one candidate, or the facts of its cluster."""
        facts = {name: fields.pop(name) for name in ("hold", "silent_since") if name in fields}

        def edited(each: Candidate) -> Candidate:
            if each.key[1] != cluster:
                return each
            return structs.replace(each, cluster=structs.replace(each.cluster, **facts), **fields)

        self.change(candidates=tuple(edited(each) for each in self.world.changes[0].candidates))

    def want(self, wanted: Deployed, change_id: str = NEXT_CHANGE) -> None:
        """A newer change, for all clusters."""
        candidates = tuple(structs.replace(each, wanted=wanted) for each in self.world.changes[0].candidates)
        self.change(candidates=candidates, change_id=change_id)

    def approve(
        self, stage: str, *users: str, groups: frozenset[str] = frozenset(), bound: dict[str, str] | None = None
    ) -> None:
        rollout = self.rollout
        fields = {"rollout": rollout.name, "change_id": rollout.change_id, "policy": rollout.policy.digest}
        fields |= bound or {}
        given = [
            Approval(fields["rollout"], stage, fields["change_id"], fields["policy"], user, groups) for user in users
        ]
        self.change(approvals=(*self.world.changes[0].approvals, *given))

    def ask(self, rollout: Rollout) -> None:
        """What a person asked of the rollout is stored."""
        self.change(rollout=rollout)

    @property
    def rollout(self) -> Rollout:
        rollout = self.look().owners[0].rollout
        assert rollout is not None, "there is no rollout"
        return rollout

    def phase(self) -> str:
        return self.rollout.phase

    def step(self, cluster: str, plugin: str = "certs") -> Step:
        return next(each for each in self.look().steps if each.key == key(cluster, plugin))

    def gates(self, cluster: str, plugin: str = "certs") -> list[str]:
        return [reason.gate for reason in self.step(cluster, plugin).reasons]

    def progress(self, cluster: str, plugin: str = "certs") -> PluginState:
        return self.world.states[key(cluster, plugin)]

    def version(self, cluster: str) -> str | None:
        admitted = self.progress(cluster).admitted
        return admitted.version if admitted is not None else None


def play(candidates: Iterable[Candidate], policy: Policy | None = None, **fields: Any) -> Hand:
    now = fields.pop("now", NOON)
    return Hand(world_of(candidates, policy, **fields), now)
