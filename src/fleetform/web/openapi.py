"""The addresses as an OpenAPI 3.1 document, made from the records."""

from __future__ import annotations

from typing import Any

import msgspec

from fleetform import __version__
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.problem import Problem
from fleetform.web.endpoints import DOCUMENT, EVENTS, PROBES, READS, REQUESTS, Read, Request
from fleetform.web.queries import Query
from fleetform.web.streams import EVENT_DATA

_REF = "#/components/schemas/{name}"
# A piece of a JSON document: what it holds is OpenAPI's to say.
_Tree = dict[str, Any]


def openapi_document() -> _Tree:
    answers = {
        *(each.record for each in READS if each.record is not None),
        *(item for each in READS for item in each.items),
    }
    requests = {record for each in REQUESTS for record in (*each.records, each.body)}
    records: set[type] = {*answers, *requests, Problem, Finding, *EVENT_DATA.values()}
    types = sorted(records, key=lambda each: each.__name__)
    refs, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    by_type: dict[type, _Tree] = dict(zip(types, refs, strict=True))
    paths: dict[str, _Tree] = {}
    for read in READS:
        paths.setdefault(read.path, {})["get"] = _reading(read, by_type)
    for request in REQUESTS:
        paths.setdefault(request.path, {})["post"] = _requesting(request, by_type)
    told = {"description": "Yes.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    for path, summary in zip(PROBES, ("Does the API run?", "Can it answer yet?"), strict=True):
        responses = {"200": told} if path == PROBES[0] else {"200": told, "default": _problem(by_type)}
        paths[path] = {"get": {"summary": summary, "security": [], "responses": responses}}
    paths[EVENTS] = {"get": _events(by_type)}
    whole = {"200": {"description": "It.", "content": {"application/json": {"schema": {"type": "object"}}}}}
    paths[DOCUMENT] = {"get": {"summary": "This document.", "responses": whole}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Fleetform", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _reading(endpoint: Read, refs: dict[type, _Tree]) -> _Tree:
    return {
        "summary": endpoint.summary,
        "parameters": [*_in_path(endpoint.path), *_in_query(endpoint.query)],
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": _answer(endpoint, refs)}}},
            "default": _problem(refs),
        },
    }


def _answer(endpoint: Read, refs: dict[type, _Tree]) -> _Tree:
    if endpoint.record is not None:
        return refs[endpoint.record]
    items = [refs[each] for each in endpoint.items]
    return {
        "type": "object",
        "properties": {
            "kind": {"const": "List"},
            "items": {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}},
            "diagnostics": {"type": "array", "items": refs[Finding]},
        },
        "required": ["kind", "items", "diagnostics"],
    }


def _requesting(endpoint: Request, refs: dict[type, _Tree]) -> _Tree:
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A repetition with the same key gets the first answer.",
        "schema": {"type": "string", "maxLength": 200},
    }
    seen = {
        "name": "If-Match",
        "in": "header",
        "description": "The ETag of the rollout; 412 if it is no longer as it was.",
        "schema": {"type": "string"},
    }
    answers = {"anyOf": [refs[each] for each in endpoint.records]}
    return {
        "summary": endpoint.summary,
        "parameters": [*_in_path(endpoint.path), key, seen],
        "requestBody": {"content": {"application/json": {"schema": refs[endpoint.body]}}},
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": answers}}},
            "default": _problem(refs),
        },
    }


def _events(refs: dict[type, _Tree]) -> _Tree:
    last = {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that was seen; what came after it is told first.",
        "schema": {"type": "string"},
    }
    data = ", ".join(f"`{name}` with {record.__name__}" for name, record in EVENT_DATA.items())
    told = f"Server-sent events, each with an id and its data: {data}."
    schema = {"anyOf": [refs[each] for each in dict.fromkeys(EVENT_DATA.values())]}
    return {
        "summary": "What changes, as it does.",
        "parameters": [last],
        "responses": {
            "200": {"description": told, "content": {"text/event-stream": {"schema": schema}}},
            "default": _problem(refs),
        },
    }


def _problem(refs: dict[type, _Tree]) -> _Tree:
    return {
        "description": "Why there is no answer.",
        "content": {"application/problem+json": {"schema": refs[Problem]}},
    }


def _in_path(path: str) -> list[_Tree]:
    if "{name}" not in path:
        return []
    return [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]


def _in_query(query: type[Query]) -> list[_Tree]:
    schema = msgspec.json.schema_components([query], ref_template=_REF)[1].get(query.__name__, {})
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        for name, each in schema.get("properties", {}).items()
    ]
