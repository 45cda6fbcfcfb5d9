"""What the loop does from time to time: decides anew, renders again, and forgets what nobody needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.engine.decisions import Decisions
from fleetform.loop import caring
from fleetform.loop.asking import RolloutRequest
from fleetform.loop.caring import render_again, without_unneeded
from fleetform.loop.image import Extras
from fleetform.loop.records import unpacked
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.model.state import Attempt, Deployed, Enrolment, PluginState
from fleetform.ports.store import ExpiredError
from loop.test_control import installed, left, upgraded
from support.fleets import NOW, override
from support.plane import Files, Plane


def decided_anew(found: Plane) -> list[PluginKey]:
    """What a day's look at everything finds."""
    found.control._caretaker._anew_at = None
    return list(found.control.care().differing)


@pytest.mark.rule("R0-14")
def test_what_was_decided_step_by_step_is_what_is_decided_anew() -> None:
    found = installed()
    edits: list[Callable[[], object]] = [
        lambda: upgraded(found),
        lambda: found.files.files.update({"more.yaml": override("more", "[{path: replicas, value: 7}]")}),
        lambda: left(found, "us-1"),
        lambda: found.files.files.pop("more.yaml"),
    ]
    for edit in edits:
        edit()
        found.settle()
        assert decided_anew(found) == []
        found.wait(hours=25)
        assert decided_anew(found) == []


def test_a_difference_is_told_and_the_decision_made_anew_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed()
    fleet = found.control.fleet
    assert fleet is not None
    earlier = fleet.decisions
    upgraded(found)
    found.settle()
    monkeypatch.setattr(caring, "decide", lambda snapshot: earlier)
    assert [key[1] for key in found.control.care().differing] == ["eu-1", "eu-2", "us-1"]
    monkeypatch.undo()
    found.wait(hours=2)
    assert decided_anew(found) == []
    assert set(found.versions.values()) == {"1.1.0"}


def test_what_was_decided_wrongly_is_mended() -> None:
    found = installed()
    standing, fleet = found.control._standing, found.control.fleet
    assert fleet is not None
    cluster = Ref("Cluster", "acme", "eu-1")
    clusters = {**fleet.decisions.clusters, cluster: structs.replace(fleet.decisions.clusters[cluster], plugins={})}
    standing.take(replace(fleet, previous=replace(fleet.decisions, clusters=clusters)))
    assert decided_anew(found) == [("acme", "eu-1", "web-eu-1")]
    assert decided_anew(found) == []


def test_everything_is_decided_anew_once_in_a_day_and_after_the_clock_was_turned_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, times = installed(), list[timedelta]()
    start = found.clock.at

    def decide_anew(fleet: Fleet) -> tuple[Decisions, list[PluginKey]]:
        times.append(found.clock.at - start)
        return fleet.decisions, []

    monkeypatch.setattr(caring, "decided_anew", decide_anew)
    day, second = timedelta(days=1), timedelta(seconds=1)
    for at in (0 * day, 0 * day, day - second, day, day, day - second):
        found.clock.at = start + at
        found.control.care()
    assert times == [0 * day, day, day - second]


@pytest.mark.rule("R2-38")
def test_a_render_that_differs_is_told_once_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed()
    inner = found.renders._render

    def otherwise(input_: RenderInput) -> object:
        made = inner(input_)
        assert isinstance(made, Rendered)
        return Rendered(made.key, ({**made.objects[0], "kind": "Secret"},))

    assert found.control.care().render_changed == []
    before = dict(found.targets.there)
    monkeypatch.setattr(found.renders, "_render", otherwise)
    assert sorted(key[1] for key in found.control.care().render_changed) == ["eu-1", "eu-2", "us-1"]
    assert found.control.care().render_changed == []
    found.restart()
    found.settle()
    assert found.control.care().render_changed == []
    assert found.targets.there == before
    assert [each.event for each in found.store.events("acme", "eu-1")].count("RenderChanged") == 1


def in_three_states() -> Plane:
    """A fleet on which each cluster has a state of its own: its host is us, dev, or nobody says."""
    found = installed()
    for host, label in (("us", "region"), ("dev", "tier")):
        selector = f"clusterSelector: {{matchLabels: {{{label}: {host}}}}}"
        found.files.files[f"{host}.yaml"] = override(host, f"[{{path: host, value: {host}}}]", selector)
    found.wait(hours=3)
    return found


def test_states_are_rendered_again_in_turn_and_then_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    found, hosts = in_three_states(), list[object]()
    inner = found.renders._render

    def noted(input_: RenderInput) -> Rendered | RenderFailure:
        hosts.append(input_.variables.get("host"))
        return inner(input_)

    monkeypatch.setattr(found.renders, "_render", noted)
    monkeypatch.setattr(caring, "_MOST_RENDERED", 1)
    turns = []
    for _ in range(8):
        hosts.clear()
        found.control.care()
        turns.append(tuple(hosts))
    assert set(turns[:3]) == {("us",), ("dev",), (None,)}
    assert turns[3] == (), "that was all"
    assert turns[4:] == turns[:4]


