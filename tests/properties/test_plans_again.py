"""A plan that takes over what waits as before is the plan made anew: owners that meet on clusters, step by step."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fleetform.engine.plan.progress import Health
from fleetform.engine.plan.records import Approval, Change, Limits, World
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState
from properties.strategies import examples
from support.plans import HOUR, NIGHTS, OLD, Hand, candidate, stages

# One waits for people, one for the night, one starts at once and is in the others' way.
OWNERS, CLUSTERS = ("ca", "certs", "dns"), ("a", "b", "c")
ONE = ApprovalRule(1)
ASKING = stages(qa={"soak": HOUR, "approvals": ONE}, prod={"approvals": ONE, "max_concurrency": 1})
AT_ONCE = stages(qa={"soak": HOUR}, prod={})
STAGES = {"a": "qa", "b": "prod", "c": "prod"}
OPS = (
    "edit",
    "edit",
    "edit",
    "approve",
    "approve",
    "healthy",
    "healthy",
    "fail",
    "relapse",
    "minute",
    "hours",
    "depend",
    "edit what depends",
)


def owner_of(name: str) -> Change:
    calendar = NIGHTS if name == "certs" else Calendar()
    candidates = tuple(candidate(each, STAGES[each], plugin=name, wanted=OLD, calendar=calendar) for each in CLUSTERS)
    policy = Policy("standard", ASKING if name == "ca" else AT_ONCE, on_failure="Halt")
    return Change(owner=Ref("PluginPreset", "acme", name), change_id="c1:first", candidates=candidates, policy=policy)


class Game:
    """Every look of the hand holds a plan with the one before it against one without."""

    def __init__(self) -> None:
        changes = tuple(map(owner_of, OWNERS))
        states = {each.key: PluginState(OLD, OLD) for change in changes for each in change.candidates}
        self.hand = Hand(World(changes, states, limits={"acme": Limits()}))
        self._edits = 0

    def do(self, op: str, number: int) -> None:
        hand, index = self.hand, number % len(OWNERS)
        other = OWNERS[(index + 1 + number // len(OWNERS) % 2) % len(OWNERS)]
        change = hand.world.changes[index]
        if op in ("edit", "edit what depends"):
            self._edits += 1
            wanted = Deployed(f"1.{self._edits}.0", "certs", f"h1:{self._edits}")
            candidates = tuple(structs.replace(each, wanted=wanted) for each in change.candidates)
            if op == "edit what depends":
                first, *others = candidates
                candidates = (structs.replace(first, depends_on=(other,)), *others)
            self._put(index, structs.replace(change, candidates=candidates, change_id=f"c1:{self._edits}{'0' * 8}"))
        elif op == "approve" and change.rollout is not None:
            stage = ("qa", "prod")[number // len(OWNERS) % 2]
            rollout = change.rollout
            given_ = Approval(rollout.name, stage, rollout.change_id, rollout.policy.digest, "ada", frozenset())
            self._put(index, structs.replace(change, approvals=(*change.approvals, given_)))
        elif op == "depend":
            first, *others = change.candidates
            self._put(index, structs.replace(change, candidates=(structs.replace(first, depends_on=(other,)), *others)))
        elif op in ("healthy", "fail", "relapse"):
            self._observe("Healthy" if op == "healthy" else "Failed", op != "relapse", number)
        elif op in ("minute", "hours"):
            hand.now += timedelta(minutes=1) if op == "minute" else timedelta(hours=5)

    def _put(self, index: int, change: Change) -> None:
        changes = [*self.hand.world.changes]
        changes[index] = change
        self.hand.world = structs.replace(self.hand.world, changes=tuple(changes))

    def _observe(self, health: Health, flying: bool, number: int) -> None:
        states = self.hand.world.states.items()
        found = sorted(each for each, state in states if state.attempt is not None and state.in_flight is flying)
        if found:
            _, cluster, plugin = found[number % len(found)]
            self.hand.observe(health, cluster, plugin=plugin)


@pytest.mark.rule("R0-19")
@examples(120)
@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 11), st.booleans()), max_size=40))
def test_what_is_taken_over_from_the_plan_before_changes_nothing(moves: list[tuple[str, int, bool]]) -> None:
    game = Game()
    game.hand.go()
    for op, number, stored in moves:
        game.do(op, number)
        game.hand.look()
        if stored:
            game.hand.go()
