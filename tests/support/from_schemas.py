"""Manifests by chance out of the JSON Schemas: every field of every kind, mostly of the right type."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from support.mutations import JUNK

_NAMES = ("a", "b", "c1", "c2", "web", "prod", "acme")
_VERSIONS = ("1.0.0", "1.1.0", "v1.2.3", "^1.0", ">=1, <2", "latest", "1.x", "0.0.0-rc.1")
_PATHS = ("replicas", "token", "m.k", "l[0]", "/m/k", "a.b.c")
_HOMES = ("acme", "acme", "acme", "default", "fleetform-system")
_DEEPEST = 9


class Kinds:
    """The kinds that there are schemas of."""

    def __init__(self, folder: Path) -> None:
        files = [each for each in sorted(folder.glob("*.json")) if each.stem != "all"]
        self._schemas: dict[str, dict[str, Any]] = {each.stem: json.loads(each.read_text()) for each in files}

    def some(self, dice: Random) -> list[Any]:
        """Up to three objects of each kind."""
        wild = dice.choice((0, 0.005, 0.02, 0.1))
        return [self._object(kind, dice, wild) for kind in self._schemas for _ in range(dice.randrange(4))]

    def _object(self, kind: str, dice: Random, wild: float) -> Any:
        schema = self._schemas[kind]
        tree = _Maker(schema.get("$defs", {}), dice, wild).make(schema)
        if isinstance(tree, dict) and dice.random() > wild:
            tree["metadata"] = {"name": dice.choice(_NAMES), "namespace": dice.choice(_HOMES)}
        return tree


class _Maker:
    def __init__(self, definitions: dict[str, Any], dice: Random, wild: float) -> None:
        self._definitions, self._dice, self._wild = definitions, dice, wild

    def make(self, schema: dict[str, Any], field: str = "", depth: int = 0) -> Any:
        dice = self._dice
        if depth > _DEEPEST or dice.random() < self._wild:
            return dice.choice(JUNK)
        if "$ref" in schema:
            return self.make(self._definitions[schema["$ref"].rpartition("/")[2]], field, depth + 1)
        if "const" in schema or "enum" in schema:
            return dice.choice(schema.get("enum") or [schema["const"]])
        if "anyOf" in schema:
            return self.make(dice.choice(schema["anyOf"]), field, depth)
        if schema.get("type") == "object":
            return self._map(schema, depth)
        if schema.get("type") == "array":
            return [self.make(schema.get("items", {}), field, depth + 1) for _ in range(dice.randrange(4))]
        return self._scalar(schema.get("type"), field)

    def _map(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        fields = schema.get("properties", {}).items()
        made = {
            name: self.make(each, name, depth + 1)
            for name, each in fields
            if name in required or self._dice.random() < 0.4
        }
        if isinstance(more := schema.get("additionalProperties"), dict):
            made |= {
                name: self.make(more, "", depth + 1) for name in self._dice.sample(_NAMES, self._dice.randrange(3))
            }
        return made

    def _scalar(self, type_: Any, field: str) -> Any:
        if type_ == "string":
            by_field = (
                _VERSIONS if "version" in field.lower() else _PATHS if field in ("path", "from", "to") else _NAMES
            )
            return self._dice.choice((*by_field, *(each for each in JUNK if isinstance(each, str))))
        return self._dice.choice(
            {"integer": (0, 1, 100, -1), "boolean": (True, False), "null": (None,)}.get(type_, JUNK)
        )
