"""Values that refer to Secrets which are not there: nothing starts without them, and nothing else waits for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fleetform.app.fleet import Fleet
from fleetform.loop.image import Extras, Image, commit_image, read_image
from fleetform.model.state import Attempt, Deployed, PluginState
from fleetform.ports.state import KnownState
from fleetform.ports.store import StoreError
from fleetform.store.memory import MemoryStore
from loop.test_applied_secrets import token_on
from support.fleets import NOW, PRESET, fleet_with, plugin_on
from support.workloads import TOKEN, Workloads, document

LATE = {"path": "TOKEN", "valueFrom": {"secret": {"name": "late", "key": "token"}}}


def override(fleet: Workloads) -> None:
    fleet.write("late.yaml", document("PluginOverride", "o8", {"overrides": [LATE]}))


def take_away(fleet: Workloads, name: str) -> None:
    (fleet.folder / "fleet" / f"{name}.yaml").unlink()


def reasons(fleet: Workloads) -> list[tuple[str, str, str]]:
    """What holds the plugin."""
    plan = fleet.settle().plan
    assert plan is not None
    return [(each.gate, each.message, str(each.do)) for step in plan.owners[0].steps for each in step.reasons]


@pytest.mark.rule("S5", "B18")
def test_nothing_starts_before_the_secret_that_it_refers_to_is_there(fleet: Workloads) -> None:
    override(fleet)
    assert reasons(fleet) == [
        (
            "config-missing",
            "Secret acme/late with key token, which PluginOverride o8 names for TOKEN, does not exist",
            "create it, or fix the name",
        )
    ]
    fleet.keep_secret("late", other="x")
    assert reasons(fleet) == [
        (
            "config-missing",
            "Secret acme/late has no text under the key token, which PluginOverride o8 names for TOKEN",
            "add it, or fix the key",
        )
    ]
    assert fleet.state("c1").attempt is None
    fleet.keep_secret("late", token="here-it-is")
    fleet.settle()
    assert token_on(fleet) == "here-it-is"


@pytest.mark.rule("S5", "R2-17")
def test_a_change_that_lacks_a_secret_keeps_nothing_else_waiting(fleet: Workloads) -> None:
    fleet.installed()
    override(fleet)
    fleet.wait()
    assert [gate for gate, *_ in reasons(fleet)] == ["config-missing"]
    assert fleet.state("c1").attempt.phase == "Healthy"
    fleet.restart()
    take_away(fleet, "late")
    assert reasons(fleet) == []
    override(fleet)
    fleet.wait()
    fleet.write_preset(optionValues=[TOKEN], suspend=True)
    fleet.wait()
    take_away(fleet, "preset")
    fleet.wait()
    assert fleet.versions() == {"c1": None}, "it can be removed"


def started_and_not_brought(fleet: Workloads, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after it has stored a start, and before anything of it is brought anywhere."""
    override(fleet)
    fleet.keep_secret("late", token="here-it-is")

    def ends(*_: Any) -> None:
        raise StoreError("the process ends", "")

    with monkeypatch.context() as patched:
        patched.setattr(fleet.opened().control, "_deliver", ends)
        with pytest.raises(StoreError):
            fleet.settle()
    assert fleet.state("c1").in_flight
    fleet.restart()


@pytest.mark.rule("S5", "B34")
def test_a_secret_that_goes_before_it_is_brought_fails_the_change_and_it_goes_on_when_it_is_back(
    fleet: Workloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.installed()
    started_and_not_brought(fleet, monkeypatch)
    take_away(fleet, "kept-late")
    fleet.settle()
    state = fleet.state("c1")
    assert (state.attempt.phase, state.failure) == ("Failed", "there is no Secret late with a key token")
    fleet.wait(62)
    fleet.wait(125)
    assert fleet.state("c1").attempt.failures == 3
    fleet.keep_secret("late", token="here-it-is")
    fleet.wait(1)
    assert token_on(fleet) == "here-it-is"
    assert fleet.trouble("c1") is None


@pytest.mark.rule("B8", "R2-14")
def test_a_newer_change_takes_the_place_of_one_that_was_never_brought(
    fleet: Workloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.write("policy.yaml", document("RolloutPolicy", "standard", {"stages": [{"name": "all", "remainder": True}]}))
    fleet.installed()
    before = fleet.state("c1").admitted
    started_and_not_brought(fleet, monkeypatch)
    take_away(fleet, "kept-late")
    fleet.settle()
    take_away(fleet, "late")
    fleet.wait()
    fleet.wait()
    assert (fleet.state("c1").admitted.input_hash, fleet.state("c1").attempt.phase) == (before.input_hash, "Healthy")
    assert token_on(fleet) == "tell-nobody"


KEY = ("acme", "eu-1", "web-eu-1")


@pytest.mark.rule("B30")
def test_what_was_started_and_cannot_be_told_any_more_is_not_under_way_for_ever() -> None:
    attempt = Attempt("unknown:acme/eu-1/web-eu-1@1.0.0", "web-1", NOW, NOW)
    lost = PluginState(Deployed("1.0.0", "web", attempt.input_hash), attempt=attempt)
    healthy = PluginState(lost.admitted, attempt=Attempt(attempt.input_hash, "web-1", NOW, NOW, "Healthy"))
    known = PluginState(Deployed("1.0.0", "web", "h1:a"), attempt=Attempt("h1:a", "web-1", NOW, NOW))
    store, empty = MemoryStore(), Image(KnownState(), {}, {}, {})
    states = {KEY: lost, (*KEY[:2], "healthy"): healthy, (*KEY[:2], "known"): known}
    commit_image(store, empty, empty.with_plugins(states), Extras(), NOW)
    found = read_image(store, "the store")
    assert found.plugin(KEY).attempt is None
    assert found.plugin((*KEY[:2], "healthy")).attempt == healthy.attempt
    assert found.plugin((*KEY[:2], "known")).attempt == known.attempt


SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: late, namespace: acme}
stringData: {x: hello}
"""
NAMES_IT = PRESET + "    - {name: token, valueFrom: {secret: {name: late, key: x}}}\n"


def hash_of(fleet: Fleet) -> str | None:
    keyed = replace(fleet, state=KnownState(secret_key="a key of the store"))
    return keyed.inputs.state_hash(plugin_on(keyed, "eu-1"))


@pytest.mark.rule("B3", "B18")
def test_what_flux_gets_by_reference_is_known_without_the_secret_and_another_with_it() -> None:
    through_flux = NAMES_IT + "  delivery: {flux: {}}\n"
    without, there = (fleet_with(preset=through_flux, secret=each) for each in ("", SECRET))
    hashes = {hash_of(without), hash_of(there), hash_of(fleet_with(preset=through_flux, secret=SECRET + "\n"))}
    assert None not in hashes
    assert len(hashes) == 2
    assert hash_of(fleet_with(preset=NAMES_IT)) is None, "what we fill in is not known without it"
