"""Changes that meet: the queue, superseding, emergencies, pause, abort, one change at a time on a cluster, External."""

from __future__ import annotations

import pytest
from msgspec import structs

from fleetform.engine.plan.records import Change, Emergency, Limits, World
from fleetform.engine.plan.requests import abort, pause, resume, retry, roll_back
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.simulate import simulate
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Gate
from fleetform.model.state import PluginState
from support.held import Held, held_by
from support.plans import (
    CHANGE,
    DAY,
    HOUR,
    NEW,
    NEWER,
    NIGHTS,
    NOON,
    OLD,
    Hand,
    candidate,
    key,
    play,
    stages,
)

TWO = Policy("standard", stages(qa={}, prod={}))
URGENT = Emergency("CVE-2026-1", NOON + DAY, frozenset({"bob"}))


def running(policy: Policy = TWO, **fields: object) -> Hand:
    hand = play([candidate("q", "qa"), candidate("p", "prod")], policy, **fields)
    assert hand.go() == ["q"]
    return hand


# ---- Queue and supersede


@pytest.mark.rule("B8", "R2-37")
def test_a_newer_change_does_not_disturb_a_rollout_that_runs() -> None:
    hand = running()
    hand.want(NEWER)
    assert hand.go() == []
    hand.healthy("q")
    assert hand.go() == ["p"]
    assert hand.version("p") == "1.1.0", "what the rollout started with"
    assert hand.gates("q") == ["queue"]
    hand.healthy("p")
    assert hand.go() == ["q"]
    assert hand.version("q") == "1.2.0", "then the newer one, from its first stage"


@pytest.mark.rule("B8")
def test_of_several_newer_changes_the_newest_waits_and_the_others_are_told_as_skipped() -> None:
    hand = running()
    hand.want(NEWER, "c1:second")
    hand.go()
    hand.want(structs.replace(NEWER, version="1.3.0", input_hash="h1:third"), "c1:third")
    hand.go()
    assert (hand.rollout.queued, hand.rollout.skipped) == ("c1:third", ("c1:second",))


@pytest.mark.rule("B8")
@pytest.mark.parametrize("how", ["policy", "request", "emergency"])
def test_superseding_lets_started_clusters_finish_and_begins_with_the_first_stage(how: str) -> None:
    hand = running()
    hand.want(NEWER)
    if how == "policy":
        hand.change(policy=structs.replace(TWO, replaces=True))
    elif how == "request":
        hand.change(supersede=True)
    else:
        hand.change(emergency=URGENT)
    found = hand.look().owners[0]
    assert found.replaced is not None
    assert found.replaced.phase == "Superseded"
    assert hand.go() == []
    assert hand.step("q").state == "InFlight", "it finishes"
    assert hand.gates("p") == ["stage"]
    hand.healthy("q")
    assert hand.go() == ["q"]
    hand.healthy("q")
    assert hand.go() == ["p"]
    assert hand.version("p") == "1.2.0"


@pytest.mark.rule("B8")
def test_a_change_that_is_taken_back_before_its_first_start_is_over_and_nothing_takes_its_place() -> None:
    hand = play([candidate("q", "qa")], Policy("standard", stages(qa={"approvals": ApprovalRule(1)})))
    assert hand.go() == []
    hand.want(OLD, "c1:as-before")
    found = hand.look().owners[0]
    assert found.rollout is not None
    assert (found.rollout.phase, found.rollout.is_open, found.replaced) == ("Superseded", False, None)
    played = simulate(hand.world, hand.now)
    assert (played.outcome, [each.phase for each in played.rollouts]) == ("Completed", ["Superseded"])


@pytest.mark.rule("B8", "R2-14")
def test_a_halted_rollout_gives_way_to_a_fix() -> None:
    hand = running()
    hand.fail("q")
    hand.go()
    assert hand.phase() == "Halted"
    hand.want(NEWER)
    assert hand.go() == ["q"]


@pytest.mark.rule("R2-17")
def test_a_rollout_that_only_blocked_clusters_keep_open_gives_way_to_what_waits() -> None:
    gate = Gate("required-option", "admin.password has no value", "set it")
    hand = play([candidate("q", "qa"), candidate("r", "qa", gates=(gate,)), candidate("p", "prod")], TWO)
    hand.go()
    hand.healthy("q")
    hand.go()
    assert hand.gates("p") == ["stage"], "a blocked cluster is not skipped"
    hand.edit("r", gates=(), wanted=structs.replace(NEW, input_hash="h1:with-password"))
    hand.change(change_id="c1:password")
    assert hand.go() == ["r"], "as soon as the value appears it goes on"


