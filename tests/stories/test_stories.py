"""Days of a control plane, told whole: what it starts, delivers, writes down and tells, step by step.

Other tests prove one rule each; these hold the rest of what a plane does meanwhile. A page is what a story comes to;
with APPROVE=1 pages are written anew: read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleetform.app.scope import Scope
from fleetform.loop.asking import RolloutRequest
from fleetform.model.identity import Identity
from fleetform.model.results.rendering import RenderFailure
from fleetform.ports.delivery import Failure
from fleetform.syntax.times import time_text
from support.answers import get
from support.fleets import BASE
from support.plane import Files, Plane

HERE = Path(__file__).parent
POLICY = """\
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true, maxConcurrency: 1}
  onFailure: Rollback
"""
APPROVED = POLICY.replace("maxConcurrency: 1", "approvals: {required: 2}")
ORGANIZATION = """\
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme, namespace: acme}
spec:
  approvers: {users: [ann, bob]}
  roles: [{role: operator, users: [ann]}, {role: viewer, users: [eve]}]
  notifications:
  - {webhook: {url: "https://hooks.example.com/a"}, events: [Failed, Halted, ApprovalNeeded]}
"""
LIFECYCLE = """\
apiVersion: fleetform.dev/v1alpha1
kind: LifecyclePolicy
metadata: {name: default, namespace: acme}
spec: {notice: 2h, grace: 7d, forceAfter: 10d, unreachableAfter: 30m}
"""
FREEZE = """\
apiVersion: fleetform.dev/v1alpha1
kind: UpdateWindow
metadata: {name: launch, namespace: acme}
spec: {type: HardFreeze, from: 2026-11-01, to: 2026-11-02, clusterSelector: {matchLabels: {region: us}}}
"""
# What a line begins with, or what stands in others.
_ELSEWHERE = ("id", "kind", "name", "changeId", "event", "title", "organization", "preset")


class Diary:
    """A plane, and what happened in it since it was last asked."""

    def __init__(self, **files: str) -> None:
        preset = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
        given = {"preset.yaml": preset, "policy.yaml": POLICY, **{f"{name}.yaml": text for name, text in files.items()}}
        self.plane = Plane(Files({**BASE, **given}))
        self.lines: list[str] = []
        self._seen = {"events": 0, "messages": 0, "deeds": 0}

    def step(self, what: str, **span: float) -> None:
        """What happened after a time that went by; without one, at once."""
        report = self.plane.wait(**span) if span else self.plane.settle()
        self.lines += ["", f"## {time_text(self.plane.clock.at)}: {what}", ""]
        self.lines += self._events() + self._messages() + self._deeds()
        self.lines += self._rollouts()
        runs = ", ".join(f"{cluster} {version}" for cluster, version in self.plane.versions.items())
        self.lines.append(f"runs: {runs}")
        if report.next_look is not None:
            self.lines.append(f"next look: {time_text(report.next_look)}")
        for key, why in report.unavailable.items():
            self.lines.append(f"unavailable: {'/'.join(key)}: {why}")
        if report.refusal is not None:
            refusal = report.refusal
            self.lines.append(f"refused: {refusal.reason}")
            for each in refusal.findings:
                where = f"{each.place.file}:{each.place.line}: " if each.place is not None else ""
                self.lines.append(f"  {each.code}: {where}{each.message}")

    def write(self, **files: str) -> None:
        self.plane.files.files.update({f"{name}.yaml": text for name, text in files.items()})

    def upgrade(self, version: str, more: str = "") -> None:
        text = self.plane.files.files["definition.yaml"].replace("version: 1.0.0", f"version: {version}")
        self.plane.files.files[f"definition-{version}.yaml"] = text + more

    def ask(self, verb: str, by: str = "ann", **more: object) -> None:
        who = Identity(by, owner=by == "root")
        reply = self.plane.control.ask(RolloutRequest(verb=verb, name="web", who=who, **more))  # type: ignore[arg-type]
        said = reply.problem.detail if reply.problem is not None else "done"
        self.lines += ["", f"{by} asks: {verb} {more or ''}".rstrip(), f"  {said}"]

    def _events(self) -> list[str]:
        store = self.plane.store
        clusters = sorted({each.ref.name for each in store.list("Cluster").records} | {"eu-1", "eu-2", "us-1"})
        found = [each for cluster in clusters for each in reversed(store.events("acme", cluster))]
        found.sort(key=lambda each: each.at)
        new = found[self._seen["events"] :]
        self._seen["events"] = len(found)
        return [
            " ".join(
                (time_text(each.at), each.event, each.plugin, each.version or "-", each.rollout, each.reason)
            ).rstrip()
            for each in new
        ]

    def _messages(self) -> list[str]:
        found = list(reversed(self.plane.store.feed()))
        new = found[self._seen["messages"] :]
        self._seen["messages"] = len(found)
        lines = []
        for each in new:
            body = json.loads(each.message.body)
            lines.append(f"told {body['event']}: {body['title']}: {json.dumps(_told(body), ensure_ascii=False)}")
        return lines

    def _rollouts(self) -> list[str]:
        fleet = self.plane.control.fleet
        items = get(fleet, Scope("acme"), "rollouts")["items"] if fleet is not None else []
        return [line for each in items for line in _rollout(each["status"])]

    def _deeds(self) -> list[str]:
        found = [each.deed for each in self.plane.store.audit()]
        new = found[self._seen["deeds"] :]
        self._seen["deeds"] = len(found)
        return [f"deed: {each.actor} {each.verb} {each.subject}: {each.outcome} {each.detail}".rstrip() for each in new]


def _rollout(status: dict[str, Any]) -> list[str]:
    """A rollout, its stages and what holds it."""
    ends = " ".join(f"{when} {status[when]}" for when in ("created", "started", "ended") if status[when])
    lines = [f"rollout {status['name']} {status['from']} → {status['to']}: {status['phase']} {status['note']} {ends}"]
    for stage in status["stages"]:
        counts = " ".join(f"{name} {count}" for name, count in stage["clusters"].items() if count)
        times = " ".join(f"{when} {stage[when]}" for when in ("started", "soakUntil", "done") if stage[when])
        asked = stage["approvals"]
        consent = f"{asked['have']} of {asked['need']} approvals, by {asked['decideBy']}" if asked else ""
        lines.append(" ".join(filter(None, ("  stage", stage["name"], stage["phase"], counts, times, consent))))
    for cause in status["causes"]:
        until = f", until {cause['until']}" if cause["until"] else ""
        lines.append(f"  {cause['state']}, {cause['gate']}: {cause['message']}{until}: {', '.join(cause['names'])}")
    return lines


def _told(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if value and key not in _ELSEWHERE}


def an_upgrade_in_stages(diary: Diary) -> None:
    diary.step("the first pass installs")
    diary.step("it is healthy", hours=3)
    diary.upgrade("1.1.0")
    diary.step("a version comes")
    diary.step("the soak is not over", minutes=59)
    diary.step("the soak is over", minutes=2)
    diary.step("all have it", hours=3)
    diary.write(
        override="apiVersion: fleetform.dev/v1alpha1\nkind: PluginOverride\nmetadata: {name: more, namespace: acme}\n"
        "spec: {overrides: [{path: replicas, value: 7}]}\n"
    )
    diary.step("an override is written")
    diary.step("it moves", hours=6)
    diary.plane.files.files["clusters.yaml"] = BASE["clusters.yaml"].replace("us-1", "us-2")
    diary.step("one cluster leaves and another joins")
    diary.step("the new one is there", hours=2)
    diary.plane.files.files.pop("preset.yaml")
    diary.step("the preset is gone")
    diary.step("deletions are few enough", hours=2)


def a_failure_and_what_people_do(diary: Diary) -> None:
    diary.write(organization=ORGANIZATION)
    diary.step("the first pass installs", hours=3)
    diary.plane.health.says["eu-2", "1.1.0"] = "Failed"
    diary.plane.health.messages["eu-2"] = "3 pods crash"
    diary.upgrade("1.1.0")
    diary.step("a version fails on the first stage", hours=2)
    diary.ask("retry", by="eve")
    diary.ask("retry")
    diary.step("it is tried again", hours=2)
    diary.plane.health.says.clear()
    diary.upgrade("1.2.0")
    diary.step("a fix comes")
    diary.ask("pause", reason="lunch")
    diary.step("it is paused", hours=2)
    diary.ask("resume")
    diary.step("it goes on", hours=3)
    diary.ask("rollback", to="1.0.0", reason="too loud")
    diary.step("back", hours=6)
    diary.upgrade("1.3.0")
    diary.step("one more")
    diary.ask("abort", reason="wrong day")
    diary.step("it is aborted", hours=2)
    diary.ask("start")
    diary.ask("approve", stage="none-such")


def approvals_and_a_breaking_version(diary: Diary) -> None:
    diary.write(organization=ORGANIZATION, policy=APPROVED, lifecycle=LIFECYCLE)
    diary.step("the first pass: gold waits for two people", hours=3)
    diary.ask("approve", stage="gold", by="ann")
    diary.ask("approve", stage="gold", by="ann")
    diary.ask("approve", stage="gold", by="eve")
    diary.step("one of two")
    diary.ask("approve", stage="gold", by="bob", reason="looks fine")
    diary.step("two of two", hours=3)
    diary.upgrade("2.0.0", "  changes: {breaking: true, acknowledge: open a port, summary: Ports.}\n")
    diary.step("a breaking version is announced")
    diary.step("nobody acknowledges it", days=6)
    diary.step("the grace is over", days=3)
    diary.step("it is forced", days=3)
    diary.ask("start", emergency=True, reason="fire", by="root")
    diary.step("an emergency", hours=3)


def clusters_that_do_not_answer(diary: Diary) -> None:
    diary.write(organization=ORGANIZATION, lifecycle=LIFECYCLE, freeze=FREEZE)
    diary.plane.health.silent.add("eu-1")
    diary.step("the first pass", hours=6)
    diary.plane.targets.broken["eu-1"] = Failure("connection refused", "look at the network")
    diary.upgrade("1.1.0")
    diary.step("a version comes", hours=5)
    diary.plane.targets.broken.clear()
    diary.plane.health.silent.clear()
    diary.step("it answers again", hours=24)
    diary.plane.renders.failing["1.2.0"] = RenderFailure("the chart is broken", "fix the chart")
    diary.upgrade("1.2.0")
    diary.step("a version that does not render", hours=5)
    diary.plane.renders.failing.clear()
    diary.write(broken="kind: [")
    diary.step("a file that cannot be read", hours=1)
    diary.plane.files.files.pop("broken.yaml")
    diary.plane.restart()
    diary.step("mended, and started anew", hours=6)


STORIES: dict[str, Callable[[Diary], None]] = {
    each.__name__: each
    for each in (
        an_upgrade_in_stages,
        a_failure_and_what_people_do,
        approvals_and_a_breaking_version,
        clusters_that_do_not_answer,
    )
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_comes_to_its_page(name: str) -> None:
    diary = Diary()
    STORIES[name](diary)
    told = "\n".join((f"# {name.replace('_', ' ').capitalize()}", *diary.lines, ""))
    page = HERE / f"{name}.md"
    if "APPROVE" in os.environ:
        page.write_text(told, encoding="utf-8")
    assert told == page.read_text(encoding="utf-8")
