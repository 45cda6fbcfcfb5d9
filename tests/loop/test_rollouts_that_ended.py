"""What a rollout led from and to is known for as long as the rollout is, whatever came after it."""

from __future__ import annotations

import pytest

from fleetform.app.listing.list_rollouts import rollout_answers
from fleetform.app.scope import Scope
from fleetform.loop.asking import RolloutRequest
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.store.known_state import read_known_state
from loop.test_control import installed, upgraded
from support.plane import Plane

PRESET = Ref("PluginPreset", "acme", "web")


def told(found: Plane) -> list[tuple[str | None, str | None, str]]:
    fleet = found.control.fleet
    assert fleet is not None
    return [(each.from_, each.to, each.phase) for each in rollout_answers(fleet, Scope("acme"))]


@pytest.mark.rule("B33")
def test_each_rollout_says_which_versions_it_led_from_and_to_when_later_ones_have_run() -> None:
    found = installed()
    for version in ("1.1.0", "1.2.0"):
        upgraded(found, version)
        found.wait(hours=6)
    assert told(found) == [
        (None, "1.0.0", "Succeeded"),
        ("1.0.0", "1.1.0", "Succeeded"),
        ("1.1.0", "1.2.0", "Succeeded"),
    ]


def test_one_that_was_replaced_on_its_way_says_so_too() -> None:
    found = installed()
    upgraded(found)
    found.wait(minutes=5)
    upgraded(found, "1.2.0")
    found.settle()
    found.control.ask(RolloutRequest(verb="start", name="web", who=Identity("ann", owner=True), supersede=True))
    found.wait(hours=6)
    assert told(found)[1:] == [("1.0.0", "1.1.0", "Superseded"), ("1.0.0, 1.1.0", "1.2.0", "Succeeded")]


def test_one_that_went_back_says_what_it_had_brought() -> None:
    found = installed()
    found.health.says["1.1.0"] = "Failed"
    found.health.says |= {(each, "1.1.0"): "Failed" for each in ("eu-1", "eu-2", "us-1")}
    upgraded(found)
    found.wait(hours=12)
    upgraded(found, "1.2.0")
    found.wait(hours=6)
    assert told(found)[1:] == [("1.0.0", "1.1.0", "Halted"), ("1.0.0", "1.2.0", "Succeeded")]


def test_it_is_stored_with_the_rollout() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=6)
    (_, last) = read_known_state(found.store, "store").rollouts.rollouts[PRESET]
    assert (last.from_versions, last.to_versions) == (("1.0.0",), ("1.1.0",))
