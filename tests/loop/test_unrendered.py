"""Starts that cannot be rendered for now, since a source or a tool is not there: told wherever somebody asks."""

from __future__ import annotations

from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_rollouts import rollout_answers
from fleetform.app.plan import plan_answer
from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.loop.metrics import Metrics
from fleetform.model.results.rendering import RenderFailure
from fleetform.store.known_state import followed, read_with_troubles
from loop.test_control import installed, upgraded
from support.plane import Plane

REFUSED = "https://charts.example.com refuses connections"
EU2 = ("acme", "eu-2", "web-eu-2")


def waiting() -> Plane:
    found = installed()
    found.renders.failing["1.1.0"] = RenderFailure(REFUSED, "try again later", unavailable=True)
    upgraded(found)
    found.wait(minutes=5)
    return found


def asked(found: Plane) -> Fleet:
    """The fleet as somebody sees it who reads what is stored, and did not see the passes."""
    fleet = found.control.fleet
    assert fleet is not None
    known = read_with_troubles(found.store, "store")
    return Fleet(fleet.input, fleet.snapshot, known, (), fleet.strict, fleet.catalog_definitions)


def test_who_asks_is_told_what_is_missing_and_since_when() -> None:
    found = waiting()
    fleet, scope = asked(found), Scope("acme")
    items = why(fleet, scope).items
    assert {each.state for each in items} == {"Waiting"}
    first = next(each for each in items if each.cluster == "eu-2")
    assert first.trouble is not None
    assert (first.trouble.of, first.trouble.message) == ("render", REFUSED)
    assert first.summary == "waiting, starts once what it is made of can be rendered"
    planned = plan_answer(fleet, scope).rollouts[0]
    stages = [*planned.stages, *([planned.beside] if planned.beside else [])]
    assert [each.start for each in stages] == [[] for _ in stages]
    assert "eu-2" in {each.cluster for stage in stages for each in stage.waiting}
    (running,) = [each for each in rollout_answers(fleet, scope) if each.ended is None]
    (cause,) = [each for each in running.causes if each.trouble is not None]
    assert (cause.gate, cause.message) == ("render", f"cannot be rendered yet: {REFUSED}")


def test_it_is_told_once_and_is_over_when_the_source_is_back() -> None:
    found = waiting()
    known = asked(found).state
    assert EU2 in known.unrendered
    version = found.store.version()
    found.wait(minutes=30)
    assert found.store.version() == version, "a source that stays away writes nothing"
    told = [each for each in found.store.events("acme", "eu-2") if each.event == "NotRendered"]
    assert [each.reason for each in told] == [REFUSED]
    found.renders.failing.clear()
    found.wait(minutes=5)
    assert found.versions["eu-2"] == "1.1.0"
    assert asked(found).state.unrendered == {}
    assert followed(known, found.store.changes(version), found.store, "store").unrendered == {}


def test_a_process_that_begins_anew_knows_since_when() -> None:
    found = waiting()
    before = found.control.image.unrendered
    found.restart()
    found.wait(minutes=5)
    assert found.control.image.unrendered == before


def test_metrics_count_it_as_waiting_for_its_render() -> None:
    found = waiting()
    metrics = Metrics(lambda: found.store, "", found.clock.now)
    metrics.told(found.control.run_pass())
    registry = CollectorRegistry()
    registry.register(metrics)
    text = generate_latest(registry).decode()
    assert 'fleetform_plugins_waiting{gate="render",organization="acme"}' in text
    assert 'reason="InFlight"' not in text