def test_a_change_of_which_nothing_has_started_is_simply_replaced() -> None:
    hand = play([candidate("a", calendar=NIGHTS)])
    hand.go()
    hand.want(NEWER)
    hand.go()
    assert hand.rollout.change_id == "c1:bbbbbbbb22"
    hand.want(OLD, "c1:back")
    hand.go()
    assert hand.step("a").state == "UpToDate"
    assert hand.look().is_idle


# ---- Emergencies


@pytest.mark.rule("B12", "R2-13")
@pytest.mark.parametrize("gate", ["window", "notice", "soak", "freeze", "wait"])
def test_an_emergency_skips(gate: str) -> None:
    hand = held_by(gate)
    hand.world = structs.replace(
        hand.world, changes=(structs.replace(hand.world.changes[0], emergency=URGENT), *hand.world.changes[1:])
    )
    assert "x" in hand.go()


@pytest.mark.rule("B12")
@pytest.mark.parametrize("gate", ["budget", "stage", "required-option", "veto", "approval", "suspended", "in-flight"])
def test_an_emergency_does_not_skip(gate: str) -> None:
    hand = held_by(gate)
    hand.world = structs.replace(
        hand.world, changes=(structs.replace(hand.world.changes[0], emergency=URGENT), *hand.world.changes[1:])
    )
    assert gate in hand.gates("x")
    assert "x" not in hand.go()


@pytest.mark.rule("B12")
def test_an_emergency_does_not_skip_hard_freezes() -> None:
    held = Held()
    held.calendar["hard"] = (Window("audit", begin=NOON - HOUR, end=NOON + HOUR),)
    held.change["emergency"] = URGENT
    assert held.hand().gates("x") == ["freeze"]


@pytest.mark.rule("B12")
@pytest.mark.parametrize(
    "none",
    [
        Emergency("CVE", NOON, frozenset({"bob"})),
        Emergency("CVE", NOON + DAY),
        Emergency("CVE", NOON + DAY, frozenset({"ann"})),
        Emergency("", NOON + DAY, frozenset({"bob"})),
    ],
    ids=["expired", "nobody agreed", "the author agreed", "no reason"],
)
def test_what_lacks_something_is_no_emergency(none: Emergency) -> None:
    hand = play([candidate("a", calendar=NIGHTS)], emergency=none, authors=frozenset({"ann"}))
    assert hand.gates("a") == ["window"]


@pytest.mark.rule("B12")
def test_a_policy_may_ask_for_more_people() -> None:
    hand = play([candidate("a", calendar=NIGHTS)], emergency=URGENT, limits=Limits(emergency_approvals=2))
    assert hand.gates("a") == ["window"]


# ---- Pause, abort, retry, roll back


@pytest.mark.rule("S48")
def test_a_pause_holds_new_starts_and_forgets_no_progress() -> None:
    hand = running()
    hand.ask(pause(hand.rollout))
    hand.healthy("q")
    assert hand.go() == []
    assert hand.phase() == "Paused"
    assert hand.step("p").state == "Paused"
    hand.ask(resume(hand.rollout))
    assert hand.go() == ["p"], "what succeeded before and during the pause counts"


@pytest.mark.rule("S50")
def test_an_abort_leaves_started_clusters_and_starts_nothing_again_without_retry() -> None:
    hand = running()
    hand.ask(abort(hand.rollout, hand.now))
    hand.healthy("q")
    assert hand.wait(DAY) == []
    assert hand.version("q") == "1.1.0"
    assert hand.gates("p") == ["rejected"]
    assert "aborted" in hand.step("p").reasons[0].message
    rollout, _ = retry(hand.rollout, ())
    hand.ask(rollout)
    assert hand.go() == ["p"]


@pytest.mark.rule("S50", "R2-38")
def test_a_rollout_that_succeeded_can_be_rolled_back_and_stays_so_until_a_newer_change() -> None:
    hand = running()
    hand.healthy("q")
    hand.go()
    hand.healthy("p")
    hand.go()
    hand.ask(roll_back(hand.rollout))
    assert sorted(hand.go()) == ["p", "q"]
    hand.healthy("p", "q")
    assert hand.wait(DAY) == []
    assert {hand.version("p"), hand.version("q")} == {"1.0.0"}
    hand.want(NEWER)
    assert hand.go() == ["q"]


# ---- Kinds of change


def test_a_kind_that_is_not_staged_skips_stages_soak_and_approvals_never_windows_freezes_holds() -> None:
    rules = stages(qa={"soak": DAY}, prod={"approvals": ApprovalRule(2), "wait": DAY})
    policy = Policy(stages=rules, trigger=frozenset({"version"}))
    values = frozenset({"values"})
    frozen = Calendar(soft=(Window("f", begin=NOON, end=NOON + HOUR),))
    hand = play(
        [
            candidate("q", "qa", kinds=values),
            candidate("p", "prod", kinds=values),
            candidate("w", "prod", kinds=values, calendar=NIGHTS),
            candidate("f", "prod", kinds=values, calendar=frozen),
            candidate("h", "prod", kinds=values, hold="no"),
        ],
        policy,
    )
    assert sorted(hand.go()) == ["p", "q"]
    assert [hand.gates(each) for each in "wfh"] == [["window"], ["freeze"], ["veto"]]


