"""Rollout decisions, held to what Open Cluster Management's own library answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from data.oracles.tables import Row, rows_named, rows_of
from fleetform.engine.rollout import RolloutDecision, StrategyError, decide

# Rows that we answer otherwise, each with its reason; docs/spec/differences.md says the same in words.
DIFFERS = {
    "ocm_rollout-168": "a failure outside of mandatory groups is seen: their phase looks at mandatory clusters alone",
    "ocm_rollout-228": "maxConcurrency 0% is refused, not read as all",
    "ocm_rollout-232": "a negative maxConcurrency is refused, not read as all",
    "ocm_rollout-240": "maxFailures beyond the number of clusters is refused, not read as 0",
    "ocm_rollout-241": "a cluster in flight counts although others with earlier names take all slots",
    "ocm_rollout-242": "the same",
    "ocm_rollout-327": "the same: two in flight and two failures are seen, so nothing starts",
}
MANDATORY = (
    {"type": "Progressive", "progressive": {"maxFailures": 1, "mandatoryDecisionGroups": [{"groupName": "m"}]}},
    [{"name": "m", "index": 0, "clusters": ["a"]}, {"name": "", "index": 1, "clusters": ["b", "c"]}],
)
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


def _decide(given: dict[str, Any]) -> RolloutDecision:
    states = [{**state, "since": _time(state["since"])} for state in given["statuses"] or ()]
    now = _time(given["now"])
    assert now is not None
    return decide(given["strategy"], given["groups"], states, now)


def _pairs(statuses: Any) -> list[tuple[str, str]]:
    return sorted((each["cluster"], each["status"]) for each in statuses)


@pytest.mark.rule("R1-16", "S34", "S2")
@pytest.mark.parametrize("row", rows_of("ocm_rollout", without=DIFFERS))
def test_answers_as_open_cluster_management_does(row: Row) -> None:
    if "error" in row.answer:
        with pytest.raises(StrategyError):
            _decide(row.given)
        return
    decision = _decide(row.given)
    assert _pairs(decision.rollout) == _pairs(row.answer["rollout"])
    assert _pairs(decision.timed_out) == _pairs(row.answer["timedOut"])
    assert _pairs(decision.removed) == _pairs(row.answer["removed"])
    assert decision.failure_budget_breached == row.answer["maxFailureBreach"]
    seconds, now = row.answer["recheckAfterSeconds"], _time(row.given["now"])
    assert now is not None
    assert decision.look_again_at == (now + timedelta(seconds=seconds) if seconds is not None else None)


@pytest.mark.parametrize("row", rows_named("ocm_rollout", ["ocm_rollout-228", "ocm_rollout-232", "ocm_rollout-240"]))
def test_amounts_that_cannot_be_meant_are_refused(row: Row) -> None:
    with pytest.raises(StrategyError, match="out of range"):
        _decide(row.given)


@pytest.mark.parametrize(
    ("row", "in_flight", "breached"),
    [
        ("ocm_rollout-168", ["b1"], True),
        ("ocm_rollout-241", ["c1", "c2"], False),
        ("ocm_rollout-242", ["c1", "c2"], True),
        ("ocm_rollout-327", ["c01", "c08", "c09"], True),
    ],
)
def test_everything_in_flight_counts_whatever_its_name(row: str, in_flight: list[str], breached: bool) -> None:
    decision = _decide(rows_named("ocm_rollout", [row])[0].values[0].given)  # type: ignore[union-attr]
    assert [each.cluster for each in decision.rollout] == in_flight
    assert decision.failure_budget_breached is breached


def test_a_timed_out_cluster_outside_of_mandatory_groups_does_not_stop_the_rollout() -> None:
    strategy, groups = MANDATORY
    states = [
        {"cluster": "a", "status": "Succeeded", "since": NOW},
        {"cluster": "b", "status": "TimeOut", "since": NOW},
    ]
    assert [each.cluster for each in decide(strategy, groups, states, NOW).rollout] == ["c"]


def test_a_mandatory_cluster_that_timed_out_stops_the_rollout() -> None:
    strategy, groups = MANDATORY
    decision = decide(strategy, groups, [{"cluster": "a", "status": "TimeOut", "since": NOW}], NOW)
    assert decision.rollout == ()
    assert decision.failure_budget_breached


def test_two_groups_never_start_together() -> None:
    """A timed-out cluster holds no slot, so it makes no room for a second group."""
    groups = [{"name": "", "index": index, "clusters": [name]} for index, name in enumerate("abc")]
    strategy = {"type": "ProgressivePerGroup", "progressivePerGroup": {"maxFailures": 1}}
    decision = decide(strategy, groups, [{"cluster": "a", "status": "TimeOut", "since": NOW}], NOW)
    assert [each.cluster for each in decision.rollout] == ["b"]


def test_a_decision_can_be_read_by_field_names() -> None:
    decision = decide({"type": "All"}, [{"name": "", "index": 0, "clusters": ["a"]}], [], NOW)
    assert decision["rollout"][0]["cluster"] == "a"


def test_a_share_is_rounded_up_in_whole_numbers() -> None:
    strategy = {"type": "Progressive", "progressive": {"maxConcurrency": "7%"}}
    clusters = [f"c{number:03}" for number in range(100)]
    decision = decide(strategy, [{"name": "", "index": 0, "clusters": clusters}], [], NOW)
    assert len(decision.rollout) == 7
