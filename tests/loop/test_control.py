"""The loop, from changed files to clusters that run them, in a world of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from textwrap import dedent
from typing import Any

import pytest

from fleetform.app.history import history, organizations_with
from fleetform.app.rollout import Person, Rollouts
from fleetform.app.scope import Scope, scope_of
from fleetform.app.why import why
from fleetform.loop.admitting import Rendering, admit, render_targets
from fleetform.loop.asking import RolloutRequest
from fleetform.loop.image import Extras
from fleetform.loop.records import Destination
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.results.rendering import RenderFailure
from fleetform.model.state import Deployed
from fleetform.ports.delivery import Failure, Note, Parcel
from fleetform.ports.store import Commit, UnavailableError, plugin_ref
from fleetform.store.known_state import writes_between
from support.fleets import BASE, NOW, override, plugin_on
from support.plane import Files, Plane

PRESET = Ref("PluginPreset", "acme", "web")
STAGES = dedent(
    """
    apiVersion: fleetform.dev/v1alpha1
    kind: RolloutPolicy
    metadata: {name: standard, namespace: acme}
    spec:
      stages:
      - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
      - {name: gold, remainder: true, maxConcurrency: 1}
      onFailure: Rollback
    """
)


def plane(**files: str) -> Plane:
    preset = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
    return Plane(Files({**BASE, "preset.yaml": preset, "policy.yaml": STAGES, **files}))


def upgraded(plane: Plane, version: str = "1.1.0") -> None:
    """A new version of the definition in the files."""
    text = plane.files.files["definition.yaml"]
    plane.files.files[f"definition-{version}.yaml"] = text.replace("version: 1.0.0", f"version: {version}")


def installed() -> Plane:
    """A fleet on which 1.0.0 runs everywhere."""
    found = plane()
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0", "us-1": "1.0.0"}
    return found


def test_a_first_pass_installs_and_the_next_writes_nothing() -> None:
    found = installed()
    report = found.control.run_pass()
    assert not report.wrote
    assert not report.accepted


def test_at_the_same_time_the_same_fleet_is_not_decided_again() -> None:
    found = installed()
    standing, now = found.control._standing, found.clock.at + timedelta(seconds=1)
    fleet = standing.decide(now)
    assert fleet is not None
    assert fleet.snapshot.at == now
    assert standing.decide(now) is fleet
    earlier = standing.decide(now - timedelta(seconds=1))
    assert earlier is not None
    assert earlier.snapshot.at < now


@pytest.mark.rule("R2-1")
def test_a_new_version_goes_from_stage_to_stage() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    found.wait(minutes=59)
    assert found.versions["eu-1"] == "1.0.0"
    found.wait(minutes=2)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.1.0"}


def test_what_happens_on_clusters_names_the_change_of_its_rollout() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=3)
    latest = {cluster: found.store.events("acme", cluster, limit=2) for cluster in ("eu-1", "eu-2", "us-1")}
    [(owner, rollouts)] = found.control.image.known.rollouts.rollouts.items()
    assert owner.name == "web"
    for events in latest.values():
        assert [(each.event, each.rollout, each.change_id) for each in events] == [
            ("Healthy", rollouts[-1].name, rollouts[-1].change_id),
            ("Started", rollouts[-1].name, rollouts[-1].change_id),
        ]


@pytest.mark.rule("R0-14")
def test_an_edited_override_goes_the_same_way() -> None:
    found = installed()
    found.files.files["override.yaml"] = dedent(
        """
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: more, namespace: acme}
        spec: {overrides: [{path: replicas, value: 7}]}
        """
    )
    found.settle()
    texts = {key[1]: b"7" in next(iter(parcel.files.values())) for key, parcel in found.targets.there.items()}
    assert texts == {"eu-1": False, "eu-2": True, "us-1": False}
    found.wait(hours=2)
    assert all(b"7" in next(iter(parcel.files.values())) for parcel in found.targets.there.values())


@pytest.mark.rule("R2-14", "B10")
def test_a_failure_rolls_back_and_the_version_stays_rejected_over_a_restart() -> None:
    found = installed()
    found.health.says["eu-2", "1.1.0"] = "Failed"
    upgraded(found)
    found.wait(hours=6)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0", "us-1": "1.0.0"}
    found.restart()
    found.health.says.clear()
    found.wait(hours=6)
    assert found.versions["eu-2"] == "1.0.0"
    upgraded(found, "1.2.0")
    found.wait(hours=6)
    assert set(found.versions.values()) == {"1.2.0"}


@pytest.mark.rule("B10")
@pytest.mark.parametrize("pinned", [True, False])
def test_retry_gives_a_rejected_version_another_try(pinned: bool) -> None:
    found = installed()
    found.health.says["eu-2", "1.1.0"] = "Failed"
    if pinned:
        preset = found.files.files["preset.yaml"]
        found.files.files["preset.yaml"] = preset.replace("{name: web}", "{name: web, version: 1.1.0}", 1)
    upgraded(found)
    found.wait(hours=6)
    assert found.versions["eu-2"] == "1.0.0"
    found.health.says.clear()
    fleet = found.control.fleet
    assert fleet is not None
    asked = Rollouts(replace(fleet, partial=None), Scope("acme"), Person("ann")).retry("web")
    found.store.commit(Commit(writes_between(found.control.image.known, asked.known)), found.clock.at)
    found.restart()
    found.wait(hours=6)
    assert set(found.versions.values()) == {"1.1.0"}


@pytest.mark.rule("B2")
def test_what_does_not_render_is_not_admitted_and_blocks_only_itself() -> None:
    found = installed()
    found.renders.failing["1.1.0"] = RenderFailure("template broken", "mend it")
    upgraded(found)
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.0.0"}
    state = found.control.image.plugin(("acme", "eu-2", "web-eu-2"))
    assert state.render_failed is not None
    assert state.admitted is not None
    assert state.admitted.version == "1.0.0"


@pytest.mark.rule("B18")
def test_a_secret_that_would_stand_in_a_folder_is_refused_by_name() -> None:
    found = installed()
    value = "- {name: token, valueFrom: {secret: {name: s, key: k}}}"
    preset = found.files.files["preset.yaml"]
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", f"optionValues:\n    {value}\n", 1)
    found.wait(hours=3)
    reasons = {each.reason for each in found.store.events("acme", "eu-2") if each.event == "RenderFailed"}
    assert reasons == {"token would be written there in plain text"}
    assert set(found.versions.values()) == {"1.0.0"}


def test_that_what_nobody_wants_any_more_cannot_be_rendered_is_told_to_nobody() -> None:
    found = installed()
    upgraded(found)
    found.control.look()
    found.control._intake.accept(found.clock.at)
    fleet = found.control._standing.decide(found.clock.at)
    assert fleet is not None
    planned, changes = found.control._make_plan(fleet, found.clock.at)
    key, gone = ("acme", "eu-2", "web-eu-2"), Deployed("0.9.0", input_hash="v1:gone")
    extras = Extras()
    rendering = render_targets(fleet, [(key, gone)], found.control.image, found.renders, extras, changes)
    assert rendering.gone == {"v1:gone"}
    (start,) = [each.progress.admitted for each in planned.starts if each.progress.admitted is not None]
    for is_gone in (True, False):
        hash_ = start.input_hash or ""
        failed = Rendering(failed={hash_: "not there"}, gone={hash_} if is_gone else set())
        extras = Extras()
        image = admit(found.control.image, planned, changes, failed, found.clock.at, extras)
        assert image.plugin(key).render_failed == hash_
        assert [each.event for each in extras.events] == ([] if is_gone else ["RenderFailed"])


@pytest.mark.rule("B2")
def test_who_asks_why_is_told_what_a_render_failed_with_in_a_line() -> None:
    found = installed()
    pages = "\n\n  template: web.yaml:3: nil pointer " + "x" * 1000 + "\nand pages more"
    found.renders.failing["1.1.0"] = RenderFailure(pages, "mend it")
    upgraded(found)
    found.wait(hours=3)
    found.restart()
    found.settle()
    fleet = found.control.fleet
    assert fleet is not None
    item = next(each for each in why(fleet, Scope("acme")).items if each.cluster == "eu-2")
    (reason,) = [each for each in item.reasons if each.gate == "render-failed"]
    said = "what web-eu-2 is made of now cannot be rendered: template: web.yaml:3: nil pointer"
    assert reason.message.startswith(said)
    assert "pages more" not in reason.message
    assert len(reason.message) < 400


def test_a_missing_tool_is_told_and_tried_again() -> None:
    found = installed()
    found.renders.failing["1.1.0"] = RenderFailure("helm is not installed", "install it", unavailable=True)
    upgraded(found)
    report = found.settle()
    assert list(report.unavailable.values()) == ["helm is not installed"]
    found.renders.failing.clear()
    found.wait(minutes=1)
    assert found.versions["eu-2"] == "1.1.0"


@pytest.mark.rule("B22")
@pytest.mark.parametrize("broken", ["empty", "invalid", "unreadable"])
def test_files_that_are_not_whole_change_nothing(broken: str) -> None:
    found = installed()
    files = dict(found.files.files)
    if broken == "empty":
        found.files.files.clear()
    elif broken == "invalid":
        found.files.files["preset.yaml"] = "kind: PluginPreset\nmetadata: {name: web}\nspec: {clusterSelektor: {}}\n"
    else:
        found.files.files.pop("preset.yaml")
        found.files.problems.append(Diagnostic("cannot-read", "cannot read preset.yaml", "check it"))
    report = found.wait(hours=3)
    assert report.refusal is not None
    assert set(found.versions.values()) == {"1.0.0"}
    found.restart()
    report = found.settle()
    assert report.refusal is not None
    assert set(found.versions.values()) == {"1.0.0"}
    found.files.files = files
    found.files.problems.clear()
    report = found.settle()
    assert report.refusal is None


def test_a_running_rollout_goes_on_while_the_files_are_broken() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    found.files.files["preset.yaml"] = "not: [valid"
    found.restart()
    found.wait(hours=2)
    assert set(found.versions.values()) == {"1.1.0"}


@pytest.mark.rule("B8", "R2-37")
def test_a_rollout_finishes_on_what_it_started_with() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    found.wait(minutes=10)
    upgraded(found, "1.2.0")
    del found.files.files["definition-1.1.0.yaml"]
    found.restart()
    found.wait(minutes=55)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.2.0", "us-1": "1.1.0"}
    found.wait(hours=3)
    assert set(found.versions.values()) == {"1.2.0"}


def joined(found: Plane, **tiers: str) -> None:
    """Clusters that come while a rollout runs."""
    manifest = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s, namespace: acme, labels: {tier: %s}}\n"
    )
    for name, tier in tiers.items():
        found.files.files[f"{name}.yaml"] = manifest % (name, tier)
    found.settle()


def is_as_decided_afresh(found: Plane) -> bool:
    """Whether what the loop planned with, kept from pass to pass, is what a new process would make of the store."""
    report = found.settle()
    assert report.plan is not None
    assert found.control.fleet is not None
    kept, fresh = report.plan.world, replace(found.control.fleet, partial=None).world
    return (kept.changes, dict(kept.states), kept.removals) == (fresh.changes, dict(fresh.states), fresh.removals)


def texts(found: Plane) -> dict[str, bytes]:
    """What is on each cluster, without its name."""
    return {
        key[1]: next(iter(parcel.files.values())).replace(key[1].encode(), b"")
        for key, parcel in found.targets.there.items()
    }


@pytest.mark.rule("B21", "S51")
@pytest.mark.parametrize("restarts", [True, False])
def test_a_cluster_that_joins_while_values_roll_out_gets_those_of_its_stage_at_once(restarts: bool) -> None:
    found = installed()
    preset = found.files.files["preset.yaml"]
    values = "optionValues:\n    - {name: host, value: seven}\n"
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", values, 1)
    found.settle()
    if restarts:
        found.restart()
    assert is_as_decided_afresh(found)
    joined(found, new="gold", late="dev")
    assert is_as_decided_afresh(found)
    there = texts(found)
    assert there["new"] == there["eu-1"]
    assert there["late"] == there["eu-2"]
    assert there["new"] != there["late"]
    kept = found.control.image.known.kept.keys()
    assert kept
    found.wait(hours=3)
    assert len(set(texts(found).values())) == 1
    assert found.control.image.known.kept.keys() == kept, "it may still be rolled back"
    found.files.files["preset.yaml"] = found.files.files["preset.yaml"].replace("seven", "eight")
    found.wait(hours=3)
    assert found.control.image.known.kept.keys().isdisjoint(kept), "nothing is kept that nobody needs any more"


@pytest.mark.rule("B21", "B8")
@pytest.mark.parametrize("restarts", [True, False])
def test_a_cluster_that_joins_while_a_newer_change_waits_goes_with_the_rollout_that_runs(restarts: bool) -> None:
    """Its name is among its values: what it gets was rendered nowhere else, and its version is gone from the files."""
    found = installed()
    found.health.says["eu-2", "1.1.0"] = "Unknown"
    preset = found.files.files["preset.yaml"]
    own = "optionValues:\n    - {name: host, expression: cluster.name}\n"
    found.files.files["preset.yaml"] = preset.replace("optionValues:\n", own, 1)
    found.wait(hours=3)
    upgraded(found)
    found.settle()
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "us-1": "1.0.0"}
    upgraded(found, "1.2.0")
    del found.files.files["definition-1.1.0.yaml"], found.files.files["definition.yaml"]
    found.settle()
    if restarts:
        found.restart()
    assert is_as_decided_afresh(found)
    joined(found, new="gold", late="dev")
    assert is_as_decided_afresh(found)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.1.0", "late": "1.1.0", "new": "1.0.0", "us-1": "1.0.0"}
    # Files that say yet something else come before the stage of the new cluster does.
    found.files.files["preset.yaml"] = preset
    found.settle()
    if restarts:
        found.restart()
    found.health.says["eu-2", "1.1.0"] = "Healthy"
    found.health.says["eu-2", "1.2.0"] = "Unknown"
    found.wait(hours=2)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.2.0", "late": "1.2.0", "new": "1.1.0", "us-1": "1.1.0"}
    assert b"new" in next(iter(found.targets.there["acme", "new", "web-new"].files.values()))
    assert is_as_decided_afresh(found)
    found.health.says.clear()
    found.wait(hours=6)
    assert set(found.versions.values()) == {"1.2.0"}


@pytest.mark.rule("B22")
def test_a_plugin_that_nobody_wants_any_more_goes_from_its_cluster() -> None:
    found = installed()
    found.files.files["preset.yaml"] = found.files.files["preset.yaml"].replace(
        "clusterSelector: {}", "clusterSelector: {matchLabels: {region: eu}}"
    )
    found.wait(hours=1)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0"}
    assert found.store.get(plugin_ref("PluginState", ("acme", "us-1", "web-us-1"))) is None
    assert next(each.event for each in found.store.events("acme", "us-1")) == "Deleted"


def left(found: Plane, *names: str) -> None:
    """Clusters leave the fleet: their objects are gone from the files."""
    texts = found.files.files["clusters.yaml"].split("---\n")
    stay = [text for text in texts if not any(f"name: {name}," in text for name in names)]
    found.files.files["clusters.yaml"] = "---\n".join(stay)


@pytest.mark.rule("B22")
def test_what_was_delivered_for_a_cluster_that_leaves_the_fleet_goes_with_it() -> None:
    found = installed()
    left(found, "us-1")
    report = found.settle()
    assert report.plan is not None
    assert report.plan.removals == ()
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0"}
    assert ("acme", "us-1", "web-us-1") not in found.control.image.deliveries
    assert found.store.get(plugin_ref("PluginState", ("acme", "us-1", "web-us-1"))) is None
    events = found.store.events("acme", "us-1")
    assert [(each.event, each.version) for each in events][:2] == [("Deleted", "1.0.0"), ("Healthy", "1.0.0")]
    assert history(found.store, organizations_with(found.store, "us-1")[0], "us-1", None, found.clock.at).running == []


@pytest.mark.rule("B22")
def test_a_cluster_that_leaves_keeps_what_is_retained_and_the_loop_lets_go_of_it() -> None:
    found = plane()
    preset = found.files.files["preset.yaml"]
    found.files.files["preset.yaml"] = preset.replace("spec:\n", "spec:\n  deletionPolicy: Retain\n", 1)
    found.wait(hours=3)
    left(found, "us-1")
    found.wait(hours=1)
    assert set(found.versions) == {"eu-1", "eu-2", "us-1"}
    assert ("acme", "us-1", "web-us-1") not in found.control.image.deliveries
    assert [each.event for each in found.store.events("acme", "us-1")].count("Retained") == 1
    upgraded(found)
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.0.0"}


@pytest.mark.rule("B22")
@pytest.mark.parametrize("most", ["5%", "0"])
def test_of_a_cluster_that_leaves_one_thing_is_told_what_was_applied_there_stays(most: str) -> None:
    """Nobody is asked whether it may be deleted: it is not."""
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\nmetadata: {name: default, namespace: acme}\n"
    found = plane(**{"lifecycle.yaml": f"{head}spec: {{maxDeletes: {most}}}\n"})
    found.destination = lambda plugin: Destination("kubernetes", f"acme/{plugin.cluster.ref.name}")
    found.restart()
    found.wait(hours=3)
    left(found, "us-1")
    found.wait(hours=1)
    assert set(found.versions) == {"eu-1", "eu-2", "us-1"}
    told = [(each.event, each.reason) for each in found.store.events("acme", "us-1")]
    assert told[0] == ("Retained", "us-1 left the fleet")
    assert "Deleted" not in dict(told)
    assert found.store.get(plugin_ref("PluginState", ("acme", "us-1", "web-us-1"))) is None
    assert found.control.run_pass().plan.removals == ()  # type: ignore[union-attr]


@pytest.mark.rule("B23")
def test_what_is_handed_over_goes_from_its_folder_once_its_successor_is_there() -> None:
    """Else the same objects would stand in two folders of one cluster."""
    found = installed()
    files = found.files.files
    files["preset.yaml"] = files["preset.yaml"].replace("{name: web, namespace", "{name: site, namespace", 1)
    seen: list[set[str]] = []
    for _ in range(40):
        report = found.control.run_pass()
        seen.append({key[2] for key in found.targets.there if key[1] == "eu-2"})
        if not report.wrote:
            break
    assert seen[-1] == {"site-eu-2"}
    assert all(each for each in seen), "it is never gone from the cluster"
    found.wait(hours=3)
    assert sorted(key[2] for key in found.targets.there) == ["site-eu-1", "site-eu-2", "site-us-1"]
    assert {key[2] for key in found.control.image.deliveries} == {"site-eu-1", "site-eu-2", "site-us-1"}
    events = [(each.event, each.plugin) for each in found.store.events("acme", "eu-1")]
    assert ("HandedOver", "web-eu-1") in events
    assert "Deleted" not in {event for event, _ in events}


@pytest.mark.rule("B22")
def test_many_clusters_that_leave_at_once_wait_for_approval() -> None:
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%d, namespace: acme}\n"
    found = Plane(Files({**BASE, "more.yaml": "---\n".join(cluster % number for number in range(6))}))
    found.settle()
    assert len(found.versions) == 9
    del found.files.files["more.yaml"]
    found.wait(hours=1)
    assert len(found.versions) == 9
    fleet = found.control.fleet
    assert fleet is not None
    answer = why(fleet, scope_of(fleet, "acme", False, "c1"))
    assert [(each.cluster, each.reasons[0].gate) for each in answer.items] == [("c1", "deletes")]
    rollout = answer.items[0].rollout
    assert rollout is not None
    reply = found.control.ask(
        RolloutRequest(verb="approve", name=rollout, who=Identity("ann", owner=True), stage="deletes")
    )
    assert reply.problem is None
    found.settle()
    assert set(found.versions) == {"eu-1", "eu-2", "us-1"}


@pytest.mark.rule("B21", "B22")
@pytest.mark.parametrize("silent", [True, False])
def test_a_cluster_that_leaves_during_a_rollout_holds_nobody_up(silent: bool) -> None:
    """It may be in flight, or not have answered: nobody will see what becomes of it."""
    found = installed()
    found.health.says["us-1", "1.1.0"] = "Unknown"
    if silent:
        found.health.silent.add(("us-1", "1.1.0"))
    upgraded(found)
    found.wait(minutes=63)
    assert found.versions["us-1"] == "1.1.0"
    left(found, "us-1")
    found.wait(hours=2)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0"}
    assert {each.phase for each in found.control.image.known.rollouts.rollouts[PRESET]} == {"Succeeded"}
    assert not found.control.image.known.rollouts.silent_since


@pytest.mark.rule("B21")
def test_a_cluster_that_leaves_before_its_turn_is_forgotten() -> None:
    found = plane()
    found.settle()
    assert found.versions == {"eu-2": "1.0.0"}
    left(found, "us-1")
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0"}
    assert found.store.get(plugin_ref("PluginState", ("acme", "us-1", "web-us-1"))) is None
    assert {each.phase for each in found.control.image.known.rollouts.rollouts[PRESET]} == {"Succeeded"}


def test_a_delivery_that_fails_is_tried_again_with_growing_pauses() -> None:
    found = installed()
    found.targets.broken["eu-2"] = Failure("disk full", "make room")
    upgraded(found)
    report = found.settle()
    first = report.next_look
    assert first is not None
    assert (first - NOW).total_seconds() > 0
    record = found.control.image.deliveries["acme", "eu-2", "web-eu-2"]
    assert record.failing is not None
    assert record.failing.message == "disk full"
    found.wait(minutes=1)
    failing = found.control.image.deliveries["acme", "eu-2", "web-eu-2"].failing
    assert failing is not None
    assert (failing.tries > 2, failing.since) == (True, NOW + timedelta(hours=3))
    found.targets.broken.clear()
    found.wait(minutes=5)
    assert found.versions["eu-2"] == "1.1.0"


@pytest.mark.rule("B25")
def test_a_cluster_that_does_not_answer_is_set_aside_and_catches_up() -> None:
    found = installed()
    found.health.silent.add(("us-1", "1.1.0"))
    upgraded(found)
    found.wait(hours=3)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.1.0", "us-1": "1.1.0"}
    state = found.control.image.plugin(("acme", "us-1", "web-us-1"))
    assert state.attempt is not None
    assert state.attempt.phase == "SetAside"
    found.health.silent.clear()
    found.wait(hours=1)
    state = found.control.image.plugin(("acme", "us-1", "web-us-1"))
    assert state.attempt is not None
    assert state.attempt.phase == "Healthy"


@pytest.mark.rule("B32")
def test_a_placement_keeps_what_it_chose_when_a_better_cluster_comes() -> None:
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s, namespace: acme}\n"
    placement = "apiVersion: fleetform.dev/v1alpha1\nkind: Placement\nmetadata: {name: one, namespace: acme}\n"
    preset = BASE["preset.yaml"].replace("clusterSelector: {}", "placement: {name: one}")
    files = {
        "clusters.yaml": cluster % "middle",
        "definition.yaml": BASE["definition.yaml"],
        "placement.yaml": placement + "spec: {numberOfClusters: 1}\n",
        "preset.yaml": preset,
    }
    found = Plane(Files(files))
    found.settle()
    assert list(found.versions) == ["middle"]
    for name in ("first", "zulu"):
        found.files.files[f"{name}.yaml"] = cluster % name
    found.restart()
    found.wait(hours=1)
    assert list(found.versions) == ["middle"]


@pytest.mark.rule("B7")
def test_the_store_stamps_objects_once() -> None:
    found = installed()
    before = dict(found.control.image.known.stamps)
    found.clock.at = found.clock.at.replace(year=2027)
    text = found.files.files["clusters.yaml"]
    found.files.files["clusters.yaml"] = re.sub("tier: dev", "tier: dev, extra: x", text)
    found.restart()
    found.settle()
    assert found.control.image.known.stamps == before


def test_what_a_cluster_ran_is_told_with_the_reason() -> None:
    found = installed()
    upgraded(found)
    found.wait(hours=2)
    events = found.store.events("acme", "eu-1")
    assert [(each.event, each.version) for each in events] == [
        ("Healthy", "1.1.0"),
        ("Started", "1.1.0"),
        ("Healthy", "1.0.0"),
        ("Started", "1.0.0"),
    ]
    assert events[1].reason == "stage gold"
    assert events[1].change_id.startswith("c1:")


@pytest.mark.rule("B8", "R2-37")
def test_a_rollout_finishes_on_what_it_started_with_also_where_clusters_differ() -> None:
    hosts = {
        f"{name}.yaml": override(
            name, f"[{{path: host, value: {name}.example.com}}]", f"clusterSelector: {{clusterNames: [{name}]}}"
        )
        for name in ("eu-1", "eu-2", "us-1")
    }
    found = plane(**hosts)
    found.wait(hours=3)
    upgraded(found)
    found.settle()
    found.wait(minutes=10)
    upgraded(found, "1.2.0")
    del found.files.files["definition-1.1.0.yaml"]
    found.wait(minutes=55)
    assert found.versions == {"eu-1": "1.1.0", "eu-2": "1.2.0", "us-1": "1.1.0"}
    (file,) = found.targets.there["acme", "us-1", "web-us-1"].files.values()
    assert b"us-1.example.com" in file


@pytest.mark.rule("B10")
def test_a_version_that_was_rolled_back_does_not_come_with_the_next_edit() -> None:
    found = installed()
    found.health.says["eu-2", "1.1.0"] = "Failed"
    upgraded(found)
    found.wait(hours=6)
    assert [(each.owner.name, each.version) for each in found.control.image.known.rejected] == [("web", "1.1.0")]
    found.files.files["override.yaml"] = override("more", "[{path: replicas, value: 7}]")
    found.wait(hours=6)
    assert set(found.versions.values()) == {"1.0.0"}
    assert all(b"7" in next(iter(parcel.files.values())) for parcel in found.targets.there.values())


@pytest.mark.rule("B7", "R0-11")
def test_of_two_overrides_the_one_that_came_later_wins_at_once() -> None:
    found = installed()
    found.files.files["z.yaml"] = override("z-first", "[{path: replicas, value: 7}]")
    found.wait(hours=6)
    found.files.files["a.yaml"] = override("a-second", "[{path: replicas, value: 8}]")
    found.clock.at += timedelta(minutes=1)
    found.settle()
    fleet = found.control.fleet
    assert fleet is not None
    assert plugin_on(fleet, "eu-1").options["replicas"].value == 8


def test_what_rollouts_admitted_is_stored() -> None:
    found = installed()
    web = Ref("PluginPreset", "acme", "web")
    before = found.control.image.known.rollouts.admitted
    assert set(before) == {web}
    found.files.files["override.yaml"] = override("more", "[{path: replicas, value: 7}]")
    found.wait(hours=6)
    after = found.control.image.known.rollouts.admitted
    assert after[web] != before[web]
    found.restart()
    assert found.control.image.known.rollouts.admitted == after


def test_a_delivery_tells_what_it_brings_and_why() -> None:
    found = plane()
    notes: list[Note] = []
    deliver = found.targets.deliver

    def noted(parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note) -> Mapping[PluginKey, Failure]:
        notes.append(note)
        return deliver(parcels, removals, note)

    found.targets.deliver = noted  # type: ignore[method-assign]
    found.wait(hours=3)
    notes.clear()
    upgraded(found)
    found.wait(hours=3)
    said = ["\n".join(each.lines.values()) for each in notes]
    name = said[0].split("  ")[3]
    assert name.startswith("web-")
    assert name.endswith(", stage dev")
    assert said == [
        f"eu-2  web-eu-2  1.0.0 → 1.1.0  {name}",
        f"eu-1  web-eu-1  1.0.0 → 1.1.0  {name.replace('stage dev', 'stage gold')}",
        f"us-1  web-us-1  1.0.0 → 1.1.0  {name.replace('stage dev', 'stage gold')}",
    ]
    notes.clear()
    del found.files.files["preset.yaml"]
    found.wait(hours=1)
    keys = [("acme", cluster, f"web-{cluster}") for cluster in ("eu-1", "eu-2", "us-1")]
    assert notes[0].text(keys).split("\n") == [
        "3 plugins",
        "",
        *(f"{cluster}  {name}  removed" for _, cluster, name in keys),
    ]


def test_a_delivery_that_fails_holds_up_no_other_of_its_destination() -> None:
    at_once = STAGES.split("  stages:")[0] + "  stages: [{name: all, remainder: true, maxFailures: 3}]\n"
    found = plane(**{"policy.yaml": at_once})
    found.targets.broken["eu-1"] = Failure("disk full", "make room")
    found.settle()
    assert sorted(key[1] for key, _ in found.targets.delivered) == ["eu-2", "us-1"]
    found.restart()
    found.wait(minutes=1)
    assert sorted(key[1] for key, _ in found.targets.delivered) == ["eu-2", "us-1"], "what arrived is not sent again"


@pytest.mark.rule("R2-28")
def test_the_notice_of_a_version_ends_while_the_process_runs() -> None:
    notice = (
        "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\n"
        "metadata: {name: default, namespace: acme}\nspec: {notice: 2h}\n"
    )
    found = plane(**{"rules.yaml": notice})
    found.wait(hours=6)
    upgraded(found)
    found.wait(hours=1)
    assert set(found.versions.values()) == {"1.0.0"}
    found.wait(hours=1)
    assert found.versions["eu-2"] == "1.1.0"


@pytest.mark.rule("R2-14", "B34")
def test_a_rollback_that_fails_is_retried_a_few_times_and_no_more() -> None:
    found = installed()
    found.health.says["eu-2"] = "Failed"
    upgraded(found)
    found.wait(hours=12)
    tries = [(each.event, each.version) for each in found.store.events("acme", "eu-2") if each.version == "1.0.0"]
    # Installed once; it went back once, and that was tried again three times.
    assert tries.count(("Started", "1.0.0")) == 1
    assert tries.count(("RolledBack", "1.0.0")) == 4
    found.health.says.clear()
    upgraded(found, "1.2.0")
    found.wait(hours=6)
    assert set(found.versions.values()) == {"1.2.0"}


@pytest.mark.rule("B34")
def test_a_way_back_that_failed_is_said_to_be_tried_again_while_its_rollout_still_goes_back() -> None:
    found = installed()
    found.health.says |= {("us-1", "1.1.0"): "Failed", "us-1": "Failed", ("eu-2", "1.0.0"): "Unknown"}
    upgraded(found)
    told = set()
    for _ in range(90):
        found.wait(minutes=1)
        assert found.control.fleet is not None
        [item] = why(found.control.fleet, scope_of(found.control.fleet, "acme", False, "us-1")).items
        if (item.state, item.action, [each.gate for each in item.reasons]) == ("Failed", "nothing", ["wait"]):
            told.add(item.summary.rpartition(", ")[2])
    assert told == {"tried again once the rollout is over"}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.rule("R0-19")
def test_a_clock_that_jumps_back_an_hour_starts_nothing_twice_and_the_rollout_goes_on(restarts: bool) -> None:
    found = installed()
    upgraded(found)
    found.settle()
    assert found.versions["eu-2"] == "1.1.0"
    before, delivered = found.clock.at, len(found.targets.delivered)
    found.clock.at -= timedelta(hours=1)
    if restarts:
        found.restart()
    found.settle()
    # The soak ends when the clock says so: an hour later by the one that was turned back.
    assert len(found.targets.delivered) == delivered
    assert {"1.0.0", "1.1.0"} == set(found.versions.values())
    found.clock.at = before
    found.wait(hours=4)
    assert set(found.versions.values()) == {"1.1.0"}
    assert len(found.targets.delivered) == delivered + 2


def test_after_a_commit_whose_answer_was_lost_it_begins_from_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed()
    commit = found.store.commit

    def lost(*given: Any, **named: Any) -> None:
        commit(*given, **named)
        raise UnavailableError("the answer was lost", "try again")

    found.files.files["more.yaml"] = override("more", "[{path: replicas, value: 7}]")
    with monkeypatch.context() as patched:
        patched.setattr(found.store, "commit", lost)
        with pytest.raises(UnavailableError):
            found.control.run_pass()
    # It was accepted, and nobody heard of that; then it goes.
    del found.files.files["more.yaml"]
    found.wait(hours=3)
    found.restart()
    assert "more.yaml" not in found.control.image.files
    assert not found.control.run_pass().wrote
