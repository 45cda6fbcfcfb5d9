"""What the API answers is what the command line answers, from what the control plane has stored."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from fleetform.app.explain import explain
from fleetform.app.get import get, kinds
from fleetform.app.plan import plan_answer
from fleetform.app.questions import find_plugin
from fleetform.app.scope import Scope
from fleetform.app.why import why
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.listing import LISTED
from support.api import ServedPlane
from support.fleets import BASE, override

POLICY = dedent(
    """
    apiVersion: fleetform.dev/v1alpha1
    kind: RolloutPolicy
    metadata: {name: standard, namespace: acme}
    spec:
      stages:
      - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
      - {name: gold, remainder: true, approvals: {required: 1, from: {users: [ada]}}}
    """
)
FILES = {
    **BASE,
    "preset.yaml": BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1),
    "policy.yaml": POLICY,
}


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, FILES)
    found.plane.settle()
    return found


def plain(answer: AnswerRecord) -> Any:
    return json.loads(msgspec.json.encode(answer))


def test_every_kind_of_get_is_served_as_get_answers_it(served: ServedPlane) -> None:
    fleet = served.views.current().fleet
    assert sorted(LISTED) == kinds()
    for plural in kinds():
        assert served.get(plural) == plain(get(fleet, Scope(None), plural)), plural


@pytest.mark.rule("R0-18")
def test_plugins_are_served_with_the_overrides_that_speak_of_them_as_files_are_now(served: ServedPlane) -> None:
    def applied() -> dict[str, list[tuple[str, list[str], list[str]]]]:
        found = {}
        for item in served.get("plugins")["items"]:
            overrides = item["status"]["appliedOverrides"]
            told = [(each["name"], sorted(each["won"]), sorted(each["lost"])) for each in overrides]
            found[item["metadata"]["name"].removeprefix("web-")] = sorted(told)
        return found

    assert applied() == {"eu-1": [], "eu-2": [], "us-1": []}
    everywhere = override("all", "[{path: replicas, value: 3}, {path: host, value: x}]")
    region = "clusterSelector: {matchLabels: {region: eu}}"
    served.plane.files.files |= {
        "all.yaml": everywhere,
        "eu.yaml": override("eu", "[{path: replicas, value: 4}]", region),
    }
    served.plane.settle()
    split = [("all", ["host"], ["replicas"]), ("eu", ["replicas"], [])]
    assert applied() == {"eu-1": split, "eu-2": split, "us-1": [("all", ["host", "replicas"], [])]}


def test_verbs_answer_as_on_the_command_line(served: ServedPlane) -> None:
    fleet = served.views.current().fleet
    plugin = find_plugin(fleet, Scope(None, "eu-1"), "web", None)
    assert served.get("explain", plugin="web", cluster="eu-1") == plain(explain(fleet, plugin))
    one = served.get("explain", plugin="web", cluster="eu-1", option="replicas")
    assert [each["path"] for each in one["options"]] == ["replicas"]
    assert served.get("why", cluster="eu-1") == plain(why(fleet, Scope(None, "eu-1")))
    assert served.get("plan") == plain(plan_answer(fleet, Scope(None)))
    assert served.get("rollouts/web")["preset"] == "web"


def test_history_tells_what_a_cluster_ran_at_a_time(served: ServedPlane) -> None:
    assert [each["version"] for each in served.get("history", cluster="eu-2")["running"]] == ["1.0.0"]
    before = served.send("GET", "/api/v1/history?cluster=eu-2&at=2026-10-01")
    assert (before.status_code, before.json()["code"]) == (404, "not-found")


def test_an_answer_follows_what_is_stored_and_not_the_files(served: ServedPlane) -> None:
    def replicas() -> Any:
        return served.get("explain", plugin="web", cluster="eu-1", option="replicas")["options"][0]["value"]

    assert replicas() == 2
    served.plane.files.files["preset.yaml"] = FILES["preset.yaml"].replace("value: 2", "value: 5")
    assert replicas() == 2
    served.plane.settle()
    assert replicas() == 5


def test_an_answer_follows_time_where_nothing_is_stored(served: ServedPlane) -> None:
    """Nobody approves, so the loop has nothing to write when the soak ends."""
    gates = {each["gate"] for item in served.get("why", cluster="eu-1")["items"] for each in item["reasons"]}
    assert {"soak", "approval"} <= gates
    served.plane.wait(hours=2)
    gates = {each["gate"] for item in served.get("why", cluster="eu-1")["items"] for each in item["reasons"]}
    assert gates == {"approval"}


def test_how_far_away_things_are_is_told_from_the_time_of_the_question(served: ServedPlane) -> None:
    def told() -> str:
        [item] = served.get("why", cluster="eu-1")["items"]
        return str(item["summary"])

    assert "(in 1 h)" in told()
    served.plane.clock.at += timedelta(minutes=20)
    assert "(in 40 min)" in told()
    assert "ETag" not in served.send("GET", "/api/v1/why?cluster=eu-1").headers


def test_an_entity_tag_spares_the_answer_until_something_is_another(served: ServedPlane) -> None:
    first = served.send("GET", "/api/v1/plugins")
    tag = first.headers["etag"]
    again = served.send("GET", "/api/v1/plugins", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    served.plane.files.files["preset.yaml"] = FILES["preset.yaml"].replace("value: 2", "value: 3")
    served.plane.settle()
    other = served.send("GET", "/api/v1/plugins", headers={"If-None-Match": tag})
    assert (other.status_code, other.headers["etag"] == tag) == (200, False)


def test_pages_of_a_list_show_one_version(served: ServedPlane) -> None:
    first = served.send("GET", "/api/v1/clusters?limit=2")
    assert [each["metadata"]["name"] for each in first.json()["items"]] == ["eu-1", "eu-2"]
    served.plane.files.files["clusters.yaml"] = FILES["clusters.yaml"].replace("eu-1", "au-1")
    served.plane.settle()
    following = first.links["next"]["url"]
    second = served.send("GET", following)
    assert [each["metadata"]["name"] for each in second.json()["items"]] == ["us-1"]
    assert "next" not in second.links
    assert second.headers["etag"] == first.headers["etag"]
    assert [each["metadata"]["name"] for each in served.get("clusters")["items"]] == ["au-1", "eu-2", "us-1"]


def test_pages_that_are_gone_say_so(served: ServedPlane) -> None:
    following = served.send("GET", "/api/v1/clusters?limit=2").links["next"]["url"]
    for number in range(4):
        served.plane.files.files["preset.yaml"] = FILES["preset.yaml"].replace("value: 2", f"value: 1{number}")
        served.plane.settle()
        served.get("clusters")
    gone = served.send("GET", following)
    assert (gone.status_code, gone.json()["code"], gone.json()["hint"]) == (410, "expired", "list again from the start")


@pytest.mark.parametrize(
    ("path", "status", "code", "part"),
    [
        ("why?cluster=eu-9", 404, "not-found", "there is no cluster eu-9"),
        ("clusters?name=eu-9", 404, "not-found", "eu-9 is not among the clusters here"),
        ("explain?plugin=web", 400, "ambiguous", "web"),
        ("explain", 400, "bad-value", "name a plugin or a definition"),
        ("clusters?limit=0", 400, "bad-value", "limit"),
        ("clusters?limt=1", 400, "bad-value", "limt"),
        ("clusters?after=x", 400, "bad-value", "after is not a place in a list"),
        ("clusters?selector=%3D", 400, "bad-value", "selector"),
        ("clusters?state=Waiting", 400, "bad-value", "state is about plugins"),
        ("plugins?state=Hungry", 400, "bad-value", "Hungry is not a state of a plugin"),
        ("history?cluster=eu-1&at=soon", 400, "bad-value", "soon is not a time"),
        ("nothing", 404, "not-found", "there is no such address"),
    ],
)
def test_what_has_no_answer_is_a_problem_with_a_code_and_a_way_out(
    served: ServedPlane, path: str, status: int, code: str, part: str
) -> None:
    found = served.send("GET", f"/api/v1/{path}")
    problem = found.json()
    assert (found.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert found.headers["content-type"] == "application/problem+json"
    assert part in problem["detail"]
    assert problem["hint"]


def test_an_ambiguous_question_lists_its_answers(served: ServedPlane) -> None:
    choices = served.send("GET", "/api/v1/explain?plugin=web").json()["choices"]
    assert len(choices) == 3


def test_a_secret_is_never_told(tmp_path: Path) -> None:
    token = "    - {name: token, valueFrom: {secret: {name: keys, key: token}}}\n"
    served = ServedPlane(tmp_path, {**FILES, "preset.yaml": FILES["preset.yaml"] + token})
    served.plane.settle()
    found = served.get("explain", plugin="web", cluster="eu-2", option="token")["options"][0]
    assert found["value"] == {"secret": True, "digest": "unknown"}


def test_before_anything_was_accepted_it_is_not_ready(tmp_path: Path) -> None:
    served = ServedPlane(tmp_path, {})
    assert served.send("GET", "/healthz").status_code == 200
    found = served.send("GET", "/readyz")
    assert (found.status_code, found.json()["code"], found.headers["retry-after"]) == (503, "unavailable", "5")
    assert served.send("GET", "/api/v1/clusters").status_code == 503


def test_what_nobody_expected_is_no_traceback(served: ServedPlane, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise RuntimeError("something private")

    served.views.current = broken  # type: ignore[assignment,method-assign]
    found = served.send("GET", "/api/v1/clusters")
    assert (found.status_code, found.json()["code"]) == (500, "internal")
    assert "private" not in found.text
    assert "RuntimeError('something private')" in capsys.readouterr().err
