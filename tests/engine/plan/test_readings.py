"""Other values that clusters read: changes of those clusters alone (B16)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.plan.progress import is_reread
from fleetform.engine.plan.requests import roll_back
from fleetform.engine.plan.rollouts import Policy
from fleetform.model.state import Deployed, PluginState
from fleetform.syntax.hashing import as_written, differ_in_readings, input_hash, with_readings
from support.plans import HOUR, MINUTE, NIGHTS, Hand, candidate, key, play, stages

TWO = Policy("standard", stages(qa={"soak": HOUR}, prod={}))


def deployed(version: str, read: str) -> Deployed:
    """A version with a value that was read on its cluster."""
    return Deployed(version, "certs", with_readings(input_hash({"version": version}), {"zone": read}))


BEFORE, OTHER = deployed("1.0.0", "one"), deployed("1.0.0", "two")
NEWER, NEWER_OTHER = deployed("1.1.0", "one"), deployed("1.1.0", "two")


def settled(*clusters: tuple[str, str], policy: Policy = TWO, **fields: Any) -> Hand:
    """A fleet that is where it should be."""
    known = {key(name): PluginState(BEFORE, BEFORE) for name, _ in clusters}
    candidates = [candidate(name, stage, wanted=BEFORE, **fields) for name, stage in clusters]
    return play(candidates, policy, states=known)


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.integers()))
@pytest.mark.rule("B16", "B3")
def test_the_hash_of_a_state_is_what_is_written_and_what_was_read(parts: dict[str, str], read: dict[str, int]) -> None:
    written = input_hash(dict(parts))
    assert as_written(with_readings(written, dict(read))) == as_written(written) == written
    assert with_readings(written, dict(read)) != with_readings(written, {**read, "one more": 1})


@pytest.mark.parametrize("other", [None, "unknown:acme/eu-1/web@1.2.3", "h0:old.one"])
def test_hashes_that_are_no_hashes_of_states_stay_as_they_are(other: str | None) -> None:
    assert as_written(other) == other
    assert not is_reread(Deployed("1.0.0", input_hash=other), OTHER)


HASHES = st.sampled_from(
    ["", "h1:a", "h1:a.b", "h0:old.one", "unknown:acme/eu-1/web@1.2.3", f"unknown:{'acme/' * 30}"]
) | st.builds(
    lambda written, read: (
        with_readings(input_hash({"a": written}), {"b": read}) if read else input_hash({"a": written})
    ),
    st.sampled_from("xy"),
    st.sampled_from(["", "x", "y"]),
)


@given(HASHES, HASHES)
def test_two_hashes_differ_in_readings_where_what_is_written_is_the_same(one: str, other: str) -> None:
    assert differ_in_readings(one, other) == (one != other and as_written(one) == as_written(other))


@pytest.mark.rule("B16")
def test_another_value_starts_at_once_whatever_its_stage_and_makes_no_rollout() -> None:
    hand = settled(("q", "qa"), ("p", "prod"))
    assert hand.go() == []
    hand.edit("p", wanted=OTHER)
    assert hand.go() == ["p"]
    assert hand.world.changes[0].rollout is None
    assert hand.progress("p").admitted == OTHER
    hand.healthy("p")
    assert hand.go() == []
    assert hand.look().owners[0].at_rest


@pytest.mark.rule("B16")
@pytest.mark.parametrize(
    ("fields", "gate"), [({"hold": "busy"}, "veto"), ({"calendar": NIGHTS}, "window")], ids=["hold", "window"]
)
def test_its_cluster_holds_it(fields: dict[str, Any], gate: str) -> None:
    hand = settled(("p", "prod"), **fields)
    hand.edit("p", wanted=OTHER)
    assert hand.go() == []
    assert hand.gates("p") == [gate]


@pytest.mark.rule("B16", "B24")
def test_failures_of_its_stage_hold_it_but_not_its_own() -> None:
    hand = settled(("a", "prod"), ("b", "prod"), ("q", "qa"))
    hand.edit("a", wanted=OTHER)
    assert hand.go() == ["a"]
    hand.fail("a")
    for each in ("b", "q"):
        hand.edit(each, wanted=OTHER)
    assert hand.go() == ["q"], "another stage has a budget of its own"
    assert hand.gates("b") == ["budget"]
    hand.edit("a", wanted=deployed("1.0.0", "three"))
    assert hand.go() == ["a", "b"], "what may mend it is tried"


@pytest.mark.rule("B16")
def test_a_cluster_that_a_halted_rollout_does_not_concern_gets_another_value() -> None:
    known = {key("p"): PluginState(NEWER, NEWER), key("q"): PluginState(BEFORE, BEFORE)}
    hand = play([candidate("q", "qa", wanted=NEWER), candidate("p", "prod", wanted=NEWER)], TWO, states=known)
    assert hand.go() == ["q"]
    hand.fail("q")
    hand.go()
    assert hand.phase() == "Halted"
    assert hand.progress("p").enrolment is None
    hand.edit("p", wanted=NEWER_OTHER)
    assert hand.go() == ["p"]


@pytest.mark.rule("B16", "B24")
def test_each_stage_has_the_budget_that_it_says() -> None:
    policy = Policy("standard", stages(qa={"max_failures": 0}, prod={"max_failures": 1}))
    hand = settled(("a", "prod"), ("b", "prod"), ("c", "prod"), policy=policy)
    for each, starts in (("a", ["a"]), ("b", ["b"]), ("c", [])):
        hand.edit(each, wanted=OTHER)
        assert hand.go() == starts
        if starts:
            hand.fail(each)
    assert hand.gates("c") == ["budget"]


@pytest.mark.rule("B16", "B24")
def test_the_policys_own_budget_counts_over_all_stages() -> None:
    policy = Policy("standard", stages(qa={"max_failures": 9}, prod={"max_failures": 9}), max_failures=1)
    hand = settled(("a", "qa"), ("b", "prod"), ("c", "prod"), policy=policy)
    for each in ("a", "b"):
        hand.edit(each, wanted=OTHER)
    hand.go()
    hand.fail("a", "b")
    hand.edit("c", wanted=OTHER)
    assert hand.go() == []
    assert hand.gates("c") == ["budget"]


@pytest.mark.rule("B16")
def test_many_start_at_once_after_a_rollout_that_went_one_by_one() -> None:
    policy = Policy("standard", stages(all={"max_concurrency": 1}))
    hand = settled(("a", "all"), ("b", "all"), ("c", "all"), policy=policy)
    hand.want(NEWER)
    for each in "abc":
        assert hand.go() == [each]
        hand.healthy(each)
    assert hand.go() == []
    hand.want(NEWER_OTHER)
    assert hand.go() == ["a", "b", "c"]


@pytest.mark.rule("B16", "R2-38", "S50")
def test_a_way_back_goes_to_what_ran_before_the_rollout_also_after_another_value() -> None:
    hand = settled(("a", "all"), policy=Policy("standard", stages(all={})))
    hand.want(NEWER)
    assert hand.go() == ["a"]
    hand.healthy("a")
    hand.go()
    hand.edit("a", wanted=NEWER_OTHER)
    assert hand.go() == ["a"]
    hand.healthy("a")
    hand.go()
    hand.ask(roll_back(hand.rollout))
    assert hand.go() == ["a"]
    assert hand.progress("a").admitted == BEFORE


@pytest.mark.rule("B16", "B21")
def test_a_cluster_that_waits_for_its_stage_takes_the_value_along() -> None:
    hand = settled(("q", "qa"), ("p", "prod"))
    hand.want(NEWER)
    assert hand.go() == ["q"]
    hand.edit("p", wanted=NEWER_OTHER)
    assert hand.go() == []
    assert hand.gates("p") == ["stage"]
    hand.healthy("q")
    assert hand.wait(HOUR + MINUTE) == ["p"]
    assert hand.progress("p").admitted == NEWER_OTHER


@pytest.mark.rule("B16", "B8")
def test_a_value_that_differs_queues_nothing_behind_a_rollout() -> None:
    hand = settled(("q", "qa"), ("p", "prod"))
    hand.want(NEWER)
    assert hand.go() == ["q"]
    hand.edit("p", wanted=NEWER_OTHER)
    hand.change(change_id="c1:cccccccc33")
    hand.go()
    assert hand.rollout.queued is None
