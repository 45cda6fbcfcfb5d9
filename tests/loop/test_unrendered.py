"""Starts that cannot be rendered for now, since a source or a tool is not there: told wherever somebody asks."""

from __future__ import annotations

from datetime import timedelta

from msgspec import structs
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_rollouts import rollout_answers
from fleetform.app.plan import plan_answer
from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.loop.metrics import Metrics
from fleetform.loop.render_tries import RenderTries
from fleetform.model.results.rendering import RenderFailure
from fleetform.store.known_state import followed, read_with_troubles
from loop.test_control import installed, upgraded
from support.fleets import NOW
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
    before = found.control.image.known.unrendered
    found.restart()
    found.wait(minutes=5)
    assert found.control.image.known.unrendered == before


def test_metrics_count_it_as_waiting_for_its_render() -> None:
    found = waiting()
    metrics = Metrics(lambda: found.store, "", found.clock.now)
    metrics.told(found.control.run_pass())
    registry = CollectorRegistry()
    registry.register(metrics)
    text = generate_latest(registry).decode()
    assert 'fleetform_plugins_waiting{gate="render",organization="acme"}' in text
    assert 'reason="InFlight"' not in text


def beside(found: Plane) -> None:
    """A second preset with a definition of its own on the same clusters, whose source is there."""
    files = found.files.files
    definition = files["definition.yaml"].replace("name: web", "name: proxy", 1)
    preset = files["preset.yaml"].replace("name: web", "name: proxy").replace("  rolloutPolicy: standard\n", "")
    files["proxy-definition.yaml"], files["proxy.yaml"] = definition, preset


def test_other_plugins_start_on_its_cluster_while_its_source_is_down() -> None:
    found = waiting()
    beside(found)
    found.wait(minutes=5)
    running = {(cluster, name): parcel.version for (_, cluster, name), parcel in found.targets.there.items()}
    assert running["eu-2", "proxy-eu-2"] == "1.0.0"
    assert running["eu-2", "web-eu-2"] == "1.0.0"
    assert asked(found).state.unrendered.keys() == {EU2}
    found.renders.failing.clear()
    found.wait(minutes=5)
    assert found.versions["eu-2"] == "1.1.0"


def test_a_source_that_is_down_is_asked_for_again_after_a_pause_and_not_with_every_pass() -> None:
    found = waiting()
    before = found.renders.count
    for _ in range(3):
        found.control.run_pass()
    assert found.renders.count == before
    found.wait(seconds=60)
    assert found.renders.count == before + 2
    found.clock.at -= timedelta(hours=1)
    found.control.run_pass()
    assert found.renders.count == before + 3, "also after a clock was turned back"


def test_something_else_that_it_is_made_of_is_tried_at_once() -> None:
    found = waiting()
    stuck = found.control.run_pass().plan
    assert stuck is not None
    (step,) = stuck.renders
    tries = RenderTries()
    tries.note([step.key], (), (), stuck, NOW)
    assert tries.resting(stuck, NOW) == {step.key}
    assert tries.look_at == NOW + timedelta(seconds=30)
    assert step.target is not None
    other = structs.replace(step, target=structs.replace(step.target, input_hash="h1:other"))
    (owner,) = stuck.owners
    edited = structs.replace(stuck, owners=(structs.replace(owner, steps=(other,)),))
    assert tries.resting(edited, NOW) == frozenset()


def test_what_cannot_be_rendered_for_good_is_blocked_once_that_is_known() -> None:
    found = waiting()
    found.renders.failing["1.1.0"] = RenderFailure("there is no such chart", "name another")
    found.wait(minutes=5)
    assert asked(found).state.unrendered == {}
    (item,) = [each for each in why(asked(found), Scope("acme")).items if each.cluster == "eu-2"]
    assert (item.state, [each.gate for each in item.reasons]) == ("Blocked", ["render-failed"])


def test_what_waits_for_another_change_on_its_cluster_meanwhile_is_as_it_was_once_that_is_over() -> None:
    found = waiting()
    since = found.control.image.known.unrendered[EU2].since
    found.health.says["eu-2"] = "Unknown"
    beside(found)
    found.wait(minutes=5)
    stuck = found.control.run_pass().plan
    assert stuck is not None
    assert stuck.renders == [], "the other plugin is in flight"
    assert found.control.image.known.unrendered[EU2].since == since
    before = found.renders.count
    found.health.says["eu-2"] = "Healthy"
    found.settle()
    found.wait(minutes=2)
    assert found.control.image.known.unrendered[EU2].since == since
    told = [each for each in found.store.events("acme", "eu-2") if each.event == "NotRendered"]
    assert len(told) == 1
    assert 0 < found.renders.count - before <= 6, "it is asked for again, once in half a minute"
    found.renders.failing.clear()
    found.wait(minutes=5)
    assert found.versions["eu-2"] == "1.1.0"


def test_a_file_that_was_mended_is_not_waited_for() -> None:
    """What an unreadable object holds back is no source that is asked again after a pause."""
    tries = RenderTries()
    stuck = waiting().control.run_pass().plan
    assert stuck is not None
    tries.note((), (), (), stuck, NOW)
    assert tries.look_at is None
    assert tries.resting(stuck, NOW) == frozenset()
