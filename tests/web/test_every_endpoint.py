"""What holds for every address of the table: tags, pages, keys, conditions, and what the document says."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fleetform.ports.delivery import Failure
from fleetform.web.endpoints import BASE, READS, REQUESTS, Read, Request
from fleetform.web.queries import ListQuery
from support.api import ServedPlane
from web.test_answers import FILES

QUERIES = {
    f"{BASE}/explain": "?plugin=web&cluster=eu-1",
    f"{BASE}/history": "?cluster=eu-2",
}
BODIES: dict[str, dict[str, Any]] = {"approve": {"stage": "gold"}, "start": {"supersede": True}}
LISTS = [each for each in READS if each.query is ListQuery]


def address(read: Read) -> str:
    return read.path.replace("{name}", "web") + QUERIES.get(read.path, "")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> ServedPlane:
    """For what changes nothing."""
    return fresh(tmp_path_factory.mktemp("served"))


def fresh(folder: Path) -> ServedPlane:
    found = ServedPlane(folder, FILES)
    found.plane.settle()
    return found


@pytest.mark.parametrize("read", READS, ids=lambda each: each.path)
def test_an_answer_is_as_the_document_says(served: ServedPlane, read: Read) -> None:
    document = served.get("openapi.json")
    schema = document["paths"][read.path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    answer = served.send("GET", address(read))
    assert answer.status_code == 200, answer.text
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())
    problem = {**document["components"]["schemas"]["Problem"], "components": document["components"]}
    odd = served.send("GET", f"{address(read)}{'&' if '?' in address(read) else '?'}nonsense=1")
    assert odd.status_code == 400
    jsonschema.Draft202012Validator(problem).validate(odd.json())


@pytest.mark.parametrize("read", READS, ids=lambda each: each.path)
def test_parameters_are_those_that_the_document_names(served: ServedPlane, read: Read) -> None:
    parameters = served.get("openapi.json")["paths"][read.path]["get"].get("parameters", [])
    told = {each["name"] for each in parameters if each["in"] == "query"}
    assert told == set(read.query.__struct_encode_fields__)


@pytest.mark.parametrize("read", READS, ids=lambda each: each.path)
def test_a_tag_spares_an_answer_that_is_known(served: ServedPlane, read: Read) -> None:
    first = served.send("GET", address(read))
    assert first.headers["vary"] == "Authorization"
    if "etag" not in first.headers:
        # Of the time of the question, or of what is no part of a view.
        untagged = {f"{BASE}/{name}" for name in ("why", "history", "audit", "notifications", "whoami")}
        assert read.path in {*untagged, "/version"}
        return
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        again = served.send("GET", address(read), headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert served.send("GET", address(read), headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("read", LISTS, ids=lambda each: each.path)
def test_pages_come_from_one_view(tmp_path: Path, read: Read) -> None:
    served = fresh(tmp_path)
    whole = served.send("GET", read.path).json()["items"]
    first = served.send("GET", f"{read.path}?limit=1")
    pages, tags = first.json()["items"], {first.headers["etag"]}
    served.plane.files.files["clusters.yaml"] = FILES["clusters.yaml"].replace("eu-1", "au-1")
    served.plane.settle()
    while (following := first.links.get("next", {}).get("url")) is not None:
        first = served.send("GET", following)
        pages += first.json()["items"]
        tags.add(first.headers["etag"])
    assert (pages, len(tags)) == (whole, 1)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.verb)
def test_a_request_with_a_key_is_carried_out_once(tmp_path: Path, request_: Request) -> None:
    served = fresh(tmp_path)
    body = BODIES.get(request_.verb, {})
    first = served.ask("web", request_.verb, key="one", **body)
    version = served.plane.store.version()
    again = served.ask("web", request_.verb, key="one", **body)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert served.plane.store.version() == version
    assert len(list(served.plane.store.audit())) == 1
    other = served.ask("web", request_.verb, key="one", **{**body, "reason": "another"})
    assert other.status_code == 422
    odd = served.send("POST", f"{BASE}/rollouts/web/{request_.verb}", json=body, headers={"Idempotency-Key": "a b"})
    assert odd.status_code == 400


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.verb)
def test_a_request_about_something_that_is_another_by_now_does_nothing(tmp_path: Path, request_: Request) -> None:
    served = fresh(tmp_path)
    seen = served.send("GET", f"{BASE}/rollouts/web").headers["etag"]
    served.ask("web", "pause", reason="INC-1")
    body = BODIES.get(request_.verb, {})
    version = served.plane.store.version()

    def ask(tag: str) -> int:
        path = f"{BASE}/rollouts/web/{request_.verb}"
        return served.send("POST", path, json={**body, "dryRun": True}, headers={"If-Match": tag}).status_code

    assert ask(seen) == 412
    assert served.plane.store.version() == version
    now = served.send("GET", f"{BASE}/rollouts/web").headers["etag"]
    assert [ask(each) == 412 for each in (now, f'"x", {now}', "*", '"x"')] == [False, False, False, True]


def test_time_that_passes_and_a_delivery_that_fails_are_no_other_rollout(tmp_path: Path) -> None:
    served = fresh(tmp_path)
    served.plane.wait(hours=2)

    def asked(tag: str) -> int:
        body = {"stage": "gold", "dryRun": True}
        return served.send("POST", f"{BASE}/rollouts/web/approve", json=body, headers={"If-Match": tag}).status_code

    waiting = served.send("GET", f"{BASE}/rollouts/web")
    assert waiting.json()["stages"][1]["approvals"]["decideBy"] is not None
    served.plane.clock.at += timedelta(minutes=5)
    assert asked(waiting.headers["etag"]) == 200
    served.plane.targets.broken["eu-1"] = Failure("permission denied", "check the Secret login")
    served.ask("web", "approve", stage="gold")
    served.plane.wait(seconds=20)
    stuck = served.send("GET", f"{BASE}/rollouts/web")
    assert [each["trouble"] for each in stuck.json()["causes"] if each["trouble"]], stuck.json()
    assert asked(stuck.headers["etag"]) != 412
    assert asked(waiting.headers["etag"]) == 412


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.verb)
def test_the_answer_to_a_request_is_as_the_document_says(tmp_path: Path, request_: Request) -> None:
    served = fresh(tmp_path)
    document = served.get("openapi.json")
    method = document["paths"][request_.path]["post"]
    assert {each["name"] for each in method["parameters"]} == {"name", "Idempotency-Key", "If-Match"}
    answer = served.ask("web", request_.verb, **BODIES.get(request_.verb, {}))
    good = answer.status_code == 200
    content = method["responses"]["200" if good else "default"]["content"]
    schema = content["application/json" if good else "application/problem+json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())
