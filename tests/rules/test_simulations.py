"""Simulations of whole folders: from one side to another, as simulate plays them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleetform.app.comparing.plugin_changes import compare
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.app.simulate import simulate
from fleetform.engine.plan.scenario import Scenario, Spell
from fleetform.model.answers.simulation import Simulation
from support.fleets import NOW, fleet_of
from support.worlds import definition, fleet_files, installed, manifest, policy, preset

EVERYWHERE = Scope(None)
QA = "name: qa, clusterSelector: {matchLabels: {tier: qa}}"
GOLD = "name: gold, remainder: true"


def side(**files: str) -> Fleet:
    return fleet_of(fleet_files(**files))


def play(scenario: Scenario | None = None, then: dict[str, str] | None = None, **files: str) -> Simulation:
    """From certs 1.0.0, healthy everywhere, to 1.1.0; files are those of both sides, then of the earlier one alone."""
    newer = {"newer": definition("1.1.0"), **files}
    return simulate(side(**newer), EVERYWHERE, scenario or Scenario(), side(**{**files, **(then or {})})).answer


def told(simulation: Simulation) -> list[tuple[str, str, int]]:
    return [
        (each.cluster, each.event, (each.at - NOW) // timedelta(minutes=1))
        for each in simulation.events
        if each.event != "Waiting"
    ]


def staged(qa: str = "", gold: str = "", more: str = "") -> str:
    return policy(f"{{{QA}{', ' + qa if qa else ''}}}, {{{GOLD}{', ' + gold if gold else ''}}}", more)


@pytest.mark.rule("S44")
def test_a_new_version_goes_from_stage_to_stage() -> None:
    found = play()
    assert told(found) == [
        ("qa-1", "Started", 0),
        ("eu-1", "Started", 10),
        ("eu-2", "Started", 10),
        ("qa-1", "Succeeded", 10),
        ("eu-1", "Succeeded", 20),
        ("eu-2", "Succeeded", 20),
    ]
    assert (found.outcome, found.end - found.start) == ("Completed", timedelta(minutes=20))
    (rollout,) = found.rollouts
    assert (rollout.preset, rollout.from_, rollout.to, rollout.clusters) == ("certs", ["1.0.0"], ["1.1.0"], 3)
    assert [(each.name, each.clusters, each.updated) for each in found.stages] == [("qa", 1, 1), ("gold", 2, 2)]


@pytest.mark.rule("S44")
def test_two_sides_that_say_the_same_start_nothing() -> None:
    found = simulate(side(), EVERYWHERE, Scenario(), side()).answer
    assert (found.outcome, found.events, found.stages) == ("Completed", [], [])


@pytest.mark.rule("S44", "B30")
def test_what_starts_is_what_a_comparison_finds() -> None:
    secret = "[{name: replicas, value: 1}, {name: token, valueFrom: {secret: {name: s, key: k}}}]"
    options = "options: [{name: replicas, type: int}, {name: token, type: secret}]"
    certs = manifest("PluginDefinition", "certs", f"{{version: 1.0.0, {options}}}")
    before = side(certs=certs, preset=preset(values=secret))
    override = manifest(
        "PluginOverride", "o", "{clusterSelector: {clusterNames: [eu-2]}, overrides: [{path: replicas, value: 3}]}"
    )
    after = side(certs=certs, preset=preset(values=secret), override=override)
    changes, unknown = compare(before, after, EVERYWHERE)
    assert ([each.either.key[1] for each in changes], bool(unknown)) == (["eu-2"], True)
    found = simulate(after, EVERYWHERE, Scenario(), before).answer
    assert [(each.cluster, each.event) for each in found.events] == [("eu-2", "Started"), ("eu-2", "Succeeded")]


@pytest.mark.rule("S44")
def test_without_another_side_what_runs_is_what_the_state_says() -> None:
    folder = installed()
    folder.edit(newer=definition("1.1.0"))
    found = simulate(folder.fleet, EVERYWHERE, Scenario()).answer
    assert [each.cluster for each in found.events if each.event == "Started"] == ["qa-1", "eu-1", "eu-2"]
    assert simulate(installed().fleet, EVERYWHERE, Scenario()).answer.events == []


@pytest.mark.rule("S44")
def test_a_rollout_under_way_goes_on_and_what_it_has_done_is_shown() -> None:
    folder = installed()
    folder.edit(newer=definition("1.1.0"))
    assert folder.go() == ["qa-1"]
    folder.now += timedelta(minutes=7)
    found = simulate(folder.fleet, EVERYWHERE, Scenario()).answer
    assert [each.cluster for each in found.events if each.event == "Started"] == ["eu-1", "eu-2"]
    qa = found.stages[0]
    assert [(each.at, each.in_flight, each.updated) for each in qa.levels] == [
        (NOW, 1, 0),
        (NOW + timedelta(minutes=10), 0, 1),
    ]


@pytest.mark.rule("S44")
def test_what_had_ended_before_is_no_longer_in_flight() -> None:
    folder = installed()
    folder.edit(newer=definition("1.1.0"))
    folder.go()
    folder.now += timedelta(minutes=5)
    folder.healthy("qa-1")
    folder.now += timedelta(minutes=2)
    qa = simulate(folder.fleet, EVERYWHERE, Scenario()).answer.stages[0]
    assert [(each.at, each.in_flight, each.updated) for each in qa.levels] == [
        (NOW, 1, 0),
        (NOW + timedelta(minutes=5), 0, 1),
    ]


@pytest.mark.rule("S44", "R2-14")
@pytest.mark.parametrize(
    ("on_failure", "outcome", "updated"),
    [("Halt", "Halted", 1), ("Rollback", "RolledBack", 0), ("Continue", "Completed", 2)],
)
def test_a_failure_ends_as_the_policy_says(on_failure: str, outcome: str, updated: int) -> None:
    rules = staged(gold="maxConcurrency: 1", more=f"onFailure: {on_failure}")
    found = play(Scenario(failing=(Spell("eu-1"),)), policy=rules)
    assert (found.outcome, sum(each.updated for each in found.stages)) == (outcome, updated)


@pytest.mark.rule("S45")
def test_soak_counts_from_each_clusters_success_and_the_slot_frees_at_success() -> None:
    found = play(policy=staged("minSuccessTime: 1h", "maxConcurrency: 50%, minSuccessTime: 30m"))
    starts = [(name, minutes) for name, event, minutes in told(found) if event == "Started"]
    # The second of gold starts when the first is healthy, not when it has soaked.
    assert starts == [("qa-1", 0), ("eu-1", 70), ("eu-2", 80)]
    assert [(each.end - NOW) // timedelta(minutes=1) for each in found.stages if each.end is not None] == [70, 120]


@pytest.mark.rule("S45")
def test_a_rollback_returns_every_cluster_that_was_started_in_all_stages() -> None:
    rules = staged("minSuccessTime: 1h", "maxConcurrency: 1", "onFailure: Rollback")
    found = play(Scenario(failing=(Spell("eu-2"),)), policy=rules)
    assert {each.cluster for each in found.events if each.event == "RolledBack"} == {"qa-1", "eu-1", "eu-2"}


NIGHTS = manifest("UpdateWindow", "nights", '{type: Allow, schedule: "0 22 * * *", duration: 4h, timeZone: UTC}')
NAMED = "updateWindows: [nights]"


@pytest.mark.rule("S46", "R2-30")
def test_versions_wait_for_windows_and_first_installs_do_not() -> None:
    found = play(windows=NIGHTS, preset=preset(NAMED))
    assert next(each.at for each in found.events if each.event == "Started") == NOW.replace(hour=22)
    first = simulate(side(windows=NIGHTS, preset=preset(NAMED)), EVERYWHERE, Scenario()).answer
    assert told(first)[0] == ("qa-1", "Started", 0)


@pytest.mark.rule("S46")
def test_a_first_install_is_staged_and_waits_for_freezes() -> None:
    freeze = manifest(
        "UpdateWindow", "move", "{type: HardFreeze, from: 2026-11-01T00:00:00Z, to: 2026-11-03T00:00:00Z}"
    )
    found = simulate(side(freeze=freeze), EVERYWHERE, Scenario()).answer
    starts = [(each.cluster, each.at) for each in found.events if each.event == "Started"]
    # The end of a date range is no part of it.
    opened = datetime(2026, 11, 3, tzinfo=NOW.tzinfo)
    assert starts == [
        ("qa-1", opened),
        ("eu-1", opened + timedelta(minutes=10)),
        ("eu-2", opened + timedelta(minutes=10)),
    ]


@pytest.mark.rule("S44", "R2-32")
def test_people_approve_after_a_while_or_never() -> None:
    rules = staged(gold="approvals: {required: 2}")
    soon = play(Scenario(approval_delay=timedelta(hours=2)), policy=rules)
    assert ("eu-1", "Started", 130) in told(soon)
    gold = soon.stages[1].approvals
    assert gold is not None
    assert (gold.required, gold.at) == (2, NOW + timedelta(minutes=130))
    never = play(Scenario(approval_delay=None), policy=rules)
    assert never.outcome == "Stuck"
    (left,) = never.left
    assert (left.gate, left.clusters) == ("approval", ["eu-1", "eu-2"])
    assert "rollout approve" in left.do


@pytest.mark.rule("S44")
def test_a_held_cluster_and_one_that_is_blocked_leave_it_stuck_and_are_named() -> None:
    files = fleet_files()
    held = files["clusters.yaml"].replace(
        "name: eu-2, namespace: acme, labels: {tier: gold}}\nspec: {}",
        "name: eu-2, namespace: acme, labels: {tier: gold}}\nspec: {hold: maintenance}",
    )
    assert held != files["clusters.yaml"]
    found = play(clusters=held)
    assert found.outcome == "Stuck"
    assert [(each.state, each.gate, each.clusters) for each in found.left] == [("Blocked", "veto", ["eu-2"])]


@pytest.mark.rule("S44", "B22")
def test_plugins_that_nobody_wants_any_more_are_deleted() -> None:
    narrower = preset().replace("clusterSelector: {}", "clusterSelector: {matchLabels: {tier: gold}}")
    found = simulate(side(preset=narrower), EVERYWHERE, Scenario(), side()).answer
    assert [(each.cluster, each.event, each.reason) for each in found.events] == [
        ("qa-1", "Started", "delete"),
        ("qa-1", "Succeeded", "delete"),
    ]
    assert found.outcome == "Completed"


def test_one_organization_is_played_alone() -> None:
    assert play().rollouts[0].organization == "acme"
    newer = side(newer=definition("1.1.0"))
    assert simulate(newer, Scope("elsewhere"), Scenario(), side()).answer.rollouts == []


@pytest.mark.rule("S44")
def test_what_is_stored_in_the_middle_can_be_planned_from() -> None:
    rules = staged("minSuccessTime: 1h", "approvals: {required: 2}")
    newer, older = side(newer=definition("1.1.0"), policy=rules), side(policy=rules)
    until = NOW + timedelta(minutes=30)
    middle = simulate(newer, EVERYWHERE, Scenario(until=until, approval_delay=None), older)
    again = fleet_of(fleet_files(newer=definition("1.1.0"), policy=rules), state=middle.state)
    again = replace(again, snapshot=replace(again.snapshot, at=until))
    states = {step.key[1]: (step.state, [each.gate for each in step.reasons]) for step in again.plan.steps}
    assert states == {
        "qa-1": ("UpToDate", []),
        "eu-1": ("Waiting", ["soak", "approval"]),
        "eu-2": ("Waiting", ["soak", "approval"]),
    }
    # It is the same rollout, and goes on.
    assert [each.name for each in again.plan.world.changes[0].rollout.stages] == ["qa", "gold"]  # type: ignore[union-attr]
    approved = simulate(newer, EVERYWHERE, Scenario(until=until, approvals={"gold": NOW}), older)
    assert [each.user for each in approved.state.rollouts.approvals] == ["approver-1", "approver-2"]
    known = fleet_of(fleet_files(newer=definition("1.1.0"), policy=rules), state=approved.state)
    assert [each.gate for each in known.plan.owners[0].steps[0].reasons] == ["soak"]
    rest = simulate(again, EVERYWHERE, Scenario()).answer
    assert [each.cluster for each in rest.events if each.event == "Started"] == ["eu-1", "eu-2"]
    assert rest.stages[1].start == NOW + timedelta(minutes=70)


@pytest.mark.rule("R2-32")
def test_the_latest_time_for_an_approval_is_told_with_what_a_later_one_costs() -> None:
    rules = staged(gold="approvals: {required: 1}")
    gold = play(windows=NIGHTS, preset=preset(NAMED), policy=rules).stages[1].approvals
    assert gold is not None
    # Gold could start at 22:10; approved after that, it ends that much later.
    assert gold.at == NOW.replace(hour=22, minute=10)
    assert (gold.decide_by, gold.later_costs) == (NOW.replace(hour=22, minute=10), "1m")
    unasked = play().stages[1].approvals
    assert unasked is None
