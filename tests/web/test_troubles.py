"""What keeps a plugin from arriving, or from being judged, is told to whoever asks: over the API, and by `--server`."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from fleetform.model.results.rendering import Rendered, RenderInput
from fleetform.ports.delivery import Failure
from fleetform.syntax.times import time_text
from support.api import ServedPlane
from support.command import Runner
from support.fleets import BASE, NOW, override
from web.test_answers import FILES
from web.test_server_flag import Ask, ask  # noqa: F401

STATE = ("--state", "sqlite:.fleetform/fleet.db")
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {replicas: '${replicas}'}\n"


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    """A control plane that cannot deliver to one cluster, for a while by now."""
    found = ServedPlane(tmp_path, FILES)
    found.plane.targets.broken["eu-2"] = Failure("permission denied", "check the Secret login")
    found.plane.wait(seconds=20)
    return found


def test_why_says_what_is_in_the_way_of_a_delivery(served: ServedPlane) -> None:
    [item] = served.get("why", cluster="eu-2")["items"]
    assert item["state"] == "InFlight"
    assert item["summary"].endswith("; it cannot be delivered")
    assert item["trouble"] == {
        "of": "delivery",
        "message": "permission denied",
        "do": "check the Secret login",
        "where": "out",
        "since": "2026-11-01T12:00:00Z",
        "tries": 3,
        "nextTry": "2026-11-01T12:00:35Z",
    }
    assert served.get("why", cluster="eu-1")["items"][0]["trouble"] is None


def test_the_view_follows_a_delivery_that_gets_through(served: ServedPlane) -> None:
    assert served.get("why", cluster="eu-2")["items"][0]["trouble"] is not None
    served.plane.targets.broken.clear()
    served.plane.wait(minutes=1)
    assert served.get("why", cluster="eu-2")["items"][0]["trouble"] is None


def test_a_status_tells_of_deliveries_that_fail_for_one_cause_once(served: ServedPlane) -> None:
    [cause] = [each for each in served.get("rollouts/web")["causes"] if each["state"] == "InFlight"]
    assert cause["message"] == "cannot be delivered: permission denied"
    assert (cause["clusters"], cause["names"]) == (1, ["eu-2"])
    assert (cause["trouble"]["tries"], cause["trouble"]["nextTry"]) == (3, "2026-11-01T12:00:35Z")


def test_the_command_line_says_it_in_two_lines(served: ServedPlane, ask: Ask) -> None:  # noqa: F811
    said = ask("why", "eu-2").out
    assert "▸ delivery  permission denied (out); tried 3 times since " in said
    assert "next try " in said
    assert "check the Secret login" in said
    assert "cannot be delivered: permission denied (out); tried 3 times" in ask("rollout", "status", "web").out


def conditions(served: ServedPlane) -> dict[str, list[str]]:
    listed = served.get("plugins")["items"]
    return {each["spec"]["clusterName"]: [one["type"] for one in each["status"]["conditions"]] for each in listed}


def test_plugins_are_listed_with_what_is_amiss_about_their_delivery(served: ServedPlane, ask: Ask) -> None:  # noqa: F811
    assert conditions(served)["eu-2"] == ["Resolved", "NotDelivered"]
    rows = ask("get", "plugins").out.splitlines()
    assert rows[0].split()[-1] == "CONDITIONS"
    assert [row.split()[-1] for row in rows[1:]] == ["-", "NotDelivered", "-"]


@pytest.mark.rule("R2-38")
def test_plugins_are_listed_with_renders_that_would_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = ServedPlane(tmp_path, BASE)
    plane = served.plane
    plane.settle()
    assert set(map(tuple, conditions(served).values())) == {("Resolved",)}
    inner = plane.renders._render

    def otherwise(input_: RenderInput) -> object:
        made = inner(input_)
        assert isinstance(made, Rendered)
        return Rendered(made.key, ({**made.objects[0], "kind": "Secret"},))

    monkeypatch.setattr(plane.renders, "_render", otherwise)
    plane.control.care()
    assert set(map(tuple, conditions(served).values())) == {("Resolved", "RenderChanged")}
    # Another state is admitted on one cluster: what is said is of what runs.
    plane.files.files["more.yaml"] = override(
        "more", "[{path: replicas, value: 7}]", "clusterSelector: {clusterNames: [eu-1]}"
    )
    plane.settle()
    assert conditions(served)["eu-1"] == ["Resolved"]
    assert conditions(served)["eu-2"] == ["Resolved", "RenderChanged"]
    monkeypatch.undo()
    plane.control.care()
    assert conditions(served)["eu-2"] == ["Resolved"]


def test_a_way_back_that_waits_for_a_newer_health_file_says_so(run: Runner) -> None:
    """Where nobody writes the file again, a rollback would stay under way without a word."""
    cluster = "apiVersion: fleetform.dev/v1alpha1\nkind: Cluster\nmetadata: {name: eu-1, namespace: acme}\n"
    run.write(clusters=f"{cluster}spec: {{health: {{file: health.txt}}}}\n")
    (run.folder / "manifests").mkdir()
    (run.folder / "manifests" / "web.yaml").write_text(CONFIG_MAP)

    def health(text: str, minutes: int) -> None:
        file = run.folder / "health.txt"
        file.write_text(text)
        at = (NOW + timedelta(minutes=minutes)).timestamp()
        os.utime(file, (at, at))

    def passed(minutes: int) -> str:
        at = time_text(NOW + timedelta(minutes=minutes))
        assert run("serve", "-q", "--once", "--at", at).code == 0
        return at

    passed(0)
    health("health: Healthy", 1)
    passed(1)
    run.write(preset=(run.folder / "preset.yaml").read_text().replace("value: 2", "value: 3"))
    passed(10)
    health("{health: Failed, message: it crashes}", 11)
    passed(11)
    assert run("rollout", "rollback", "web", "--yes", *STATE, "--at", time_text(NOW + timedelta(minutes=12))).code == 0
    at = passed(12)
    said = run("why", "eu-1", *STATE, "--at", at)
    told = "the health file of eu-1 was written before this delivery (2026-11-01 12:11:00 UTC, delivered"
    assert "rolls back to what was healthy before" in said.out
    assert f"▸ health  {told} 2026-11-01 12:12:00 UTC): waiting for a newer one" in said.out
    assert "write ./health.txt again" in said.out
    status = run("rollout", "status", "web", *STATE, "--at", at, "-o", "json").json
    failed, waiting = status["causes"]
    assert (failed["state"], failed["message"]) == ("Failed", "it crashes")
    assert waiting["message"].startswith("the health file of eu-1 was written before this delivery")
    health("health: Healthy", 13)
    assert run("why", "eu-1", *STATE, "--at", passed(13), "-o", "json").json["items"][0]["trouble"] is None
