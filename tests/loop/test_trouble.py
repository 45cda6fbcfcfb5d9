"""Rollouts that something comes in between of: failures of an earlier one, silence, a stage that everybody left."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fleetform.app.scope import scope_of
from fleetform.app.why import why
from fleetform.loop.asking import RolloutRequest
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.ports.store import Event
from loop.test_control import installed, left, upgraded
from support.plane import Plane

PRESET = Ref("PluginPreset", "acme", "web")


def started(found: Plane, cluster: str, version: str) -> list[Event]:
    events = found.store.events("acme", cluster)
    return [each for each in events if (each.event, each.version) == ("Started", version)]


@pytest.mark.rule("B34", "B24")
def test_what_failed_before_a_fix_that_went_back_is_tried_again_under_its_own_name_and_nothing_goes_on() -> None:
    found = installed()
    found.health.says |= {("eu-1", "1.1.0"): "Failed", ("eu-2", "1.2.0"): "Failed"}
    upgraded(found)
    found.wait(hours=1)
    first = found.control.image.known.rollouts.rollouts[PRESET][-1]
    upgraded(found, "1.2.0")
    found.settle()
    found.control.ask(RolloutRequest(verb="start", name="web", who=Identity("ann", owner=True), supersede=True))
    found.wait(hours=6)
    tries = started(found, "eu-1", "1.1.0")
    assert len(tries) == 4
    assert {(each.rollout, each.change_id) for each in tries} == {(first.name, first.change_id)}
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.0.0"}


@pytest.mark.rule("B34")
def test_retry_reaches_what_failed_beside_the_last_rollout() -> None:
    """A cluster that joins a fleet at rest is part of no rollout."""
    found = installed()
    found.health.says["us-2"] = "Failed"
    found.files.files["us-2.yaml"] = found.files.files["clusters.yaml"].rpartition("---\n")[2].replace("us-1", "us-2")
    found.wait(hours=6)
    assert len(started(found, "us-2", "1.0.0")) == 4
    found.health.says.clear()
    reply = found.control.ask(RolloutRequest(verb="retry", name="web", who=Identity("ann", owner=True)))
    assert reply.problem is None
    found.settle()
    assert found.store.events("acme", "us-2", limit=1)[0].event == "Healthy"


@pytest.mark.rule("B25")
def test_a_cluster_that_fell_silent_as_its_rollout_ended_is_asked_until_it_answers() -> None:
    """Nothing is judged there any more; unasked it would be silent for ever, and nothing would start there again."""
    found = installed()
    upgraded(found)
    found.settle()
    found.health.silent.add("eu-2")
    found.wait(hours=1)
    assert Ref("Cluster", "acme", "eu-2") in found.control.image.known.rollouts.silent_since
    found.wait(hours=6)
    found.health.silent.clear()
    upgraded(found, "1.2.0")
    found.wait(hours=6)
    assert not found.control.image.known.rollouts.silent_since
    assert set(found.versions.values()) == {"1.2.0"}


@pytest.mark.rule("B8", "R0-19")
def test_a_rollout_that_began_after_the_clock_was_set_back_is_still_the_last_one_to_the_next_process() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=3)
    found.clock.at -= timedelta(days=1)
    upgraded(found, "1.2.0")
    found.settle()
    running = found.control.image.known.rollouts.rollouts[PRESET][-1]
    found.restart()
    found.settle()
    assert [each for each in found.control.image.known.rollouts.rollouts[PRESET] if each.is_open] == [running]
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.2.0"}


@pytest.mark.rule("B21", "S45")
def test_gold_waits_if_the_only_cluster_of_dev_leaves_during_its_soak_and_why_says_so() -> None:
    found = installed()
    upgraded(found)
    found.wait(minutes=30)
    left(found, "eu-2")
    found.wait(hours=6)
    assert found.versions == {"eu-1": "1.0.0", "us-1": "1.0.0"}
    fleet = found.control.fleet
    assert fleet is not None
    told = why(fleet, scope_of(fleet, "acme", everywhere=False), "web-eu-1")
    reasons = [reason.message for each in told.items for reason in each.reasons]
    assert "stage gold follows dev, whose clusters all left before it was done" in reasons
    upgraded(found, "1.2.0")
    found.wait(hours=1)
    assert set(found.versions.values()) == {"1.2.0"}
