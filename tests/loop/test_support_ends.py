"""Before the support of a version ends, people are told who still runs it: once for all clusters, and in time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from fleetform.loop.metrics import Metrics
from fleetform.model.answers.notifications import Notification
from fleetform.store.memory import MemoryStore
from fleetform.syntax.times import time_text
from loop.test_control import installed
from support.api import ServedPlane
from support.fleets import BASE, NOW
from support.plane import Plane


def policy(days: float, version: str = "1.0.x") -> str:
    ends = f"ends: [{{version: {version}, at: '{time_text(NOW + timedelta(days=days))}'}}]"
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: LifecyclePolicy\nmetadata: {name: default, namespace: acme}\n"
        f"spec: {{support: [{{definition: web, {ends}}}]}}\n"
    )


def told(plane: Plane) -> list[Notification]:
    """Countdowns, the oldest first."""
    found = [msgspec.json.decode(each.message.body, type=Notification) for each in plane.store.feed()]
    return [each for each in reversed(found) if each.event == "Countdown"]


@pytest.mark.rule("R2-26", "B11")
def test_it_is_told_once_for_all_clusters_and_again_as_it_comes_nearer() -> None:
    plane = installed()
    plane.files.files["policy-of-support.yaml"] = policy(42)
    plane.wait(days=11)
    assert told(plane) == [], "it is more than a month away"
    plane.wait(days=3)
    [first] = told(plane)
    assert first.title == "support of web 1.0.0 ends in 30 d; 3 clusters run it"
    assert (first.clusters, first.names) == (3, ["eu-1", "eu-2", "us-1"])
    assert first.until == time_text(NOW + timedelta(days=42))
    plane.restart()
    plane.wait(days=20)
    assert len(told(plane)) == 1, "a restart tells nothing again"
    plane.wait(days=10)
    spans = [each.title.split(" ends in ")[1].split(";")[0] for each in told(plane)]
    assert spans == ["30 d", "7 d", "1 d", "1 h"]


@pytest.mark.rule("R2-26")
def test_what_is_near_when_it_is_first_known_is_told_at_once_and_once() -> None:
    plane = installed()
    plane.files.files["policy-of-support.yaml"] = policy(12)
    plane.settle()
    assert [each.title for each in told(plane)] == ["support of web 1.0.0 ends in 11 d 21 h; 3 clusters run it"]
    plane.files.files["policy-of-support.yaml"] = policy(13)
    plane.settle()
    assert len(told(plane)) == 2, "another date is news"


@pytest.mark.rule("R2-26")
def test_a_version_that_nobody_runs_is_nobodys_concern() -> None:
    plane = installed()
    plane.files.files["policy-of-support.yaml"] = policy(12, "0.9.x")
    plane.wait(days=20)
    assert told(plane) == []


@pytest.mark.rule("R2-27")
def test_metrics_tell_when_and_how_many() -> None:
    plane = installed()
    plane.files.files["policy-of-support.yaml"] = policy(12)
    metrics = Metrics(MemoryStore, "none", lambda: NOW)
    metrics.told(plane.control.run_pass())
    labels = {"organization": "acme", "definition": "web", "version": "1.0.0"}
    registry = CollectorRegistry()
    registry.register(metrics)
    found = registry.get_sample_value
    end = (NOW + timedelta(days=12)).timestamp()
    assert found("fleetform_support_ends_timestamp_seconds", labels) == end
    assert found("fleetform_support_ending_clusters", labels) == 3


def test_plugins_are_listed_with_the_end_of_what_they_run(tmp_path: Path) -> None:
    served = ServedPlane(tmp_path, {**BASE, "policy.yaml": policy(12)})
    served.plane.settle()
    conditions = [each["status"]["conditions"] for each in served.get("plugins")["items"]]
    assert [each[-1]["message"] for each in conditions] == ["support of web 1.0.0 ends 2026-11-13T12:00:00Z"] * 3
    assert [each[-1]["type"] for each in conditions] == ["SupportEnds"] * 3
