"""Plans told whole: one change on its way, played from time to time, and all that each plan says and stores.

Other tests prove one rule each; these hold the rest: counts, times, words, what is stored, when a plugin starts at the
earliest. With APPROVE=1 pages are written anew: read the difference before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import (
    Emergency,
    Limits,
)
from fleetform.engine.plan.requests import abort, pause, resume, retry, roll_back
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.results.decisions import Gate
from fleetform.model.state import Attempt, Enrolment, PluginState
from support.plans import (
    CHANGE,
    HOUR,
    MINUTE,
    NEW,
    NEWER,
    NEXT_CHANGE,
    NOON,
    OLD,
    candidate,
    key,
    stages,
    world_of,
)
from support.played import LAST_CHANGE, NEWEST, ONE_RETRY, Book, compare

HERE = Path(__file__).parent


def stages_with_slots_soaks_deadlines_and_retries() -> Book:
    policy = Policy(
        "standard",
        stages(
            qa={"max_concurrency": 1, "soak": HOUR, "deadline": 30 * MINUTE},
            prod={"max_concurrency": "50%", "max_failures": "34%", "wait": 2 * HOUR, "deadline": HOUR},
            rest={},
        ),
        max_failures=2,
    )
    fleet = [candidate(name, "prod") for name in ("p1", "p2", "p3")]
    fleet += [candidate("q1", "qa"), candidate("q2", "qa"), candidate("r1", "rest")]
    book = Book(world_of(fleet, policy, limits=ONE_RETRY))
    book.simulated("all goes well")
    book.simulated(
        "p2 fails for a while, q2 takes too long",
        Scenario(
            durations={"q2": 40 * MINUTE},
            failing=(Spell("p2", end=NOON + 6 * HOUR),),
            retries=2,
        ),
    )
    book.page("the first of qa starts")
    book.later(29 * MINUTE)
    book.page("one minute before its deadline")
    book.later(MINUTE)
    book.page("it takes too long, and is tried again after a minute")
    book.sleep("the retry is due")
    book.later(5 * MINUTE)
    book.observe("Healthy", "q1")
    book.page("it is healthy, the next starts")
    book.later(10 * MINUTE)
    book.observe("Healthy", "q2")
    book.page("both are healthy: the stage soaks")
    book.sleep("the soak is over: prod waits two hours")
    book.later(119 * MINUTE)
    book.page("one minute before")
    book.sleep("half of prod starts")
    book.later(2 * MINUTE)
    book.observe("Failed", "p1")
    book.observe("Healthy", "p2")
    book.page("one fails, which is within the budget")
    book.sleep("it is tried again")
    book.later(3 * MINUTE)
    book.observe("Failed", "p1")
    book.page("it fails for good")
    book.later(3 * MINUTE)
    book.observe("Healthy", "p3")
    book.page("the others are healthy: the last stage starts")
    book.later(MINUTE)
    book.observe("Failed", "r1")
    book.page("it fails, where nothing may: the rollout halts")
    book.sleep("it is tried again all the same")
    book.later(MINUTE)
    book.observe("Healthy", "r1")
    book.page("it is healthy: all is over")
    return book


def slots_that_soaking_and_failed_clusters_hold() -> Book:
    rule = {
        "max_concurrency": 2,
        "max_failures": "30%",
        "failures_round_up": True,
        "soak": 30 * MINUTE,
        "deadline": HOUR,
        "soaking_holds_slot": True,
        "failed_holds_slot": True,
    }
    fleet = [candidate(f"c{number}") for number in range(5)]
    book = Book(world_of(fleet, Policy("progressive", stages(all=rule)), limits=ONE_RETRY))
    book.simulated("one fails", Scenario(failing=(Spell("c1"),)))
    book.page("two at a time")
    book.later(MINUTE)
    book.observe("Healthy", "c0")
    book.observe("Failed", "c1")
    book.page("one soaks, one has failed: both hold their slots")
    book.sleep("what failed is tried again in its own slot")
    book.later(MINUTE)
    book.observe("Failed", "c1")
    book.page("for good")
    book.sleep("the soak is over")
    book.later(33 * MINUTE)
    book.observe("Healthy", "c2")
    book.page("one minute before nobody waits for the failed one any more")
    book.sleep("its slot is free")
    return book


def a_rollout_that_goes_back() -> Book:
    policy = Policy(
        "standard",
        stages(qa={}, prod={"max_concurrency": 2, "max_failures": 1}),
        on_failure="Rollback",
        trigger=frozenset({"version"}),
    )
    frozen = Calendar(hard=(Window("launch", begin=NOON + HOUR, end=NOON + 3 * HOUR),))
    soft = Calendar(soft=(Window("quiet", begin=NOON + HOUR, end=NOON + 9 * HOUR),))
    fleet = [
        candidate("a", "qa"),
        candidate("b", "prod"),
        candidate("c", "prod", calendar=soft),
        candidate("d", "prod", calendar=frozen),
        candidate("e", "prod"),
        candidate("f", "prod"),
        candidate("g", "prod"),
        candidate("v", "prod", kinds=frozenset({"values"})),
        candidate("x", None),
    ]
    states = {key("g"): PluginState()}
    book = Book(world_of(fleet, policy, states, limits=Limits(Patience(retries=0), max_unreachable="50%")))
    book.page("qa starts, and what is not staged")
    book.later(MINUTE)
    book.observe("Healthy", "a", "v")
    book.page("two of prod")
    book.later(MINUTE)
    book.observe("Healthy", "b", "c")
    book.page("two more")
    book.later(MINUTE)
    book.observe("Healthy", "d", "e")
    book.page("and two more")
    book.later(MINUTE)
    book.observe("Failed", "f")
    book.page("one fails, which is within the budget")
    book.later(HOUR)
    book.edit("e", silent_since=book.now)
    book.edit("b", hold="the disk is full")
    book.observe("Failed", "g")
    book.page("another fails: it goes back, two at a time in prod")
    book.later(MINUTE)
    book.observe("Healthy", "a", "c", "v")
    book.observe("Failed", "f")
    book.page("three are back, one way back fails")
    book.later(MINUTE)
    book.edit("b", hold=None)
    book.page("the cluster that held goes back, too")
    book.later(3 * HOUR)
    book.observe("Healthy", "b")
    book.page("the hard freeze is over")
    book.later(MINUTE)
    book.observe("Healthy", "d")
    book.page("all that can be reached is back")
    book.later(HOUR)
    book.edit("e", silent_since=None)
    book.page("the cluster that was silent answers")
    book.later(HOUR)
    book.observe("Healthy", "e")
    rollout, again = retry(book.rollout(), sorted(book.world.states.items()))
    book.world = structs.replace(book.world, states={**book.world.states, **dict(again)})
    book.change(rollout=rollout)
    book.page("somebody asks for it once more")
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.page("qa is healthy again")
    book.later(MINUTE)
    book.change(rollout=abort(book.rollout(), book.now))
    book.page("and is aborted")
    return book


def no_way_back_over_what_cannot_be_undone() -> Book:
    policy = Policy("standard", stages(qa={"max_failures": 0}, prod={}), on_failure="Rollback")
    fleet = [candidate("a", "qa", irreversible=True), candidate("b", "qa"), candidate("c", "prod")]
    book = Book(world_of(fleet, policy))
    book.page("qa starts")
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.observe("Failed", "b")
    book.page("one fails: it halts, and does not go back")
    book.later(HOUR)
    book.want(NEWER, NEXT_CHANGE)
    book.page("a fix replaces what has halted")
    book.later(MINUTE)
    book.observe("Healthy", "a", "b")
    book.page("the fix is healthy")
    book.later(MINUTE)
    book.observe("Healthy", "c")
    book.page("everywhere")
    book.later(HOUR)
    book.change(rollout=roll_back(book.rollout()))
    book.page("somebody rolls it back after all: also what cannot be undone, as they say so")
    book.later(MINUTE)
    book.observe("Healthy", "a", "b", "c")
    book.page("all is back")
    return book


def newer_changes_while_one_is_on_its_way() -> Book:
    policy = Policy("standard", stages(qa={"soak": HOUR}, prod={"approvals": ApprovalRule(1)}))
    lacks = (Gate("required-option", "host has no value", "set host"),)
    fleet = [candidate("a", "qa"), candidate("b", "prod", gates=lacks), candidate("c", "prod", gates=lacks)]
    book = Book(world_of(fleet, policy, contents="first"))
    book.page("the first change starts")
    book.later(MINUTE)
    book.want(NEWER, NEXT_CHANGE)
    book.edit("b", "c", gates=())
    book.page("a second waits, which has the value that prod lacks")
    book.later(MINUTE)
    book.want(NEWEST, LAST_CHANGE)
    book.observe("Healthy", "a")
    book.page("a third overtakes the second")
    book.later(MINUTE)
    book.change(rollout=structs.replace(pause(book.rollout()), note="ann: lunch"))
    book.page("somebody pauses the first")
    book.later(MINUTE)
    book.change(rollout=resume(book.rollout()))
    book.approve("prod", "ann")
    book.page("prod is approved and soaks")
    book.sleep("prod lacks a value, so the third takes its place")
    book.later(MINUTE)
    book.change(supersede=True)
    book.want(NEW, "c1:dddddddd44")
    book.page("a fourth replaces the third at once")
    book.change(supersede=False)
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.page("what was on its way is healthy: now the fourth starts there")
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.page("it soaks")
    book.sleep("its soak is over")
    book.later(MINUTE)
    book.want(NEWER, NEXT_CHANGE)
    book.change(emergency=Emergency("CVE", book.now + HOUR, frozenset({"bob"})))
    book.page("an emergency replaces it, too")
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.page("no soak, but an approval")
    book.later(MINUTE)
    book.approve("prod", "bob")
    book.page("approved")
    book.later(MINUTE)
    book.observe("Healthy", "b", "c")
    book.page("done")
    book.later(HOUR)
    book.page("and still so when the emergency is over")
    book.later(HOUR)
    book.change(policy=Policy("External", external=True))
    book.want(NEWEST, LAST_CHANGE)
    book.page("somebody else rolls out from now on")
    return book


def a_change_that_nothing_has_started_of() -> Book:
    policy = Policy("standard", stages(all={"approvals": ApprovalRule(1)}))
    fleet = [candidate("a"), candidate("b")]
    book = Book(world_of(fleet, policy))
    book.page("it waits for approval")
    book.later(MINUTE)
    book.want(NEWER, NEXT_CHANGE)
    book.page("another takes its place")
    book.later(MINUTE)
    book.change(policy=Policy("other", stages(one={}, two={"approvals": ApprovalRule(2)})))
    book.edit("a", stage="two")
    book.edit("b", stage="two")
    book.page("its policy is the one of now")
    book.later(MINUTE)
    book.want(OLD, LAST_CHANGE)
    book.page("what is wanted is what is there")
    book.later(MINUTE)
    book.edit("a", wanted=NEW)
    book.change(change_id=CHANGE)
    book.page("the first comes again, on one cluster")
    book.later(MINUTE)
    book.edit("a", wanted=OLD)
    book.page("and goes away without a change")
    return book


def a_rollout_over_what_earlier_ones_left() -> Book:
    """Records as earlier plans left them, also of a rollout that had the same name."""
    policy = Policy("standard", stages(one={"soak": HOUR, "deadline": HOUR}, two={}), on_failure="Continue")
    hour_ago = NOON - HOUR

    def state(phase: str, *, place: bool = True, **fields: object) -> PluginState:
        attempt = Attempt("h1:new", "certs-aaaaaaaa", hour_ago, hour_ago, phase, **fields)  # type: ignore[arg-type]
        enrolment = Enrolment("certs-aaaaaaaa", "one", NEW, OLD) if place else None
        return PluginState(NEW, OLD, attempt=attempt, enrolment=enrolment)

    known = {
        "applying": state("Applying"),
        "healthy": state("Healthy"),
        "failed": state("Failed", failures=1),
        "given-up": state("Failed", failures=2, timed_out=True),
        "aside": state("SetAside"),
        "beside": state("Applying", place=False),
        "back": state("Failed", failures=1, back=True),
        "elsewhere": structs.replace(state("Healthy"), enrolment=Enrolment("certs-other", "two", NEW, OLD)),
    }
    fleet = [candidate(name, "one") for name in known] + [candidate("next", "two")]
    world = world_of(fleet, policy, {key(name): each for name, each in known.items()}, limits=ONE_RETRY)
    book = Book(world)
    book.page("a new rollout of the same hash: what is in flight is a member, what has it is not")
    book.later(MINUTE)
    book.page("a minute later")
    book.later(MINUTE)
    book.observe("Healthy", "applying", "beside")
    book.page("what was in flight is healthy")
    book.sleep("the next look")
    return book


STORIES: tuple[Callable[[], Book], ...] = (
    stages_with_slots_soaks_deadlines_and_retries,
    slots_that_soaking_and_failed_clusters_hold,
    a_rollout_that_goes_back,
    no_way_back_over_what_cannot_be_undone,
    newer_changes_while_one_is_on_its_way,
    a_change_that_nothing_has_started_of,
    a_rollout_over_what_earlier_ones_left,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda each: each.__name__)
def test_plans_say_what_the_page_says(story: Callable[[], Book]) -> None:
    compare(HERE / f"{story.__name__}.md", story().lines)
