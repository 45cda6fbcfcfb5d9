"""JSON Schemas as CRDs take them: every type said once, nothing referred to, no choices between types."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.dialects.native.schemas import JsonSchema

# Any tree. Only the records can say what fits there, and the webhook asks them.
ANYTHING: JsonSchema = {"x-kubernetes-preserve-unknown-fields": True}

_KEPT = (
    *("type", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
)


def structural(schema: JsonSchema, definitions: JsonSchema, inside: tuple[str, ...] = ()) -> JsonSchema:
    """A schema without references. inside are the parts that it is in: one that is inside itself is cut there.

    Defaults are left out: an API server would write them into what people wrote (R2-16).
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in inside:
            return dict(ANYTHING)
        found = structural(definitions[name], definitions, (*inside, name))
        return _described(found, schema)
    if "anyOf" in schema:
        choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return _described(_choice(choices, definitions, inside), schema)
    if "const" in schema:
        schema = {"type": "string", "enum": [schema["const"]]}
    if "enum" in schema and "type" not in schema:
        schema = {**schema, "type": "string"}
    if schema.get("type") == "object":
        return _described(_object(schema, definitions, inside), schema)
    if "type" not in schema:
        return _described(dict(ANYTHING), schema)
    found = {key: schema[key] for key in _KEPT if key in schema}
    if "pattern" in schema:
        found["pattern"] = go_pattern(schema["pattern"])
    if "items" in schema:
        found["items"] = structural(schema["items"], definitions, inside)
    elif schema["type"] == "array":
        found["items"] = dict(ANYTHING)
    return found


def go_pattern(pattern: str) -> str:
    """In Go $ is the very end of a text, as \\Z is in Python."""
    return pattern.replace(r"\Z", "$")


def _object(schema: JsonSchema, definitions: JsonSchema, inside: tuple[str, ...]) -> JsonSchema:
    others = schema.get("additionalProperties")
    found: JsonSchema = {"type": "object"}
    if schema.get("properties"):
        fields = schema["properties"].items()
        found["properties"] = {name: structural(each, definitions, inside) for name, each in fields}
        if schema.get("required"):
            found["required"] = schema["required"]
    elif isinstance(others, dict) and others:
        found["additionalProperties"] = structural(others, definitions, inside)
    elif others is not False:
        found |= ANYTHING
    return found


def _choice(choices: Sequence[JsonSchema], definitions: JsonSchema, inside: tuple[str, ...]) -> JsonSchema:
    if len(choices) == 1:
        return structural(choices[0], definitions, inside)
    types = {each.get("type") for each in choices}
    if types == {"integer", "string"}:
        return {"x-kubernetes-int-or-string": True}
    return dict(ANYTHING)


def _described(found: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """With the description of where it is used, if there is one: it says more than that of the part."""
    description = schema.get("description")
    return {**found, "description": description} if description else found
