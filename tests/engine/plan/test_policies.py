"""Policies as people write them, compiled: stages, ceilings, limits, strategies of Open Cluster Management."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fleetform.engine.plan.policy import Ceilings, compile_policy, limits_of, too_long
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.stages import StageRule
from fleetform.engine.plan.strategies import Group, strategy_stages
from fleetform.model.kinds.base import ClusterSelector, People
from fleetform.model.kinds.lifecycle import Emergency, LifecyclePolicySpec, RolloutPolicySpec, Stage, StageApprovals
from support.plans import DAY, HOUR, MINUTE, candidate, play

QA = ClusterSelector(match_labels={"env": "qa"})
EU = ClusterSelector(match_labels={"region": "eu"})


@pytest.mark.rule("R2-8")
def test_a_cluster_belongs_to_the_first_stage_that_selects_it_and_leftovers_to_the_remainder() -> None:
    stages = [Stage("qa", QA), Stage("rest", remainder=True), Stage("eu", EU)]
    _, selectors = compile_policy("standard", RolloutPolicySpec(stages))
    assert selectors.stage_of("a", {"env": "qa", "region": "eu"}) == "qa"
    assert selectors.stage_of("b", {"region": "eu"}) == "eu"
    assert selectors.stage_of("c", {}) == "rest"
    _, without = compile_policy("standard", RolloutPolicySpec([Stage("qa", QA)]))
    assert without.stage_of("c", {}) is None


def test_a_policy_without_stages_is_one_stage_with_all() -> None:
    policy, selectors = compile_policy("plain", RolloutPolicySpec())
    assert [rule.name for rule in policy.stages] == ["all"]
    assert selectors.stage_of("any", {}) == "all"


@pytest.mark.rule("R2-12", "S48")
def test_what_is_above_the_ceiling_is_found_and_clamped_for_what_runs() -> None:
    long = Stage("qa", QA, min_success_time="30d", wait_before="1h")
    spec = RolloutPolicySpec([long, Stage("p", QA, wait_before="9d")])
    ceilings = Ceilings(soak=14 * DAY, wait=2 * DAY)
    assert list(too_long(spec, ceilings)) == [(0, "minSuccessTime", 14 * DAY), (1, "waitBefore", 2 * DAY)]
    policy, _ = compile_policy("standard", spec, ceilings=ceilings)
    assert [(rule.soak, rule.wait) for rule in policy.stages] == [(14 * DAY, HOUR), (timedelta(0), 2 * DAY)]


@pytest.mark.rule("R2-32")
def test_a_stage_that_names_nobody_asks_the_organizations_approvers() -> None:
    asked = StageApprovals(2)
    own = StageApprovals(1, from_=People(users=["eve"]), not_author=False)
    spec = RolloutPolicySpec([Stage("qa", QA, approvals=asked), Stage("p", EU, approvals=own)])
    policy, _ = compile_policy("standard", spec, People(groups=["sre"]))
    first, second = (rule.approvals for rule in policy.stages)
    assert first is not None
    assert second is not None
    assert (first.required, first.groups, first.not_author) == (2, frozenset({"sre"}), True)
    assert (second.users, second.groups, second.not_author) == (frozenset({"eve"}), frozenset(), False)


def test_everything_a_policy_says_is_compiled() -> None:
    stage = Stage("qa", QA, max_concurrency="25%", max_failures=2, min_success_time="1h", deadline="30m")
    spec = RolloutPolicySpec([stage], "Rollback", "Replace", 3, ["version"])
    policy, _ = compile_policy("standard", spec)
    rule = policy.stages[0]
    assert (rule.max_concurrency, rule.max_failures, rule.soak, rule.deadline) == ("25%", 2, HOUR, 30 * MINUTE)
    assert (policy.on_failure, policy.replaces, policy.max_failures) == ("Rollback", True, 3)
    assert policy.trigger == {"version"}


def test_two_policies_have_one_digest_only_if_they_say_the_same() -> None:
    one, _ = compile_policy("standard", RolloutPolicySpec([Stage("qa", QA, max_failures=1)]))
    same, _ = compile_policy("standard", RolloutPolicySpec([Stage("qa", QA, max_failures=1)]))
    other, _ = compile_policy("standard", RolloutPolicySpec([Stage("qa", QA, max_failures=2)]))
    assert one.digest == same.digest != other.digest


def test_limits_are_the_organizations_word_else_the_platforms_else_what_is_usual() -> None:
    platform = LifecyclePolicySpec(max_deletes="1%", unreachable_after="30m", emergency=Emergency(2))
    own = LifecyclePolicySpec(max_deletes=7)
    found = limits_of(platform, own)
    assert (found.max_deletes, found.max_unreachable) == (7, "10%")
    none = limits_of(platform, LifecyclePolicySpec(max_deletes=0, max_unreachable=0))
    assert (none.max_deletes, none.max_unreachable) == (0, 0), "that is a word, too"
    assert found.patience.unreachable_after == 30 * MINUTE
    assert found.emergency_approvals == 2
    assert limits_of(None, None).patience.unreachable_after == 15 * MINUTE


@pytest.mark.rule("B22", "R2-32")
def test_those_who_approve_in_an_organization_approve_its_deletions() -> None:
    named = limits_of(None, None, People(users=["ann"], groups=["sre"])).deletes_approval
    assert (named.required, named.users, named.groups, named.not_author) == (
        1,
        frozenset({"ann"}),
        frozenset({"sre"}),
        True,
    )
    anybody = limits_of(None, None).deletes_approval
    assert (anybody.required, anybody.users, anybody.groups) == (1, frozenset(), frozenset())


@pytest.mark.rule("R1-16")
def test_a_strategy_of_open_cluster_management_is_planned_by_the_same_core() -> None:
    groups = [Group("canary", 0, ("a",)), Group("", 1, ("b", "c", "d"))]
    first = [{"groupName": "canary"}]
    fields = {"maxConcurrency": 2, "minSuccessTime": "1h", "mandatoryDecisionGroups": first}
    strategy = {"type": "Progressive", "progressive": fields}
    rules = strategy_stages(strategy, groups)
    policy = Policy("ocm", tuple(each.rule for each in rules))
    of = {cluster: each.rule.name for each in rules for cluster in each.clusters}
    hand = play([candidate(name, of[name]) for name in "abcd"], policy)
    assert hand.go() == ["a"]
    hand.healthy("a")
    assert hand.go() == []
    assert hand.wait(HOUR) == ["b", "c"]
    hand.healthy("b")
    assert hand.go() == [], "a cluster that soaks holds its slot there"
    assert hand.wait(HOUR) == ["d"]


@pytest.mark.rule("B24", "S2")
@pytest.mark.parametrize(
    ("type_", "field"), [("Progressive", "progressive"), ("ProgressivePerGroup", "progressivePerGroup")]
)
def test_failures_round_down_and_up_in_open_cluster_managements_strategies(type_: str, field: str) -> None:
    strategy = {"type": type_, field: {"maxFailures": "50%"}}
    (only,) = strategy_stages(strategy, [Group("", 0, ("a", "b", "c"))])
    assert only.rule.budget(3) == 2
    assert StageRule("all", max_failures="50%").budget(3) == 1