def test_what_no_stage_concerns_begins_a_rollout_as_well() -> None:
    policy = Policy(stages=stages(qa={}, prod={}), trigger=frozenset({"version"}))
    hand = play([candidate("q", "qa", hold="no"), candidate("p", "prod", kinds=frozenset({"values"}))], policy)
    (owner,) = hand.look().owners
    assert owner.rollout is not None
    assert (owner.rollout.started, [step.key[1] for step in owner.steps if step.action == "start"]) == (NOON, ["p"])


@pytest.mark.rule("R2-45")
def test_external_gates_validity_alone() -> None:
    gate = Gate("breaking", "2.0.0 is breaking", "acknowledge it")
    hand = play(
        [candidate("a", calendar=NIGHTS, not_before=NOON + DAY), candidate("b", gates=(gate,))],
        Policy("External", external=True),
    )
    assert hand.go() == ["a"]
    assert hand.gates("b") == ["breaking"]


# ---- One change at a time on a cluster


def wide(certs: tuple[str, ...] = (), crds: tuple[str, ...] = ()) -> Hand:
    """Two presets on one cluster, changed at once."""
    policy = Policy()
    one = Change(Ref("PluginPreset", "acme", "certs"), CHANGE, (candidate("a", depends_on=certs),), policy)
    two = Change(Ref("PluginPreset", "acme", "crds"), CHANGE, (candidate("a", plugin="crds", depends_on=crds),), policy)
    states = {key("a"): PluginState(OLD, OLD), key("a", "crds"): PluginState(OLD, OLD)}
    return Hand(World((one, two), states))


@pytest.mark.rule("B27")
def test_at_most_one_change_is_in_flight_on_a_cluster() -> None:
    hand = wide()
    assert len(hand.go()) == 1
    assert hand.gates("a", "crds") == ["in-flight"]
    hand.healthy("a")
    assert len(hand.go()) == 1


@pytest.mark.rule("B27")
def test_a_wide_change_goes_in_the_order_of_dependencies() -> None:
    hand = wide(certs=("crds",))
    hand.go()
    assert hand.progress("a", "crds").in_flight
    assert "dependency" in hand.gates("a")
    hand.healthy("a", plugin="crds")
    hand.go()
    assert hand.progress("a").in_flight


@pytest.mark.rule("B27")
def test_a_wide_change_makes_a_rollout_for_each_preset_that_share_its_id() -> None:
    hand = wide()
    hand.go()
    rollouts = [owner.rollout for owner in hand.look().owners]
    assert [each.name for each in rollouts if each is not None] == ["certs-aaaaaaaa", "crds-aaaaaaaa"]
    assert {each.change_id for each in rollouts if each is not None} == {CHANGE}


def test_an_emergency_goes_first_where_two_want_one_cluster() -> None:
    hand = wide()
    certs, crds = hand.world.changes
    hand.world = structs.replace(hand.world, changes=(certs, structs.replace(crds, emergency=URGENT)))
    hand.go()
    assert hand.progress("a", "crds").in_flight


def test_a_blocked_upgrade_does_not_freeze_a_cluster() -> None:
    """Gates of validity keep it from the new version, and not from new values of the one that runs."""
    gate = Gate("breaking", "2.0.0 is breaking", "acknowledge it")
    values = structs.replace(OLD, input_hash="h1:old-with-new-values")
    hand = play([candidate("a", gates=(gate,), meanwhile=values)])
    assert hand.go() == ["a"]
    assert hand.progress("a").admitted == values
    hand.healthy("a")
    assert hand.go() == []
    assert hand.gates("a") == ["breaking"]
    hand.edit("a", gates=())
    assert hand.go() == ["a"]
    assert hand.version("a") == "1.1.0"


@pytest.mark.rule("R2-38", "B24")
def test_what_is_still_being_changed_holds_its_slot_and_goes_back_in_it() -> None:
    hand = play([candidate(each) for each in "abc"], Policy("standard", stages(all={"max_concurrency": 1})))
    assert hand.go() == ["a"]
    hand.healthy("a")
    assert hand.go() == ["b"]
    hand.ask(roll_back(hand.rollout))
    assert hand.go() == ["b"], "a waits for the slot that b has"
    assert hand.gates("a") == ["concurrency"]
    hand.healthy("b")
    assert hand.go() == ["a"]
    assert [hand.version(each) for each in "abc"] == [OLD.version] * 3
