"""Every gate alone, and every pair: what holds is told, and nothing starts that anything holds."""

from __future__ import annotations

from itertools import combinations

import pytest
from msgspec import structs

from fleetform.engine.plan.earliest import deciding, earliest_start
from fleetform.engine.plan.records import Reason
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.reasons import TIMING_GATES, VALIDITY_GATES
from fleetform.model.results.decisions import Gate
from fleetform.model.state import PluginState
from support.held import ALONE, APART, LATER, TOGETHER, Held, held_by
from support.plans import DAY, HOUR, NOON, OLD, candidate, key, play, stages

PAIRS = [pair for pair in combinations(sorted(TOGETHER), 2) if set(pair) not in APART]
HOLD_ALL = {"stage", "soak", "wait", "approval", "suspended", "budget"}
TIMED = ["soak", "wait", "notice", "freeze", "window"]


def test_without_a_gate_it_starts() -> None:
    assert held_by().go() == ["x"]


@pytest.mark.rule("R2-30")
@pytest.mark.parametrize("gate", sorted(ALONE))
def test_a_gate_alone_holds_and_is_told(gate: str) -> None:
    hand = held_by(gate)
    step = hand.step("x")
    assert [reason.gate for reason in step.reasons] == [gate]
    assert step.action in ("wait", "block")
    assert "x" not in hand.go()
    (reason,) = step.reasons
    assert reason.gate in TIMING_GATES | VALIDITY_GATES
    assert reason.message
    assert reason.do
    assert (reason.until is not None) == (gate in [*TIMED, "unreachable"])


@pytest.mark.parametrize(("first", "second"), PAIRS, ids="+".join)
def test_two_gates_hold_together_and_both_are_told(first: str, second: str) -> None:
    hand = held_by(first, second)
    assert set(hand.gates("x")) == {first, second}
    assert "x" not in hand.go()


@pytest.mark.parametrize("pair", [tuple(sorted(each)) for each in APART], ids="+".join)
def test_gates_that_rule_each_other_out_still_hold(pair: tuple[str, str]) -> None:
    hand = held_by(*pair)
    assert set(hand.gates("x")) & set(pair)
    assert "x" not in hand.go()


def test_every_code_of_the_closed_list_has_a_test() -> None:
    # test_failures, below, test_deletions, loop/test_unrendered
    elsewhere = {"rejected", "render-failed", "deletes", "render"}
    assert set(ALONE) | elsewhere == TIMING_GATES | VALIDITY_GATES


@pytest.mark.rule("S48")
@pytest.mark.parametrize(
    ("gate", "state"),
    [
        ("veto", "Blocked"),
        ("required-option", "Blocked"),
        ("budget", "Blocked"),
        ("suspended", "Paused"),
        ("window", "Waiting"),
        ("approval", "Waiting"),
        ("stage", "Waiting"),
    ],
)
def test_a_state_says_whether_somebody_must_act(gate: str, state: str) -> None:
    assert held_by(gate).step("x").state == state


@pytest.mark.parametrize("gate", sorted(set(TOGETHER) - HOLD_ALL))
def test_a_cluster_that_may_not_start_takes_no_slot(gate: str) -> None:
    held = Held()
    held.rules["prod"]["max_concurrency"] = 1
    held.y = PluginState(OLD, OLD)
    TOGETHER[gate](held)
    assert held.hand().go() == ["y"], "the only slot goes to the one that may start"


def test_slots_go_in_order_of_names() -> None:
    hand = play([candidate(name) for name in "abc"], Policy(stages=stages(all={"max_concurrency": 2})))
    assert hand.go() == ["a", "b"]
    assert hand.gates("c") == ["concurrency"]


@pytest.mark.rule("B2")
def test_what_could_not_be_rendered_is_blocked_without_a_slot_and_costs_no_budget() -> None:
    held = Held()
    held.mine["render_failed"] = "h1:new"
    hand = held.hand()
    assert hand.gates("x") == ["render-failed"]
    assert hand.look().owners[0].stages[1].failed == 0
    hand.edit("x", wanted=structs.replace(hand.world.changes[0].candidates[1].wanted, input_hash="h1:mended"))
    assert hand.go() == ["x"]


@pytest.mark.rule("B11")
def test_a_forced_version_that_is_blocked_says_so() -> None:
    gate = Gate("required-option", "admin.password has no value", "set it")
    reason = play([candidate("a", gates=(gate,), forced=True)]).step("a").reasons[0]
    assert reason.gate == "required-option"
    assert "ForcedButBlocked" in reason.message


@pytest.mark.rule("B11", "R2-49")
@pytest.mark.parametrize("gate", ["window", "freeze", "stage", "budget", "approval"])
def test_a_forced_version_passes_no_gate_of_time(gate: str) -> None:
    held = Held()
    held.x["forced"] = True
    TOGETHER[gate](held)
    assert held.hand().gates("x") == [gate]


@pytest.mark.rule("R2-28", "S46")
def test_notice_concerns_versions_of_what_is_installed() -> None:
    waits = candidate("a", not_before=LATER)
    assert play([waits]).gates("a") == ["notice"]
    assert play([structs.replace(waits, kinds=frozenset({"values"}))]).go() == ["a"]
    assert play([waits], states={key("a"): PluginState()}).go() == ["a"]


# ---- The deciding gate, and when it starts


def test_the_deciding_gate_is_one_that_somebody_must_open_else_the_last() -> None:
    window = Reason("window", "", "", NOON + HOUR)
    freeze = Reason("freeze", "", "", NOON + DAY)
    veto = Reason("veto", "", "")
    assert deciding((window, freeze)) is freeze
    assert deciding((window, veto, freeze)) is veto
    assert deciding(()) is None


def test_the_earliest_start_is_where_window_and_freeze_both_allow_it() -> None:
    calendar = Calendar(
        (Window("nights", "0 22 * * *", 4 * HOUR),),
        (Window("holidays", begin=NOON, end=NOON + 3 * DAY),),
    )
    hand = play([candidate("a", calendar=calendar)])
    found = earliest_start(hand.look(), hand.step("a"))
    assert found.at == NOON + 3 * DAY + 10 * HOUR
    assert found.conditions == ()
    hand.now = found.at
    assert hand.go() == ["a"]


def test_what_others_must_do_is_a_condition_of_the_earliest_start() -> None:
    hand = held_by("approval", "window")
    found = earliest_start(hand.look(), hand.step("x"))
    assert found.at == LATER
    assert [reason.gate for reason in found.conditions] == ["approval"]
    assert found.decider is not None
    assert found.decider.gate == "approval"


def test_a_window_that_never_opens_leaves_no_earliest_start() -> None:
    hand = play([candidate("a", calendar=Calendar((Window("over", begin=NOON - DAY, end=NOON - HOUR),)))])
    assert earliest_start(hand.look(), hand.step("a")).at is None


def test_reasons_stand_in_the_order_of_the_chain() -> None:
    gates = held_by("window", "veto", "approval", "suspended", "required-option", "freeze").gates("x")
    assert gates == ["suspended", "approval", "required-option", "veto", "freeze", "window"]


def test_all_changes_of_a_wide_change_are_planned_whatever_their_order() -> None:
    hand = held_by("in-flight")
    turned = structs.replace(hand.world, changes=hand.world.changes[::-1])
    steps = {step.key: (step.action, step.reasons) for step in hand.look().steps}
    hand.world = turned
    assert {step.key: (step.action, step.reasons) for step in hand.look().steps} == steps