@pytest.mark.parametrize("host", ["us", "dev", None])
def test_a_state_that_cannot_be_rendered_or_that_is_as_it_was_keeps_no_other_from_being_told(
    host: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = in_three_states()
    inner, clusters = found.renders._render, {"us": "us-1", "dev": "eu-2", None: "eu-1"}
    told: dict[str, list[str]] = {}

    def like(input_: RenderInput, way: str) -> Rendered | RenderFailure:
        made = inner(input_)
        assert isinstance(made, Rendered)
        other = structs.replace(made, objects=({**made.objects[0], "kind": "Secret"},))
        ways: dict[str, Rendered | RenderFailure] = {
            "failed": RenderFailure("no chart", "look"),
            "unsteady": structs.replace(other, unsteady=True),
            "same": made,
        }
        return ways[way] if input_.variables.get("host") == host else other

    for way in ("failed", "unsteady", "same"):
        found.restart()
        monkeypatch.setattr(found.renders, "_render", inner)
        found.control.care()
        monkeypatch.setattr(found.renders, "_render", partial(like, way=way))
        told[way] = sorted(key[1] for key in found.control.care().render_changed)
    others = sorted(set(clusters.values()) - {clusters[host]})
    assert told == {"failed": others, "unsteady": others, "same": others}


def test_what_the_files_no_longer_say_is_not_rendered_again() -> None:
    found = installed()
    found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]")
    found.settle()
    # It waits for the first stage on others.
    rendered = found.renders.count
    assert found.control.care().render_changed == []
    assert found.renders.count == rendered + 1


@pytest.mark.parametrize("admitted", [None, Deployed("1.0.0"), Deployed("1.0.0", input_hash="of another process")])
def test_what_is_not_stored_is_not_rendered_again(admitted: Deployed | None) -> None:
    found = installed()
    fleet, image, rendered = found.control.fleet, found.control.image, found.renders.count
    assert fleet is not None
    changes = {key: structs.replace(image.plugin(key), admitted=admitted) for key in fleet.decisions.plugins}
    image = image.with_plugins(changes)
    assert render_again(fleet, image, found.renders, "", found.clock.at, Extras()) == (image, [], "")
    assert found.renders.count == rendered


def test_versions_of_the_store_beyond_those_that_can_be_asked_for_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = installed()
    version = found.store.version()
    monkeypatch.setattr(caring, "_KEPT_VERSIONS", 2)
    found.control.care()
    assert found.store.version() == version
    assert found.store.changes(version - 2).version == version
    with pytest.raises(ExpiredError):
        found.store.changes(version - 3)


@pytest.mark.rule("R2-38")
def test_bytes_of_what_is_admitted_and_was_healthy_stay_and_others_go() -> None:
    found = installed()
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        upgraded(found, version)
        found.wait(hours=3)
    assert set(found.versions.values()) == {"1.3.0"}
    assert {each.version for each in found.control.image.states.values()} == {"1.0.0", "1.1.0", "1.2.0", "1.3.0"}
    unneeded = [each.files for each in found.control.image.states.values() if each.version in ("1.0.0", "1.1.0")]
    assert found.control.care().forgotten == 2
    assert [found.store.blob(each) for each in unneeded] == [None, None]
    found.restart()
    states = found.control.image.states
    assert {each.version for each in states.values()} == {"1.2.0", "1.3.0"}
    for state in states.values():
        assert found.store.blob(state.files) is not None
        source = found.store.blob(state.source_files)
        assert source is not None
        assert unpacked(source) == {"source.txt": f"the source of {state.version}".encode()}
    assert found.control.care().forgotten == 0


@pytest.mark.rule("R2-38")
def test_a_state_is_needed_where_it_runs_ran_is_tried_is_to_be_or_lies() -> None:
    image = installed().control.image
    key: PluginKey = ("acme", "eu-1", "web-eu-1")
    (stored,) = image.states.values()
    earlier = Enrolment("web-0", "gold", Deployed("1", input_hash="admitted"), Deployed("0", input_hash="earlier"))
    place = Enrolment("web-1", "gold", Deployed("2", input_hash="target"), Deployed("1", input_hash="before"))
    place = structs.replace(place, earlier=earlier)
    known = PluginState(
        Deployed("1", input_hash="admitted"),
        Deployed("1", input_hash="healthy"),
        attempt=Attempt("tried", "web-1", NOW, NOW),
        enrolment=place,
    )
    needed = {"admitted", "healthy", "tried", "target", "before", "earlier", "delivered"}
    record = structs.replace(image.deliveries[key], input_hash="delivered")
    image = replace(
        image.with_plugins({key: known}),
        states={**image.states, **dict.fromkeys({*needed, "unneeded"}, stored)},
        deliveries={**image.deliveries, key: record},
    )
    kept = without_unneeded(image)
    assert image.states.keys() - kept.states.keys() == {"unneeded"}
    assert without_unneeded(kept) is kept


def test_before_anything_was_accepted_there_is_nothing_to_take_care_of() -> None:
    found = Plane(Files({}))
    assert found.control.care() == (found.clock.at, (), (), 0)


@pytest.mark.rule("R2-38")
def test_a_rollback_works_with_the_source_gone() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=3)
    del found.files.files["definition.yaml"]
    found.settle()
    found.control.care()
    found.restart()
    found.settle()
    rendered = found.renders.count
    reply = found.control.ask(RolloutRequest(verb="rollback", name="web", who=Identity("ann", owner=True)))
    assert reply.problem is None
    found.wait(hours=1)
    assert set(found.versions.values()) == {"1.0.0"}
    assert found.renders.count == rendered
