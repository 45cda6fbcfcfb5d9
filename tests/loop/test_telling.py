"""What people are told: once for each thing that happens, in one message however many clusters it concerns."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from textwrap import dedent
from typing import Any

import pytest

from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.loop.asking import RolloutRequest
from fleetform.loop.telling import _is_forced
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.operator.advice import with_kubectl
from fleetform.ports.store import Commit, Put, Sent, UnavailableError
from loop.test_control import STAGES, installed, left, plane, upgraded
from support.fleets import BASE, fleet_with
from support.plane import Files, Plane

HOOK = dedent(
    """
    apiVersion: fleetform.dev/v1alpha1
    kind: Organization
    metadata: {name: acme, namespace: acme}
    spec:
      notifications:
      - {webhook: {url: "https://hooks.example.com/a", secretRef: {name: hook}}}
      - {webhook: {url: "https://hooks.example.com/b"}, events: [Failed, Halted]}
    """
)
APPROVED = STAGES.replace("maxConcurrency: 1", "approvals: {required: 1, from: {users: [ada]}}")
CLUSTERS = "---".join(
    f"""
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {{name: c{number:04}, namespace: acme, labels: {{tier: {"dev" if number < 10 else "gold"}}}}}
"""
    for number in range(1000)
)


def feed(found: Plane) -> list[dict[str, Any]]:
    """What was told, the oldest first."""
    return [json.loads(each.message.body) for each in reversed(found.store.feed())]


def events(found: Plane) -> list[str]:
    return [each["event"] for each in feed(found)]


def news(found: Plane, since: int) -> list[dict[str, Any]]:
    return feed(found)[since:]


def breaking(found: Plane) -> None:
    """A version that breaks, in a fleet whose policy forces it ten days after it came."""
    text = found.files.files["definition.yaml"].replace("version: 1.0.0", "version: 2.0.0")
    found.files.files["definition-2.yaml"] = text + "  changes: {breaking: true, acknowledge: open a port}\n"
    found.files.files["lifecycle.yaml"] = dedent(
        """
        apiVersion: fleetform.dev/v1alpha1
        kind: LifecyclePolicy
        metadata: {name: default, namespace: acme}
        spec: {forceAfter: 10d}
        """
    )


@pytest.mark.rule("R2-25")
def test_what_to_do_is_said_in_the_words_of_where_the_control_plane_runs() -> None:
    files = {**BASE, "preset.yaml": BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)}
    found = Plane(Files({**files, "policy.yaml": APPROVED}), words=with_kubectl)
    found.health.says["eu-2"] = "Failed"
    found.wait(days=1)
    told = {each["event"]: each["do"] for each in feed(found) if each["do"]}
    assert {"ApprovalNeeded", "Failed", "Halted"} <= told.keys()
    assert told["ApprovalNeeded"].startswith("create an Approval in acme with spec: ")
    assert told["Failed"] == "kubectl describe plugin web-eu-2 -n acme"
    assert told["Halted"].startswith("kubectl describe rollout web-")
    assert not any("fleetform " in each for each in told.values())


@pytest.mark.rule("R2-25")
def test_a_change_is_told_when_it_starts_and_when_it_is_done() -> None:
    found = installed()
    before = len(feed(found))
    upgraded(found)
    found.wait(hours=6)
    started, finished = news(found, before)
    assert (started["event"], started["title"]) == ("Started", "web 1.0.0 → 1.1.0 starts")
    assert (finished["event"], finished["title"]) == ("Finished", "web 1.0.0 → 1.1.0 is done")
    assert started["organization"] == "acme"
    assert started["changeId"] == finished["changeId"]
    assert (started["clusters"], started["names"]) == (3, ["eu-1", "eu-2", "us-1"])


@pytest.mark.rule("R2-25")
def test_a_failure_is_told_with_its_cause_then_that_it_halts_and_went_back() -> None:
    found = installed()
    before = len(feed(found))
    found.health.says["us-1", "1.1.0"] = "Failed"
    found.health.messages["us-1"] = "CrashLoopBackOff"
    upgraded(found)
    found.wait(hours=6)
    told = news(found, before)
    assert [each["event"] for each in told] == ["Started", "Failed", "Halted", "RolledBack"]
    failed, halted, back = told[1:]
    assert (failed["stage"], failed["names"]) == ("gold", ["us-1"])
    assert failed["causes"] == [{"message": "CrashLoopBackOff", "clusters": 1, "names": ["us-1"]}]
    assert "1 of 3 clusters failed" in halted["title"]
    assert back["names"] == ["eu-1", "eu-2", "us-1"]


@pytest.mark.rule("R2-25")
def test_failures_are_counted_among_the_clusters_that_the_change_began_with() -> None:
    found = installed()
    before = len(feed(found))
    found.health.says["eu-1", "1.1.0"] = "Unknown"
    upgraded(found)
    found.wait(minutes=62)
    left(found, "eu-2")
    found.settle()
    assert found.versions == {"eu-1": "1.1.0", "us-1": "1.0.0"}
    found.health.says["eu-1", "1.1.0"] = "Failed"
    found.wait(hours=6)
    [halted] = [each for each in news(found, before) if each["event"] == "Halted"]
    assert "1 of 3 clusters failed" in halted["title"]
    assert halted["names"] == ["eu-1"]


@pytest.mark.rule("R2-25")
def test_failures_of_one_cause_are_told_together_and_once() -> None:
    policy = STAGES.replace("maxConcurrency: 1", "maxFailures: 2").replace("onFailure: Rollback", "onFailure: Halt")
    found = plane(**{"policy.yaml": policy})
    found.wait(hours=3)
    before = len(feed(found))
    for cluster in ("eu-1", "us-1"):
        found.health.says[cluster, "1.1.0"] = "Failed"
        found.health.messages[cluster] = "no disk"
    upgraded(found)
    found.wait(hours=3)
    told = news(found, before)
    assert told[-1]["title"] == "web 1.0.0 → 1.1.0 is done, but 2 of 3 clusters failed"
    causes = [each["causes"] for each in told if each["event"] == "Failed"]
    assert causes == [[{"message": "no disk", "clusters": 2, "names": ["eu-1", "us-1"]}]]


@pytest.mark.rule("R2-25")
def test_failures_that_differ_in_the_names_of_pods_alone_are_one_cause() -> None:
    policy = STAGES.replace("maxConcurrency: 1", "maxFailures: 2").replace("onFailure: Rollback", "onFailure: Halt")
    found = plane(**{"policy.yaml": policy})
    found.wait(hours=3)
    before = len(feed(found))
    for number, cluster in enumerate(("eu-1", "us-1")):
        found.health.says[cluster, "1.1.0"] = "Failed"
        found.health.messages[cluster] = f"{cluster}: pod web-7f9c{number}-x2x8{number}: {number + 3} restarts"
    upgraded(found)
    found.wait(hours=3)
    causes = [each["causes"] for each in news(found, before) if each["event"] == "Failed"]
    said = "the cluster: pod web-…-…: … restarts"
    assert causes == [[{"message": said, "clusters": 2, "names": ["eu-1", "us-1"]}]]


@pytest.mark.rule("R2-25")
def test_an_approval_is_asked_for_when_its_stage_is_next_with_when_it_is_due() -> None:
    found = plane(**{"policy.yaml": APPROVED})
    found.wait(hours=3)
    told = feed(found)
    # It was due an hour after it was first told: nobody needs to hear that twice.
    assert [each["event"] for each in told] == ["Started", "ApprovalNeeded"]
    needed = told[1]
    assert (needed["stage"], needed["names"]) == ("gold", ["eu-1", "us-1"])
    assert needed["do"] == f"fleetform rollout approve {needed['rollout']} --stage gold"
    # An hour of soaking, after ten minutes that the clusters of the stage are taken to need.
    assert needed["until"] == "2026-11-01T13:10:00Z"
    assert "decide by" in needed["title"]


@pytest.mark.rule("R2-26")
def test_an_approval_that_is_due_is_counted_down_to_the_time_that_why_shows() -> None:
    found = plane(**{"policy.yaml": APPROVED.replace("minSuccessTime: 1h", "minSuccessTime: 3d")})
    found.wait(days=3)
    told = [each for each in feed(found) if each["event"] in ("ApprovalNeeded", "Countdown")]
    assert [each["at"] for each in told] == ["2026-11-01T12:00:00Z", "2026-11-03T12:00:00Z", "2026-11-04T11:00:00Z"]
    fleet = found.control.fleet
    assert fleet is not None
    [item] = why(fleet, Scope("acme", "eu-1")).items
    assert {each["until"] for each in told[1:]} == {item.approvals[0].decide_by}


@pytest.mark.rule("R2-25")
def test_a_change_that_does_not_start_at_once_is_told_as_pending() -> None:
    approved = APPROVED.replace("{name: dev,", "{name: dev, approvals: {required: 1},")
    found = plane(**{"policy.yaml": approved})
    found.settle()
    told = {each["event"]: each for each in feed(found)}
    assert sorted(told) == ["ApprovalNeeded", "UpdatePending"]
    assert told["UpdatePending"]["clusters"] == 3
    assert {each["message"] for each in told["UpdatePending"]["causes"]} >= {"waits for approval", "waits for stage"}
    # Stages further on are asked for when the one before them has started.
    assert told["ApprovalNeeded"]["stage"] == "dev"


@pytest.mark.rule("R2-25", "R2-26")
def test_a_breaking_version_is_told_as_blocked_counted_down_and_forced() -> None:
    found = installed()
    before = len(feed(found))
    breaking(found)
    found.settle()
    [blocked] = news(found, before)
    assert (blocked["event"], blocked["clusters"]) == ("Blocked", 3)
    assert blocked["title"] == "web 1.0.0 → 2.0.0 is blocked by breaking"
    assert blocked["until"] == "2026-11-11T15:00:00Z"
    found.wait(days=12)
    told = news(found, before)
    assert [each["event"] for each in told] == [
        "Blocked", "Countdown", "Countdown", "Countdown", "Forced", "Started", "Finished",
    ]  # fmt: skip
    assert [each["at"] for each in told[1:5]] == [
        "2026-11-04T15:00:00Z", "2026-11-10T15:00:00Z", "2026-11-11T14:00:00Z", "2026-11-11T15:00:00Z",
    ]  # fmt: skip
    assert [each["title"] for each in told[1:4]] == [
        "web 1.0.0 → 2.0.0 is forced, in 7 d",
        "web 1.0.0 → 2.0.0 is forced, in 1 d",
        "web 1.0.0 → 2.0.0 is forced, in 1 h",
    ]


@pytest.mark.rule("R2-25")
def test_a_version_that_was_acknowledged_is_not_told_as_forced() -> None:
    found = installed()
    breaking(found)
    found.settle()
    preset = found.files.files["preset.yaml"]
    found.files.files["preset.yaml"] = preset.replace(
        "spec:\n", "spec:\n  upgrades: {acknowledged: [{version: 2.0.0}]}\n  suspend: true\n", 1
    )
    found.wait(days=12)
    found.files.files["preset.yaml"] = found.files.files["preset.yaml"].replace("  suspend: true\n", "")
    found.wait(days=1)
    assert "Forced" not in events(found)
    assert events(found)[-1] == "Finished"


@pytest.mark.rule("R2-25")
def test_a_thousand_blocked_clusters_are_one_message() -> None:
    found = plane(**{"clusters.yaml": CLUSTERS, "policy.yaml": STAGES.replace("maxConcurrency: 1", "maxFailures: 2")})
    text = found.files.files["definition.yaml"]
    found.files.files["definition.yaml"] = text.replace(
        "{name: host, type: string}", "{name: host, type: string, required: true}"
    )
    found.settle()
    [blocked] = feed(found)
    assert (blocked["event"], blocked["clusters"]) == ("Blocked", 1000)
    assert blocked["names"] == ["c0000", "c0001", "c0002", "c0003", "c0004"]
    assert [each["clusters"] for each in blocked["causes"]] == [1000]


@pytest.mark.rule("R2-25")
def test_deletions_that_wait_for_approval_are_told_once() -> None:
    many = {"clusters.yaml": "---".join(CLUSTERS.split("---")[:8])}
    found = plane(**many)
    found.wait(hours=3)
    preset = found.files.files["preset.yaml"]
    found.files.files["preset.yaml"] = preset.replace(
        "clusterSelector: {}", "clusterSelector: {matchLabels: {tier: x}}"
    )
    found.wait(hours=3)
    [needed] = [each for each in feed(found) if each["event"] == "ApprovalNeeded"]
    assert (needed["stage"], needed["clusters"]) == ("deletes", 8)


@pytest.mark.rule("R2-25")
def test_what_a_person_aborts_is_told_with_the_commit_of_the_request() -> None:
    found = installed()
    upgraded(found)
    found.settle()
    found.control.ask(RolloutRequest(verb="abort", name="web", who=Identity("ada", owner=True), reason="wrong day"))
    last = feed(found)[-1]
    assert (last["event"], last["title"]) == ("Halted", "web 1.0.0 → 1.1.0 was aborted by ada: wrong day")


@pytest.mark.rule("R2-25")
def test_a_restart_at_any_time_tells_nothing_twice() -> None:
    found = installed()
    before = len(feed(found))
    found.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(found)
    for _ in range(60):
        found.restart()
        report = found.control.run_pass()
        if not report.wrote and report.next_look is not None:
            found.clock.at = report.next_look
    assert [each["event"] for each in news(found, before)] == ["Started", "Failed", "Halted", "RolledBack"]


@pytest.mark.rule("R2-25")
def test_each_endpoint_gets_what_it_asks_for_and_other_organizations_nothing() -> None:
    found = plane(**{"organization.yaml": HOOK})
    found.wait(hours=3)
    found.health.says["us-1", "1.1.0"] = "Failed"
    upgraded(found)
    found.wait(hours=6)
    by_endpoint: dict[str, list[str]] = {}
    for each in found.store.outbox(found.clock.at):
        by_endpoint.setdefault(each.message.endpoint, []).append(each.message.event)
    everything, some = sorted(by_endpoint.values(), key=len, reverse=True)
    assert everything == events(found)
    assert some == ["Failed", "Halted"]


@pytest.mark.rule("R2-25")
def test_an_endpoint_that_is_gone_gets_nothing_until_its_spec_is_another() -> None:
    found = plane(**{"organization.yaml": HOOK})
    found.settle()
    first, *_ = found.store.outbox(found.clock.at)
    disabled = Put(Ref("DisabledEndpoint", "acme", first.message.endpoint), b"{}")
    found.store.commit(Commit([disabled], sent=[Sent(first.number)]), found.clock.at)
    upgraded(found)
    found.wait(hours=6)
    assert found.store.outbox(found.clock.at) == []
    found.files.files["organization.yaml"] = HOOK.replace("/a", "/c")
    upgraded(found, "1.2.0")
    found.wait(hours=6)
    assert [each.message.event for each in found.store.outbox(found.clock.at)] == ["Started", "Finished"]


def test_nothing_to_tell_is_no_write() -> None:
    found = plane(**{"policy.yaml": APPROVED})
    found.wait(hours=3)
    count = len(feed(found))
    for _ in range(3):
        assert not found.control.run_pass().wrote
    found.restart()
    assert not found.control.run_pass().wrote
    assert len(feed(found)) == count


@pytest.mark.rule("R2-25")
def test_a_commit_that_fails_loses_no_message_and_tells_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(failing: int | None) -> tuple[list[str], int]:
        """What is told of an install that waits for an approval, where one of the commits fails; and how many there
        are."""
        found, count = plane(**{"policy.yaml": APPROVED}), 0
        commit = found.store.commit

        def noted(written: Commit, now: datetime) -> object:
            nonlocal count
            count += 1
            if count == failing:
                raise UnavailableError("the disk is full")
            return commit(written, now)

        monkeypatch.setattr(found.store, "commit", noted)
        for _ in range(3):
            with suppress(UnavailableError):
                found.wait(hours=2)
        return events(found), count

    whole, commits = told(failing=None)
    assert whole == ["Started", "ApprovalNeeded"]
    assert commits > 1
    for number in range(1, commits + 1):
        assert told(failing=number)[0] == whole


@pytest.mark.rule("B11", "B23")
def test_nothing_is_forced_of_a_plugin_whose_release_another_owner_keeps() -> None:
    """Plans have it, with what holds it; decisions have it as a claim alone."""
    second = BASE["preset.yaml"].replace("name: web, namespace", "name: other, namespace")
    fleet = fleet_with(other=second.replace("  plugin:\n", "  plugin:\n    releaseName: web\n"))
    lost = [claim.plugin.key for claim in fleet.decisions.claims]
    planned = {each.key for owner in fleet.plan.owners for each in owner.change.candidates}
    assert lost
    assert planned.issuperset(lost)
    assert fleet.decisions.plugins.keys().isdisjoint(lost)
    assert not any(_is_forced(fleet, key) for key in lost)
