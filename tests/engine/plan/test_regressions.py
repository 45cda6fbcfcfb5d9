"""Bugs that other rollout controllers shipped, one test each."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.carry_out import writes
from fleetform.engine.plan.plan import plan
from fleetform.engine.plan.progress import observed
from fleetform.engine.plan.records import ClusterFacts, Removal, World
from fleetform.engine.plan.requests import pause, resume
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.simulate import simulate
from fleetform.model.state import Attempt, PluginState
from support.held import held_by
from support.plans import CHANGE, HOUR, MINUTE, NEW, NEWER, NIGHTS, NOON, OLD, OWNER, candidate, key, play, stages

SOAK = Policy("standard", stages(qa={"soak": HOUR}, prod={}))


def test_kargo_3731_soak_is_judged_in_one_place() -> None:
    """There the API refused what the controller would have promoted. Here plan and simulation are one function."""
    hand = held_by("soak")
    reason = hand.step("x").reasons[0]
    assert reason.until is not None
    started = [each for each in simulate(hand.world, NOON).events if (each.cluster, each.event) == ("x", "Started")]
    assert [each.at for each in started] == [reason.until]


def test_kargo_4238_a_soak_is_not_forgotten_when_something_newer_is_wanted() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], SOAK)
    hand.go()
    hand.healthy("q")
    hand.wait(30 * MINUTE)
    hand.want(NEWER)
    hand.go()
    assert hand.step("p").reasons[0].until == NOON + HOUR


def test_kargo_4586_the_end_of_a_soak_wakes_the_planner() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], SOAK)
    hand.go()
    hand.healthy("q")
    hand.go()
    assert hand.look().next_look == NOON + HOUR
    assert hand.sleep() == ["p"]


def test_kargo_7032_a_queued_change_does_not_replace_one_whose_health_is_unknown() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={}, prod={})))
    hand.go()
    hand.want(NEWER)
    hand.observe("Unknown", "q")
    assert hand.wait(HOUR) == []
    assert hand.version("q") == "1.1.0"
    assert hand.step("q").state == "InFlight"


def test_argo_12459_done_is_this_hash_observed_healthy_and_no_timestamp() -> None:
    """An old Healthy, and a newer time of another hash, say nothing of what was just started."""
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={}, prod={})))
    hand.go()
    progress = hand.progress("q")
    stale = observed(progress, "h1:old", "Healthy", NOON + 10 * HOUR)
    hand.world = structs.replace(hand.world, states={**hand.world.states, key("q"): stale})
    assert hand.wait(10 * HOUR) == []
    hand.healthy("q")
    assert hand.go() == ["p"]


def test_argo_23685_no_more_are_in_flight_than_allowed_whoever_is_listed_first() -> None:
    policy = Policy(stages=stages(all={"max_concurrency": 1}))
    flying = PluginState(NEW, OLD, attempt=Attempt("h1:new", "", NOON, NOON))
    hand = play([candidate("a"), candidate("z")], policy, states={key("z"): flying})
    assert hand.go() == []
    assert hand.gates("a") == ["concurrency"]
    hand.healthy("z")
    assert hand.go() == ["a"]


def test_argo_11817_stages_respect_windows() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod", calendar=NIGHTS)], Policy(stages=stages(qa={}, prod={})))
    hand.go()
    hand.healthy("q")
    assert hand.go() == []
    assert hand.gates("p") == ["window"]


def test_kubefleet_733_a_cluster_that_joins_or_leaves_aborts_nothing() -> None:
    hand = play([candidate("a", "qa"), candidate("b", "qa"), candidate("p", "prod")], SOAK)
    hand.go()
    before = hand.rollout.name
    change = hand.world.changes[0]
    hand.change(candidates=(change.candidates[0], candidate("n", "qa"), change.candidates[2]))
    hand.go()
    assert hand.rollout.name == before
    assert hand.phase() == "Progressing"


def test_kubefleet_364_pausing_keeps_earlier_successes() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={}, prod={})))
    hand.go()
    hand.healthy("q")
    hand.ask(pause(hand.rollout))
    hand.go()
    hand.ask(resume(hand.rollout))
    assert hand.go() == ["p"]


def test_kubefleet_63_two_changes_do_not_pre_empt_each_other_for_ever() -> None:
    """Whatever is wanted in turn, what was started finishes, and each plan starts something or leaves all as it is."""
    hand = play([candidate("a")], Policy(replaces=True))
    hand.go()
    for number in range(6):
        hand.want(NEW if number % 2 else NEWER, f"c1:turn{number}")
        assert hand.go() == [], "the cluster is busy"
    hand.healthy("a")
    hand.go()
    hand.healthy("a")
    hand.go()
    assert hand.step("a").state == "UpToDate"


@pytest.mark.rule("B25")
def test_rancher_fleet_192_one_offline_cluster_of_few_does_not_block() -> None:
    """10 % of three rounds to one, and the offline cluster took it."""
    policy = Policy(stages=stages(all={"max_concurrency": "10%"}))
    hand = play([candidate("a", silent_since=NOON - HOUR), candidate("b"), candidate("c")], policy)
    assert hand.go() == ["b"]
    hand.healthy("b")
    assert hand.go() == ["c"]
    hand.healthy("c")
    hand.go()
    assert hand.phase() == "Succeeded"


@pytest.mark.rule("B33")
def test_rancher_fleet_3482_what_a_pass_stores_is_what_changed() -> None:
    hand = play([candidate(f"c{each:03}") for each in range(300)], Policy(stages=stages(all={"max_concurrency": 2})))
    hand.go()
    hand.healthy("c000")
    found = plan(hand.world, hand.now)
    assert len(writes(found)) <= 2, "one start, and at most the rollout"


@pytest.mark.rule("B22")
def test_argo_2573_an_empty_load_deletes_nothing() -> None:
    removal = Removal(key("a"), OWNER, CHANGE, ClusterFacts("acme", "a"))
    found = plan(World((), {key("a"): PluginState(OLD, OLD)}, (removal,), complete=False), NOON)
    assert found.starts == []


def test_argo_29410_a_stale_healthy_of_the_old_hash_does_not_open_the_next_stage() -> None:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], Policy(stages=stages(qa={}, prod={})))
    hand.go()
    assert hand.progress("q").last_healthy == OLD
    assert hand.go() == []
    assert hand.gates("p") == ["stage"]


def test_argo_29307_a_cluster_outside_of_its_window_eats_no_slot() -> None:
    hand = play([candidate("a", calendar=NIGHTS), candidate("b")], Policy(stages=stages(all={"max_concurrency": 1})))
    assert hand.go() == ["b"]
