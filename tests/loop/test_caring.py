"""What the loop does from time to time: decides anew, renders again, and forgets what nobody needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fleetform.loop import caring
from fleetform.loop.asking import RolloutRequest
from fleetform.loop.records import unpacked
from fleetform.model.identity import Identity
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.rendering import Rendered, RenderInput
from loop.test_control import installed, left, upgraded
from support.fleets import override
from support.plane import Plane


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


@pytest.mark.rule("R2-38")
def test_bytes_of_what_is_admitted_and_was_healthy_stay_and_others_go() -> None:
    found = installed()
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        upgraded(found, version)
        found.wait(hours=3)
    assert set(found.versions.values()) == {"1.3.0"}
    assert {each.version for each in found.control.image.states.values()} == {"1.0.0", "1.1.0", "1.2.0", "1.3.0"}
    assert found.control.care().forgotten == 2
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
