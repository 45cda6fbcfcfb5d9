"""The OpenAPI document says what the API has, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from starlette.routing import Route

from fleetform.web.openapi import openapi_document
from support.api import ServedPlane
from support.fleets import BASE


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, BASE)
    found.plane.settle()
    return found


def test_it_has_every_route_and_no_other(served: ServedPlane) -> None:
    routes = served.app._inner.routes  # type: ignore[attr-defined]
    there = {(each.path, method) for each in routes if isinstance(each, Route) for method in each.methods or ()}
    document = openapi_document()
    told = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert told == {(path, method) for path, method in there if method != "HEAD"}


def test_every_reference_in_it_leads_somewhere() -> None:
    document = openapi_document()
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert names <= set(document["components"]["schemas"])
    assert {"Explanation", "Why", "RolloutAnswer", "Problem", "ListedPlugin"} <= names


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/v1/plugins", ""),
        ("/api/v1/clusters", ""),
        ("/api/v1/rollouts", ""),
        ("/api/v1/explain", "?plugin=web&cluster=eu-1"),
        ("/api/v1/why", "?cluster=eu-1"),
        ("/api/v1/plan", ""),
        ("/api/v1/history", "?cluster=eu-1"),
        ("/version", ""),
    ],
)
def test_answers_are_as_it_says(served: ServedPlane, path: str, query: str) -> None:
    document: dict[str, Any] = served.get("openapi.json")
    schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": document["components"]})
    validator.validate(served.send("GET", path + query).json())


def test_parameters_are_those_that_are_taken(served: ServedPlane) -> None:
    parameters = served.get("openapi.json")["paths"]["/api/v1/history"]["get"]["parameters"]
    assert [(each["name"], each["required"]) for each in parameters] == [
        ("cluster", True),
        ("organization", False),
        ("plugin", False),
        ("at", False),
    ]


def test_every_kind_of_event_is_told() -> None:
    answer = openapi_document()["paths"]["/api/v1/events"]["get"]["responses"]["200"]
    told = {each["$ref"].rpartition("/")[2] for each in answer["content"]["text/event-stream"]["schema"]["anyOf"]}
    assert told == {"Begun", "ChangeNotice", "Notification"}
    assert all(f"`{each}`" in answer["description"] for each in ("ready", "change", "notification", "reset"))
