"""Deletions: a planned change; few go, many wait for approval, none goes after an incomplete load."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan.records import Approval, ClusterFacts, Removal, World
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.results.advice import Advice
from fleetform.model.state import PluginState
from support.plans import CHANGE, HOUR, NOON, OLD, OWNER, Hand, key


def removing(count: int, installed: int = 100, **fields: Any) -> Hand:
    states = {key(f"c{each:03}"): PluginState(OLD, OLD) for each in range(installed)}
    removals = tuple(
        structs.replace(Removal(name, OWNER, CHANGE, ClusterFacts(*name[:2]), rollout="certs-aaaaaaaa"), **fields)
        for name in list(states)[:count]
    )
    return Hand(World((), states, removals))


def deleted(hand: Hand) -> int:
    return sum(step.action == "delete" for step in hand.look().removals)


@pytest.mark.rule("B22")
@pytest.mark.parametrize(("count", "installed", "goes"), [(3, 10, 3), (4, 10, 0), (5, 100, 5), (6, 119, 0)])
def test_more_than_a_share_or_three_wait_for_approval(count: int, installed: int, goes: int) -> None:
    hand = removing(count, installed)
    assert deleted(hand) == goes
    if not goes:
        reason = hand.look().removals[0].reasons[0]
        assert reason.gate == "deletes"
        assert isinstance(reason.do, Advice)
        assert (reason.do.deed, reason.do.rollout, reason.do.stage) == ("approve", "certs-aaaaaaaa", "deletes")
        assert reason.do.change_id == CHANGE


@pytest.mark.rule("B22", "B26")
def test_an_approval_of_this_very_change_lets_them_go() -> None:
    consent = Approval("certs-aaaaaaaa", "deletes", CHANGE, "", "bob")
    assert deleted(removing(50, approvals=(consent,))) == 50
    assert deleted(removing(50, approvals=(consent,), authors=frozenset({"bob"}))) == 0
    assert deleted(removing(50, approvals=(structs.replace(consent, change_id="c1:other"),))) == 0


@pytest.mark.rule("B22")
def test_nothing_is_deleted_after_a_load_or_render_that_was_not_whole() -> None:
    hand = removing(1)
    hand.world = structs.replace(hand.world, complete=False)
    assert deleted(hand) == 0
    assert "nothing counts as removed" in hand.look().removals[0].reasons[0].message


@pytest.mark.rule("B22")
def test_what_is_retained_is_not_deleted_and_does_not_count() -> None:
    hand = removing(50, retain=True)
    assert deleted(hand) == 0
    assert {step.action for step in hand.look().removals} == {"nothing"}


@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        ({"cluster": ClusterFacts("acme", "c000", hold="no")}, "veto"),
        ({"cluster": ClusterFacts("acme", "c000", silent_since=NOON - HOUR)}, "unreachable"),
        ({"calendar": Calendar((Window("nights", "0 22 * * *", HOUR),))}, "window"),
        ({"calendar": Calendar(hard=(Window("f", begin=NOON, end=NOON + HOUR),))}, "freeze"),
    ],
)
def test_a_removal_passes_the_gates_of_its_cluster(fields: dict[str, Any], gate: str) -> None:
    hand = removing(1, **fields)
    assert [reason.gate for reason in hand.look().removals[0].reasons] == [gate]


def test_dependents_go_before_what_they_depend_on() -> None:
    crds, certs = key("a", "crds"), key("a", "certs")
    facts = ClusterFacts("acme", "a")
    removals = (Removal(crds, OWNER, CHANGE, facts, dependents=("certs",)), Removal(certs, OWNER, CHANGE, facts))
    hand = Hand(World((), {crds: PluginState(OLD, OLD), certs: PluginState(OLD, OLD)}, removals))
    steps = hand.look().removals
    assert [reason.gate for reason in steps[0].reasons] == ["dependency"]
    assert steps[1].action == "delete"
    hand.world = World((), {crds: PluginState(OLD, OLD)}, removals[:1])
    assert deleted(hand) == 1
