"""What is told of a plan, without looking at owners that have told all: it is what is told of the whole plan."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.app.answering.advice import in_commands
from fleetform.app.telling.plans import Knowledge, Quiet, plan_notices
from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.records import OwnerPlan, Plan
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.objects import Ref
from properties.strategies import examples
from properties.test_plans_again import OPS, Game


def due(_owner: OwnerPlan, rollout: Rollout, _stage: str) -> datetime:
    """Near enough to be counted down to."""
    return rollout.created + timedelta(hours=6)


class Listener:
    """Is told what each plan has to tell, by one that remembers and one that does not."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._quiet: dict[Ref, Quiet] = {}

    def hear(self, found: Plan) -> None:
        known = Knowledge(self._told, lambda _: False, due, in_commands)
        told, anew = plan_notices(found, known, found.at, self._quiet), plan_notices(found, known, found.at)
        assert (told.notices, told.look_at) == (anew.notices, anew.look_at)
        self._quiet = dict(told.quiet)
        self._told |= {each.key for each in told.notices}


@pytest.mark.rule("R2-25")
@examples(120)
@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 11)), max_size=30))
def test_owners_that_told_all_have_nothing_more_to_tell(moves: list[tuple[str, int]]) -> None:
    game, listener = Game(), Listener()
    hand, last = game.hand, None
    for op, number in [("minute", 0), *moves]:
        game.do(op, number)
        for _ in range(10):
            last = plan(hand.world, hand.now, last)
            listener.hear(last)
            if last.is_idle:
                break
            hand.world = after(hand.world, writes(last))
