"""JSON Schemas of the kinds, made from their records."""

from __future__ import annotations

from typing import Any

import msgspec

from fleetform.dialects.native.spellings import FIELDS, REFERENCES
from fleetform.model.kinds import API_VERSION, Kind
from fleetform.model.kinds.base import Metadata

JsonSchema = dict[str, Any]


def schema_of(kind: Kind) -> JsonSchema:
    """The JSON Schema of one kind's manifests."""
    (metadata, spec), definitions = components(Metadata, kind.spec)
    required = ["apiVersion", "kind", "metadata", *(["spec"] if kind.spec_required else [])]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.name,
        "description": (kind.spec.__doc__ or "").strip(),
        "type": "object",
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind.name},
            "metadata": metadata,
            "spec": spec,
            "status": {"type": "object"},
        },
        "required": required,
        "additionalProperties": False,
        "$defs": definitions,
    }


def components(*records: type) -> tuple[tuple[JsonSchema, ...], JsonSchema]:
    """The schemas of records, and those of the parts that they refer to."""
    schemas, definitions = msgspec.json.schema_components(records, ref_template="#/$defs/{name}")
    _add_spellings(definitions)
    return schemas, definitions


def _add_spellings(definitions: JsonSchema) -> None:
    """Fields under the other names that are read, too, so that editors take them."""
    for name in ("Binding", "Output"):
        properties = definitions.get(name, {}).get("properties", {})
        for other, ours in REFERENCES.items():
            if ours in properties:
                properties[other] = {**properties[ours], "description": f"The same as {ours}."}
    for name, (other, ours) in (
        ("ObjectFieldRef", FIELDS["objectFieldRef"]),
        ("ClusterFieldRef", FIELDS["clusterFieldRef"]),
    ):
        if name in definitions:
            record = definitions[name]
            record["properties"][other] = {**record["properties"][ours], "description": f"The same as {ours}."}
            record["required"] = [each for each in record["required"] if each != ours]
            record["oneOf"] = [{"required": [ours]}, {"required": [other]}]
