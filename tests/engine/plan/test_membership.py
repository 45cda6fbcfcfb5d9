"""Membership: fixed when a rollout starts; who leaves is removed, who joins gets what its stage has admitted."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.app.answering.advice import in_commands
from fleetform.engine.plan.requests import abort, retry
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.model.results.decisions import Gate
from fleetform.model.state import PluginState
from support.plans import DAY, HOUR, MINUTE, NEW, NEWER, NIGHTS, OLD, Hand, candidate, key, play, stages

TWO = Policy("standard", stages(qa={}, prod={}))


def join(hand: Hand, cluster: str, stage: str, **fields: object) -> None:
    change = hand.world.changes[0]
    hand.change(candidates=(*change.candidates, candidate(cluster, stage, **fields)))


def leave(hand: Hand, cluster: str) -> None:
    hand.change(candidates=tuple(each for each in hand.world.changes[0].candidates if each.key[1] != cluster))


def running() -> Hand:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], TWO)
    assert hand.go() == ["q"]
    return hand


@pytest.mark.rule("B21")
def test_a_cluster_that_is_relabelled_stays_in_its_stage() -> None:
    hand = running()
    hand.edit("p", stage="qa")
    assert hand.go() == []
    assert hand.gates("p") == ["stage"]
    hand.edit("q", stage="prod")
    assert hand.go() == []
    assert hand.progress("q").enrolment is not None


@pytest.mark.rule("B21", "B24")
def test_shares_are_of_the_clusters_at_the_start() -> None:
    policy = Policy(stages=stages(all={"max_concurrency": "50%"}))
    hand = play([candidate(name) for name in "abcd"], policy)
    assert hand.go() == ["a", "b"]
    leave(hand, "c")
    leave(hand, "d")
    assert hand.look().owners[0].stages[0].slots == 2


@pytest.mark.rule("B21")
def test_a_cluster_that_leaves_does_not_hold_up_its_stage() -> None:
    hand = running()
    leave(hand, "q")
    join(hand, "r", "qa")
    hand.go()
    hand.healthy("r")
    assert hand.go() == ["p"]


def soaking() -> Hand:
    """The first stage has one cluster, healthy for half of its soak."""
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy("standard", stages(qa={"soak": HOUR}, prod={})))
    hand.go()
    hand.healthy("q")
    assert hand.wait(30 * MINUTE) == []
    return hand


@pytest.mark.rule("B21", "S45")
def test_a_stage_that_all_clusters_left_before_it_was_done_is_not_taken_for_tested() -> None:
    hand = soaking()
    leave(hand, "q")
    assert hand.wait(DAY) == []
    assert hand.gates("p") == ["stage"]
    reason = hand.step("p").reasons[0]
    assert reason.message == "stage prod follows qa, whose clusters all left before it was done"
    assert "fleetform rollout abort certs-aaaaaaaa, then fleetform rollout retry certs" in in_commands(reason.do)
    join(hand, "r", "qa")
    assert hand.go() == ["r"]
    hand.healthy("r")
    assert hand.wait(59 * MINUTE) == []
    assert hand.wait(MINUTE) == ["p"]


@pytest.mark.rule("B21", "S50")
def test_somebody_can_let_a_rollout_go_on_without_a_stage_that_was_left() -> None:
    hand = soaking()
    leave(hand, "q")
    hand.go()
    hand.ask(retry(abort(hand.rollout, hand.now), ())[0])
    assert hand.go() == ["p"]
    assert hand.rollout.name == "certs-aaaaaaaa-2"


@pytest.mark.rule("B21", "B8")
def test_a_newer_change_replaces_a_rollout_that_waits_for_a_stage_that_was_left() -> None:
    hand = soaking()
    leave(hand, "q")
    hand.go()
    hand.want(NEWER)
    assert hand.go() == ["p"]
    assert hand.version("p") == "1.2.0"


@pytest.mark.rule("B21")
def test_a_rollout_that_nobody_is_left_to_wait_for_ends() -> None:
    hand = soaking()
    leave(hand, "q")
    leave(hand, "p")
    hand.go()
    assert hand.phase() == "Succeeded"
    after_done = soaking()
    after_done.wait(HOUR)
    leave(after_done, "q")
    after_done.healthy("p")
    after_done.go()
    assert after_done.phase() == "Succeeded"


@pytest.mark.rule("B21", "S51")
def test_a_new_cluster_gets_what_its_stage_has_admitted_at_once_windows_or_not() -> None:
    hand = running()
    join(hand, "new", "qa", calendar=NIGHTS)
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.1.0"


@pytest.mark.rule("B21", "S51")
def test_a_new_cluster_does_not_wait_for_a_slot_of_its_stage() -> None:
    hand = play([candidate(name) for name in "ab"], Policy(stages=stages(all={"max_concurrency": 1})))
    assert hand.go() == ["a"]
    join(hand, "new", "all")
    assert [each.message.partition(" clusters")[0] for each in hand.step("b").reasons] == ["1 of 1"]
    assert hand.go() == ["new"]
    [reason] = hand.step("b").reasons
    assert reason.gate == "concurrency"
    assert reason.message.startswith("2 clusters of stage all are being changed, and it changes 1 at once: ")


@pytest.mark.rule("B21", "S51")
def test_a_new_cluster_of_a_stage_not_reached_gets_what_runs_there_and_then_goes_with_its_stage() -> None:
    hand = running()
    join(hand, "new", "prod", baseline=OLD)
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.0.0"
    hand.healthy("new")
    hand.go()
    assert hand.gates("new") == ["stage"]
    hand.healthy("q")
    assert sorted(hand.go()) == ["new", "p"]
    assert hand.version("new") == "1.1.0"


@pytest.mark.rule("B21", "S51", "B24")
def test_a_new_cluster_gets_what_was_admitted_before_a_rollout_that_has_halted() -> None:
    hand = running()
    hand.fail("q")
    hand.go()
    join(hand, "new", "qa", baseline=OLD)
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.0.0"
    hand.healthy("new")
    hand.go()
    assert (hand.phase(), hand.gates("new")) == ("Halted", ["budget"])
    hand.healthy("q")
    assert "new" in hand.go()
    assert hand.version("new") == "1.1.0"


@pytest.mark.rule("B21", "S45", "R2-38")
def test_a_cluster_that_joined_a_rollout_goes_back_with_it_to_what_its_stage_had() -> None:
    """It would be the only one with a version that was rejected."""
    hand = play([candidate("q", "qa"), candidate("p", "prod")], structs.replace(TWO, on_failure="Rollback"))
    hand.go()
    hand.healthy("q")
    hand.go()
    join(hand, "new", "qa", baseline=OLD)
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.1.0"
    hand.healthy("new")
    # It is installed: what its stage had is stored with its place, and not decided any more.
    hand.edit("new", baseline=None)
    hand.fail("p")
    assert sorted(hand.go()) == ["new", "p", "q"]
    assert {hand.version(each) for each in ("new", "p", "q")} == {"1.0.0"}
    hand.healthy("new", "p", "q")
    assert hand.go() == []
    assert (hand.phase(), hand.gates("new")) == ("Halted", ["rejected"])


@pytest.mark.rule("B21", "R2-38")
def test_a_cluster_whose_stage_had_nothing_before_has_nothing_to_go_back_to() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], structs.replace(TWO, on_failure="Rollback"))
    hand.go()
    join(hand, "new", "qa")
    assert hand.go() == ["new"]
    hand.healthy("new")
    hand.fail("q")
    assert hand.go() == ["q"]
    assert hand.version("new") == "1.1.0"
    assert "nothing to roll back to" in hand.step("new").reasons[0].message


@pytest.mark.rule("B16", "B1", "S45")
def test_a_rollback_returns_to_what_was_before_the_rollout_also_where_it_started_something_twice() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], structs.replace(TWO, on_failure="Rollback"))
    hand.go()
    hand.healthy("q")
    hand.go()
    hand.edit("q", wanted=structs.replace(NEW, input_hash="h1:moved"))
    assert hand.go() == ["q"]
    hand.healthy("q")
    hand.fail("p")
    assert sorted(hand.go()) == ["p", "q"]
    assert {hand.version("p"), hand.version("q")} == {"1.0.0"}


@pytest.mark.rule("B21", "R2-1")
def test_a_stage_waits_for_a_cluster_that_came_to_it_before_the_rollout_started() -> None:
    """Also while that is installed with what was admitted before: it must not be passed over."""
    policy = Policy("standard", stages(qa={}, prod={"approvals": ApprovalRule(1), "max_concurrency": 1}))
    hand = play([candidate("p", "prod"), candidate("q", "prod")], policy)
    assert hand.go() == []
    hand.approve("prod", "ann")
    join(hand, "new", "qa", baseline=OLD)
    join(hand, "late", "prod", baseline=OLD)
    assert sorted(hand.go()) == ["late", "new"]
    assert (hand.version("new"), hand.gates("p")) == ("1.0.0", ["stage"])
    assert hand.rollout.started is None
    hand.healthy("new", "late")
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.1.0"
    hand.healthy("new")
    assert hand.go() == ["p"]
    late = hand.progress("late").enrolment
    assert late is not None
    assert (late.stage, hand.gates("late")) == ("prod", ["concurrency"])


@pytest.mark.rule("B21", "B8")
def test_a_new_cluster_gets_what_the_rollout_that_runs_brings_while_a_newer_change_waits() -> None:
    hand = running()
    for name in "qp":
        hand.edit(name, wanted=NEWER)
    hand.change(change_id="c1:cccccccc33")
    join(hand, "late", "qa", wanted=NEWER, baseline=OLD, underway=NEW)
    join(hand, "new", "prod", wanted=NEWER, baseline=OLD, underway=NEW)
    assert sorted(hand.go()) == ["late", "new"]
    assert (hand.version("late"), hand.version("new")) == ("1.1.0", "1.0.0")
    for name in ("late", "new", "q"):
        hand.healthy(name)
    assert sorted(hand.go()) == ["new", "p"]
    assert (hand.version("new"), hand.version("p")) == ("1.1.0", "1.1.0")


@pytest.mark.rule("B21", "S50")
def test_a_new_cluster_gets_what_was_before_a_change_that_was_rejected() -> None:
    hand = running()
    hand.change(rollout=structs.replace(hand.rollout, phase="Aborted", ended=hand.now, rejected=True))
    join(hand, "new", "prod", baseline=OLD)
    join(hand, "unknown", "prod")
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.0.0"
    assert hand.gates("unknown") == ["rejected"]


@pytest.mark.rule("B21")
def test_gates_of_the_new_version_do_not_keep_a_new_cluster_from_what_its_stage_has_admitted() -> None:
    hand = running()
    join(hand, "new", "prod", baseline=OLD, gates=(Gate("required-option", "host has no value", "set it"),))
    assert hand.go() == ["new"]
    assert hand.version("new") == "1.0.0"
    hand.healthy("new")
    hand.go()
    assert "required-option" in hand.gates("new")


@pytest.mark.rule("B21")
def test_without_knowing_what_runs_there_a_new_cluster_goes_with_its_stage() -> None:
    hand = running()
    join(hand, "new", "prod")
    assert hand.go() == []
    assert hand.gates("new") == ["stage"]


@pytest.mark.rule("S51")
def test_a_cluster_that_joins_a_fleet_at_rest_starts_no_rollout() -> None:
    hand = running()
    hand.healthy("q")
    hand.go()
    hand.healthy("p")
    hand.go()
    join(hand, "new", "prod", calendar=NIGHTS)
    hand.change(change_id="c1:cccccccc33")
    assert hand.wait(HOUR) == ["new"]
    assert hand.rollout.change_id == "c1:aaaaaaaa11"
    hand.healthy("new")
    hand.go()
    assert hand.step("new").state == "UpToDate"
    assert hand.look().is_idle


@pytest.mark.rule("S46")
def test_a_presets_first_rollout_is_staged_as_any_other() -> None:
    nothing = {key(name): PluginState() for name in "pq"}
    hand = play([candidate("q", "qa"), candidate("p", "prod")], TWO, states=nothing)
    assert hand.go() == ["q"]
    assert hand.gates("p") == ["stage"]


def test_a_cluster_that_is_taken_over_joins_its_stage() -> None:
    hand = running()
    hand.world = structs.replace(hand.world, states={**hand.world.states, key("took"): PluginState(NEWER, NEWER)})
    join(hand, "took", "prod")
    assert hand.go() == []
    assert hand.gates("took") == ["stage"]
    hand.healthy("q")
    assert sorted(hand.go()) == ["p", "took"]


@pytest.mark.rule("B16")
def test_a_value_read_on_one_cluster_that_changes_is_a_change_of_that_cluster_alone() -> None:
    policy = Policy(stages=stages(qa={}, prod={}), trigger=frozenset({"version", "values"}))
    hand = play([candidate("q", "qa"), candidate("p", "prod")], policy)
    hand.go()
    hand.healthy("q")
    hand.go()
    moved = structs.replace(NEW, input_hash="h1:moved")
    hand.edit("q", wanted=moved, kinds=frozenset({"bindings"}))
    assert hand.go() == ["q"], "its own part is done, and stages do not hold it"
    hand.edit("q", wanted=structs.replace(NEW, input_hash="h1:again"))
    assert hand.go() == [], "what is under way finishes first"
    hand.healthy("q")
    assert hand.go() == ["q"]


@pytest.mark.rule("R2-18")
def test_counts_of_stages_add_up() -> None:
    hand = play([candidate(name, "qa") for name in "abcdef"], Policy(stages=stages(qa={"max_failures": 3})))
    hand.edit("f", silent_since=hand.now - HOUR)
    hand.edit("e", hold="busy")
    hand.go()
    hand.healthy("a")
    hand.fail("b")
    hand.go()
    (count,) = hand.look().owners[0].stages
    assert (count.done, count.failed, count.in_flight, count.waiting, count.absent) == (1, 1, 2, 1, 1)
    assert count.total == 6
