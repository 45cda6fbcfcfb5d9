"""JSON Schemas as an API server takes them, form by form."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.dialects.native.structural import ANYTHING, structural

DEFINITIONS = {
    "Named": {
        "type": "object",
        "description": "the part",
        "properties": {"name": {"type": "string"}, "note": {"type": "string", "default": ""}},
        "required": ["name"],
    },
    "Chain": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Chain"}, "own": {"$ref": "#/$defs/Bare"}}},
    "Bare": {"type": "object", "properties": {"one": {"type": "integer"}}, "required": []},
}
NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "note": {"type": "string"}},
    "required": ["name"],
}
BARE = {"type": "object", "properties": {"one": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # Parts by name: the description of where one is used says more than its own.
        ({"$ref": "#/$defs/Named"}, {**NAMED, "description": "the part"}),
        ({"$ref": "#/$defs/Named", "description": "here"}, {**NAMED, "description": "here"}),
        ({"$ref": "#/$defs/Bare"}, BARE),
        # A part inside itself is cut there; what stands beside it is not.
        ({"$ref": "#/$defs/Chain"}, {"type": "object", "properties": {"next": ANYTHING, "own": BARE}}),
        # Choices: null is no choice, a number or a text is a type of its own, others are any tree.
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}, {"type": "string", "description": "d"}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"x-kubernetes-int-or-string": True}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "array"}]}, ANYTHING),
        (
            {"anyOf": [{"$ref": "#/$defs/Bare"}, {"type": "string"}], "description": "d"},
            {**ANYTHING, "description": "d"},
        ),
        # Words.
        ({"const": "All"}, {"type": "string", "enum": ["All"]}),
        ({"enum": ["a", "b"], "description": "d"}, {"type": "string", "enum": ["a", "b"], "description": "d"}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        # Objects: known fields, any names with one kind of value, anything, or nothing at all.
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"type": "object", "additionalProperties": {}}, {"type": "object", **ANYTHING}),
        ({"type": "object", "additionalProperties": True}, {"type": "object", **ANYTHING}),
        ({"type": "object"}, {"type": "object", **ANYTHING}),
        ({"type": "object", "additionalProperties": False}, {"type": "object"}),
        ({"type": "object", "properties": {}, "required": []}, {"type": "object", **ANYTHING}),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}, "description": "d"},
            {"type": "object", "properties": {"a": {"type": "null"}}, "description": "d"},
        ),
        # Lists, with and without the type of their items.
        (
            {"type": "array", "items": {"$ref": "#/$defs/Bare"}, "minItems": 1},
            {"type": "array", "items": BARE, "minItems": 1},
        ),
        ({"type": "array", "maxItems": 3}, {"type": "array", "items": ANYTHING, "maxItems": 3}),
        # Bounds are kept, defaults are not, and a pattern ends as patterns of Go do.
        (
            {"type": "integer", "minimum": 0, "maximum": 9, "default": 3},
            {"type": "integer", "minimum": 0, "maximum": 9},
        ),
        (
            {"type": "string", "pattern": r"\Aa\Z", "minLength": 1},
            {"type": "string", "pattern": r"\Aa$", "minLength": 1},
        ),
        # No type at all.
        ({}, ANYTHING),
        ({"description": "d"}, {**ANYTHING, "description": "d"}),
    ],
)
def test_a_schema_becomes_structural(written: dict[str, Any], expected: dict[str, Any]) -> None:
    assert structural(written, DEFINITIONS) == expected
