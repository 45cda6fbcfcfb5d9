"""Writes what is made from the records: JSON Schemas for editors, CRDs, admission, and the reference pages of kinds and
codes.

With --check nothing is written; it fails where a file is out of step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect

from fleetform.dialects.native.crds import crds
from fleetform.dialects.native.schemas import schema_of
from fleetform.model.kinds import API_VERSION, KINDS
from fleetform.model.kinds.status import Status
from fleetform.model.reasons import DIAGNOSTICS, TIMING_GATES, VALIDITY_GATES
from fleetform.operator.admission.manifests import Installed, policies, webhook_configuration
from fleetform.syntax.yaml_out import write_yaml

ROOT = Path(__file__).parent.parent


def files() -> dict[Path, str]:
    """Every file that is made, and its text."""
    made = {ROOT / "schemas" / f"{kind.name.lower()}.json": _json(schema_of(kind)) for kind in KINDS.values()}
    made[ROOT / "schemas" / "all.json"] = _json(_any_kind())
    for crd in crds():
        made[ROOT / "deploy" / "crds" / f"{crd['spec']['names']['plural']}.yaml"] = write_yaml(crd)
    admission = ROOT / "deploy" / "admission"
    made[admission / "webhook.yaml"] = write_yaml(webhook_configuration(Installed()))
    made[admission / "policies.yaml"] = "---\n".join(write_yaml(each) for each in policies(Installed()))
    # A chart has everything that it needs in itself.
    chart = ROOT / "deploy" / "chart" / "files"
    made |= {chart / path.relative_to(ROOT / "deploy"): text for path, text in made.items() if _is_deployed(path)}
    made[chart / "alerts.yaml"] = (ROOT / "deploy" / "alerts.yaml").read_text(encoding="utf-8")
    made[ROOT / "docs" / "reference" / "kinds.md"] = "".join(_kinds_page())
    made[ROOT / "docs" / "reference" / "codes.md"] = "".join(_codes_page())
    return made


def _is_deployed(path: Path) -> bool:
    return path.is_relative_to(ROOT / "deploy")


def _json(tree: dict[str, Any]) -> str:
    # JSON Schema's patterns are ECMA's, where $ is the end of the text and \\Z is not known.
    return json.dumps(tree, indent=2, ensure_ascii=False).replace("\\\\Z", "$") + "\n"


def _any_kind() -> dict[str, Any]:
    """One schema for folders that hold several kinds: picked by the kind."""
    branches = [
        {
            "if": {
                "properties": {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind.name}},
                "required": ["apiVersion", "kind"],
            },
            "then": {"$ref": f"{kind.name.lower()}.json"},
        }
        for kind in KINDS.values()
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Fleetform", "allOf": branches}


def _kinds_page() -> Iterator[str]:
    yield "# Kinds, field by field\n\nMade from the records by `make schemas`; do not edit.\n\n"
    yield f"Every object has `apiVersion: {API_VERSION}`, `kind`, `metadata` and `spec`.\n"
    parts: dict[str, inspect.StructType] = {}
    for kind in KINDS.values():
        text = (kind.spec.__doc__ or "").strip()
        written = " Written by Fleetform." if kind.written_by_fleetform and "written by Fleetform" not in text else ""
        yield f"\n## {kind.name}\n\n{text}{written}\n"
        yield from _record(_struct(kind.spec), parts)
        if kind.status is not Status:
            yield f"\nIts status, on an API server: [{kind.status.__name__}](#{kind.status.__name__.lower()}).\n"
            parts[kind.status.__name__] = _struct(kind.status)
    yield "\n## Parts\n"
    pages: dict[str, str] = {}
    while pending := parts.keys() - pages.keys():
        for name in pending:
            text = (parts[name].cls.__doc__ or "").strip()
            pages[name] = f"\n### {name}\n\n{text}\n" + "".join(_record(parts[name], parts))
    yield from (pages[name] for name in sorted(pages))


def _struct(record: type) -> inspect.StructType:
    found = inspect.type_info(record)
    assert isinstance(found, inspect.StructType)
    return found


def _record(record: inspect.StructType, parts: dict[str, inspect.StructType]) -> Iterator[str]:
    """The table of a record's fields; the records it names are added to parts."""
    yield "\n| field | type | |\n|---|---|---|\n"
    for field in record.fields:
        text = ""
        if isinstance(field.type, inspect.Metadata):
            text = (field.type.extra_json_schema or {}).get("description", "")
        required = " (required)" if field.required else ""
        yield f"| `{field.encode_name}` | {_type(field.type, parts)} | {text}{required} |\n"


def _type(type_: inspect.Type, parts: dict[str, inspect.StructType]) -> str:
    if isinstance(type_, inspect.Metadata):
        return _type(type_.type, parts)
    if isinstance(type_, inspect.UnionType):
        return " or ".join(_type(each, parts) for each in type_.types if not isinstance(each, inspect.NoneType))
    if isinstance(type_, inspect.ListType):
        return f"list of {_type(type_.item_type, parts)}"
    if isinstance(type_, inspect.DictType):
        return f"map of {_type(type_.value_type, parts)}"
    if isinstance(type_, inspect.StructType):
        name = type_.cls.__name__
        parts[name] = type_
        return f"[{name}](#{name.lower()})"
    if isinstance(type_, inspect.LiteralType):
        return ", ".join(f"`{value}`" for value in type_.values)
    names = {"StrType": "text", "IntType": "whole number", "FloatType": "number", "BoolType": "true or false"}
    return names.get(type(type_).__name__, "anything")


def _codes_page() -> Iterator[str]:
    yield "# Codes\n\nMade from the code by `make schemas`; do not edit.\n\n"
    yield "## Findings\n\nWhat `validate` and others report, by code.\n\n| code | what it means |\n|---|---|\n"
    for code, text in sorted(DIAGNOSTICS.items()):
        yield f"| `{code}` | {text} |\n"
    yield "\n## Gates\n\nWhat can keep a plugin from its target: a closed list.\n\n"
    yield f"- validity: {', '.join(f'`{gate}`' for gate in sorted(VALIDITY_GATES))}\n"
    yield f"- timing: {', '.join(f'`{gate}`' for gate in sorted(TIMING_GATES))}\n"


def main() -> int:
    made = files()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of step with the records: run `make schemas`")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
