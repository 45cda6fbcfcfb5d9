"""Plans told whole: clusters, people and owners that differ, and all that each plan says of them and stores.

Other tests prove one rule each; these hold the rest: counts, times, words, what is stored, when a plugin starts at the
earliest. With APPROVE=1 pages are written anew: read the difference before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import (
    Approval,
    Candidate,
    Change,
    ClusterFacts,
    Emergency,
    Limits,
    Removal,
    World,
)
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Gate
from fleetform.model.state import Deployed, PluginState
from support.plans import (
    CHANGE,
    DAY,
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
from support.played import LAST_CHANGE, ONE_RETRY, Book, compare

HERE = Path(__file__).parent


def clusters_that_join_leave_and_move() -> Book:
    policy = Policy("standard", stages(qa={}, mid={"soak": HOUR}, prod={"max_concurrency": 1}))
    fleet = [candidate("a", "qa"), candidate("m", "mid"), candidate("p", "prod"), candidate("r", "prod")]
    book = Book(world_of(fleet, policy))
    book.page("qa starts")
    joined = [
        candidate("j1", "qa", baseline=OLD),
        candidate("j2", "prod", baseline=OLD),
        candidate("j3", "prod"),
        candidate("j4", None, baseline=OLD),
        candidate("j5", "mid", baseline=OLD, gates=(Gate("value-type", "host is no text", "mend host"),)),
    ]
    states = {**book.world.states, **{each.key: PluginState() for each in joined}}
    book.later(MINUTE)
    book.world = structs.replace(book.world, states=states)
    book.change(candidates=(*book.of().candidates, *joined))
    book.page("five join: at once what their stage has admitted")
    book.later(MINUTE)
    book.observe("Healthy", "a", "j1", "j2", "j4", "j5")
    book.page("they are healthy")
    book.later(MINUTE)
    book.edit("p", stage="qa")
    book.edit("j5", gates=())
    book.page("one is moved to another stage, and stays where it was")
    book.later(MINUTE)
    book.observe("Healthy", "m", "j5")
    book.page("mid soaks")
    book.later(MINUTE)
    book.change(candidates=tuple(each for each in book.of().candidates if each.key[1] not in ("m", "j5")))
    book.page("all clusters of mid leave before it is done")
    book.later(MINUTE)
    again = candidate("m2", "mid")
    book.change(candidates=tuple(sorted((*book.of().candidates, again), key=lambda each: each.key)))
    book.page("one joins mid")
    book.later(MINUTE)
    book.observe("Healthy", "m2")
    book.page("it soaks")
    book.sleep("prod: one at a time, but for those that are new there")
    book.later(MINUTE)
    book.edit("p", wanted=structs.replace(NEW, input_hash="h1:other"))
    book.page("what was read on a cluster is another: the same change means something else there")
    return book


def clusters_that_do_not_answer() -> Book:
    policy = Policy("standard", stages(qa={"deadline": 20 * MINUTE}, prod={"deadline": 20 * MINUTE}))
    fleet = [candidate("a", "qa"), candidate("b", "qa"), *(candidate(f"p{number}", "prod") for number in range(4))]
    book = Book(world_of(fleet, policy, limits=Limits(Patience(retries=0), max_unreachable="20%")))
    book.page("qa starts")
    book.later(MINUTE)
    book.edit("a", silent_since=NOON + MINUTE)
    book.page("one falls silent")
    book.later(14 * MINUTE)
    book.observe("Healthy", "b")
    book.page("one minute before it is set aside")
    book.sleep("it is set aside, and prod goes on without it")
    book.later(MINUTE)
    book.observe("Healthy", "p0")
    book.edit("a", silent_since=None)
    book.edit("p1", "p2", silent_since=book.now)
    book.page("it answers, two others fall silent")
    book.observe("Healthy", "a", "p3")
    book.sleep("the first is done, the two are set aside: the rollout is over without them")
    book.later(HOUR)
    book.edit("p1", silent_since=None)
    book.page("one of them answers: it has its whole time again")
    book.later(19 * MINUTE)
    book.page("one minute before its deadline")
    book.sleep("it takes too long")
    book.later(MINUTE)
    book.want(NEWER, NEXT_CHANGE)
    book.page("a newer change")
    book.later(MINUTE)
    book.edit("p3", silent_since=book.now - 15 * MINUTE)
    book.edit("a", silent_since=book.now - 14 * MINUTE)
    book.observe("Healthy", "b")
    book.page("too many are silent for the next stage to start")
    book.later(MINUTE)
    book.edit("p2", silent_since=None)
    book.page("one answers")
    book.simulated(
        "those who are silent stay so", Scenario(unreachable=(Spell("p0", book.now + MINUTE, book.now + HOUR),))
    )
    return book


def windows_freezes_and_emergencies() -> Book:
    nights = Window("nights", "0 22 * * *", 4 * HOUR, jitter=HOUR, no_start_in_last=30 * MINUTE)
    lunch = Window("lunch", "0 12 * * *", 2 * HOUR)
    never = Window("over", begin=NOON - 2 * DAY, end=NOON - DAY)
    calendars = {
        "a": Calendar((nights,)),
        "b": Calendar((nights, lunch)),
        "c": Calendar((lunch,), soft=(Window("quiet", begin=NOON - HOUR, end=NOON + HOUR),)),
        "d": Calendar(hard=(Window("launch", begin=NOON - HOUR, end=NOON + HOUR),)),
        "e": Calendar((nights,), soft=(Window("open end", begin=NOON + DAY),)),
        "f": Calendar((never,)),
        "g": Calendar((nights,), (Window("a", begin=NOON, end=NOON + 3 * HOUR), Window("b", end=NOON + 2 * HOUR))),
        "h": Calendar((nights,)),
    }
    fleet = [candidate(name, calendar=calendar) for name, calendar in calendars.items()]
    fleet = [structs.replace(each, not_before=NOON + 11 * HOUR) if each.key[1] == "b" else each for each in fleet]
    book = Book(world_of(fleet, Policy(stages=stages(all={"max_failures": "100%"})), {key("h"): PluginState()}))
    book.simulated("as it is", Scenario(duration=20 * MINUTE, until=NOON + 3 * DAY))
    book.page("lunch, but a freeze or a notice holds those who could")
    book.sleep("the freezes are over")
    book.later(9 * HOUR)
    book.page("nights are open, and starts are spread")
    for number in range(5):
        book.sleep(f"the next of them, {number + 1}")
    book.later(NOON + timedelta(hours=13, minutes=29) - book.now)
    book.page("one minute before the last time for a start")
    book.later(MINUTE)
    book.page("the last half an hour is kept free")
    book.later(MINUTE)
    book.change(emergency=Emergency("CVE", book.now + HOUR, frozenset({"bob", "eve"})), authors=frozenset({"bob"}))
    book.page("an emergency passes windows and soft freezes")
    return book


def an_emergency_needs_consent() -> Book:
    nights = Calendar((Window("nights", "0 22 * * *", HOUR),))
    limits = Limits(Patience(retries=0), emergency_approvals=2)
    book = Book(
        world_of(
            [candidate("a", calendar=nights), candidate("b", calendar=nights, not_before=NOON + DAY)], limits=limits
        )
    )
    book.change(emergency=Emergency("CVE", NOON + HOUR, frozenset({"ann", "bob"})), authors=frozenset({"ann"}))
    book.page("one of two people made the change")
    book.later(MINUTE)
    book.change(emergency=Emergency("", NOON + HOUR, frozenset({"cat", "bob"})))
    book.page("nobody says why")
    book.change(emergency=Emergency("CVE", NOON + MINUTE, frozenset({"cat", "bob"})))
    book.page("it is over this very minute")
    book.change(emergency=Emergency("CVE", NOON + 2 * MINUTE, frozenset({"cat", "bob"})))
    book.page("it is in force for a minute")
    return book


def approvals_of_the_right_people() -> Book:
    rules = {
        "qa": {"approvals": ApprovalRule(2)},
        "prod": {"approvals": ApprovalRule(1, frozenset({"ann", "bob"}), frozenset({"sre"}))},
        "rest": {"approvals": ApprovalRule(1, frozenset({"ann"}), not_author=False)},
    }
    fleet = [candidate("a", "qa"), candidate("b", "prod"), candidate("c", "rest")]
    book = Book(world_of(fleet, Policy("standard", stages(**rules)), authors=frozenset({"ann"})))
    book.simulated("people approve after an hour", Scenario(approval_delay=HOUR))
    book.simulated(
        "one stage is approved early, another late",
        Scenario(
            approvals={"prod": NOON + 3 * HOUR, "qa": NOON - HOUR},
            approval_delay=None,
        ),
    )
    book.page("nobody has approved")
    book.later(MINUTE)
    book.approve("qa", "ann", "bob", "bob")
    book.page("the author and one more")
    book.later(MINUTE)
    book.approve("qa", "cat", change_id="c1:another")
    book.approve("qa", "dan", policy="p1:another")
    book.approve("qa", "eve", rollout="certs-another")
    book.approve("prod", "fay")
    book.page("approvals of something else")
    book.later(MINUTE)
    book.approve("qa", "gil", also=("ann",))
    book.page("the author under another name")
    book.later(MINUTE)
    book.approve("qa", "hal")
    book.page("two people")
    book.later(MINUTE)
    book.observe("Healthy", "a")
    book.page("prod: somebody whom nobody named")
    book.later(MINUTE)
    book.approve("prod", "ivy", groups=frozenset({"sre", "dev"}))
    book.page("a member of the group")
    book.later(MINUTE)
    book.observe("Healthy", "b")
    book.approve("rest", "ann")
    book.page("where authors count")
    book.later(MINUTE)
    many = frozenset({"ann", "bob", "cat", "dan"})
    book.change(authors=many, approvals=())
    book.want(NEWER, NEXT_CHANGE)
    book.observe("Healthy", "c")
    book.page("four people made the next change")
    book.later(MINUTE)
    book.change(authors=frozenset({"ann", "bob", "cat"}))
    book.page("three")
    return book


def owners_that_meet_on_clusters() -> Book:
    def owner(name: str) -> Ref:
        return Ref("PluginPreset", "acme", name)

    def plugin(name: str, cluster: str, **fields: Any) -> Candidate:
        return candidate(cluster, plugin=name, **fields)

    frozen = Calendar(hard=(Window("launch", begin=NOON - HOUR, end=NOON + HOUR),))
    later = Calendar((Window("nights", "0 22 * * *", HOUR),))
    changes = (
        Change(owner("certs"), CHANGE, (plugin("certs", "a"), plugin("certs", "b"))),
        Change(
            owner("app"),
            CHANGE,
            (plugin("app", "a", depends_on=("certs", "db")), plugin("app", "c", depends_on=("db",))),
        ),
        Change(owner("db"), NEXT_CHANGE, (plugin("db", "a"), plugin("db", "c", wanted=OLD))),
        Change(
            owner("urgent"),
            LAST_CHANGE,
            (plugin("urgent", "b"),),
            emergency=Emergency("CVE", NOON + HOUR, frozenset({"bob"})),
        ),
        Change(
            owner("outside"),
            CHANGE,
            (plugin("outside", "b"), plugin("outside", "d", gates=(Gate("cycle", "a cycle", "mend it"),))),
            policy=Policy(external=True),
        ),
    )
    states = {each.key: PluginState(OLD, OLD) for change in changes for each in change.candidates}

    def gone(name: str, cluster: str, **fields: Any) -> Removal:
        facts = ClusterFacts("acme", cluster, fields.pop("hold", None), fields.pop("silent_since", None))
        states.setdefault(key(cluster, name), PluginState(OLD, OLD))
        return Removal(
            key(cluster, name), owner(name), CHANGE, facts, rollout=f"{name}-deletes", policy="p1:deletes", **fields
        )

    removals = [
        gone("old", "a"),
        gone("old", "e"),
        gone("base", "e", dependents=("old", "never")),
        gone("old", "f", hold="mine"),
        gone("old", "g", silent_since=NOON - HOUR),
        gone("old", "h", calendar=frozen),
        gone("old", "i", calendar=later),
        gone("kept", "j", retain=True),
    ]
    book = Book(World(changes, states, tuple(removals), {"acme": Limits(Patience(retries=0), max_deletes=6)}))
    book.simulated("as it is", Scenario(until=NOON + DAY))
    book.page("more would be deleted than may; who comes first where two want one cluster")
    given = Approval("old-deletes", "deletes", CHANGE, "p1:deletes", "ann")
    book.later(MINUTE)
    book.world = structs.replace(
        book.world,
        complete=False,
        removals=tuple(structs.replace(each, approvals=(given,), authors=frozenset({"bob"})) for each in removals),
    )
    book.page("approved, but not all was loaded")
    book.later(MINUTE)
    book.world = structs.replace(book.world, complete=True)
    book.observe("Healthy", "b", plugin="urgent")
    book.observe("Healthy", "a")
    book.page("all was loaded")
    return book


def gates_of_validity() -> Book:
    breaking = Gate("breaking", "2.0.0 is breaking", "agree to it")
    missing = Gate("required-option", "host has no value", "set host")
    patched = Deployed("1.0.0", "certs", "h1:patched")
    fleet = [
        candidate("a", gates=(breaking,), forced_at=NOON + HOUR),
        candidate("b", gates=(breaking, missing), forced_at=NOON + HOUR, forced=True),
        candidate("c", gates=(missing,), meanwhile=patched),
        candidate("d", gates=(missing,), meanwhile=OLD),
        candidate("e", gates=(missing,), meanwhile=patched, hold="mine"),
        candidate("f", gates=(missing,), meanwhile=patched),
        candidate("g"),
        candidate("h"),
    ]
    states = {
        key("f"): PluginState(),
        key("g"): PluginState(OLD, OLD, render_failed="h1:new"),
        key("h"): PluginState(OLD, OLD, render_failed="h1:other"),
    }
    policy = Policy(stages=stages(all={"max_failures": 5}), max_failures="50%")
    book = Book(world_of(fleet, policy, states, limits=ONE_RETRY))
    book.page("what is blocked, and what goes on meanwhile")
    book.later(MINUTE)
    book.observe("Failed", "c")
    book.observe("Healthy", "h")
    book.page("what came meanwhile fails")
    book.sleep("and is tried again")
    book.later(HOUR)
    book.observe("Failed", "c")
    book.page("the consent is no longer waited for")
    book.later(MINUTE)
    book.edit("b", "c", "d", "e", "f", gates=(), meanwhile=None)
    book.page("the value is set")
    return book


STORIES: tuple[Callable[[], Book], ...] = (
    clusters_that_join_leave_and_move,
    clusters_that_do_not_answer,
    windows_freezes_and_emergencies,
    an_emergency_needs_consent,
    approvals_of_the_right_people,
    owners_that_meet_on_clusters,
    gates_of_validity,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda each: each.__name__)
def test_plans_say_what_the_page_says(story: Callable[[], Book]) -> None:
    compare(HERE / f"{story.__name__}.md", story().lines)
