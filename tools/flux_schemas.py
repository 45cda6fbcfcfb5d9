"""The schemas of Flux's objects, as its CRDs publish them, and a check of objects against them.

The CRDs lie in the Go modules of Flux's controllers. They are fetched once, by Go, into the user's cache folder, under
a name made of the versions and checksums.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from cel_expr_python import cel
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

from tools.go import go
from tools.made_once import made_once


class Module(NamedTuple):
    """A module of a controller, the checksum that Go knows it by, and those of its CRDs that are asked for."""

    path: str
    version: str
    sum: str
    crds: tuple[str, ...]


MODULES = (
    Module(
        "github.com/fluxcd/source-controller",
        "v1.9.4",
        "h1:psO6g4NTAMl3GD9gL8TMF3shM939XhTjFvlQXCK3pZ4=",
        (
            # The controller starts with all of its kinds, or not at all.
            "source.toolkit.fluxcd.io_buckets.yaml",
            "source.toolkit.fluxcd.io_externalartifacts.yaml",
            "source.toolkit.fluxcd.io_gitrepositories.yaml",
            "source.toolkit.fluxcd.io_helmcharts.yaml",
            "source.toolkit.fluxcd.io_helmrepositories.yaml",
            "source.toolkit.fluxcd.io_ocirepositories.yaml",
        ),
    ),
    Module(
        "github.com/fluxcd/helm-controller",
        "v1.6.3",
        "h1:MSiDP/s8xRSkO3g11vBiDStxfmJ5ZVdwDEpW7BSE/UA=",
        ("helm.toolkit.fluxcd.io_helmreleases.yaml",),
    ),
    Module(
        "github.com/fluxcd/kustomize-controller",
        "v1.9.5",
        "h1:/XY2zy3K7fntyppEXIHG7oRMzmfgIt50eJzUfaPX1Kc=",
        ("kustomize.toolkit.fluxcd.io_kustomizations.yaml",),
    ),
)

# ---- Fetching


def folder() -> Path:
    """The folder with the CRDs; they are fetched if they are not there."""
    return made_once(
        "flux-crds", repr(MODULES).encode(), "fetching Flux's CRDs for the tests: some seconds", _copy_crds
    )


def _copy_crds(into: Path) -> None:
    for module in MODULES:
        bases = _download(module) / "config" / "crd" / "bases"
        for name in module.crds:
            shutil.copyfile(bases / name, into / name)


def _download(module: Module) -> Path:
    """Where Go keeps a module, which it fetches if need be."""
    command = [go(), "mod", "download", "-json", f"{module.path}@{module.version}"]
    # Outside of any module: a go.mod nearby would count.
    with tempfile.TemporaryDirectory() as nowhere:
        ran = subprocess.run(command, cwd=nowhere, capture_output=True, text=True, check=False)
    answer = json.loads(ran.stdout or "{}")
    if "Dir" not in answer:
        raise RuntimeError(f"{module.path} cannot be fetched: {answer.get('Error') or ran.stderr.strip()}")
    if answer["Sum"] != module.sum:
        raise RuntimeError(f"{module.path}@{module.version} is not what it was: {answer['Sum']}, not {module.sum}")
    return Path(answer["Dir"])


# ---- From CRDs to JSON Schema

Schema = dict[str, Any]

_LABEL = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z"
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z", "maxLength": 253},
        "namespace": {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", "maxLength": 63},
        "labels": {"additionalProperties": {"type": "string", "pattern": _LABEL, "maxLength": 63}},
        "annotations": {"additionalProperties": {"type": "string"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}
_KEPT = ("type", "enum", "required", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_RULES = "x-kubernetes-validations"


class Schemas:
    """The schemas of Flux's objects, by apiVersion and kind."""

    def __init__(self, crds: Path) -> None:
        self._by_kind = dict(entry for path in sorted(crds.iterdir()) for entry in _schemas_in(path))

    def problems(self, manifest: dict[str, Any]) -> list[str]:
        """What an API server would refuse or drop of an object, each with its place."""
        schema = self._by_kind.get((manifest["apiVersion"], manifest["kind"]))
        if schema is None:
            return [f"no CRD knows {manifest['apiVersion']} {manifest['kind']}"]
        found = _Validator(schema).iter_errors(manifest)
        return sorted(f"{each.json_path}: {each.message}" for each in found)


def _schemas_in(path: Path) -> Iterator[tuple[tuple[str, str], Schema]]:
    spec = yaml.safe_load(path.read_text())["spec"]
    kind = spec["names"]["kind"]
    for version in spec["versions"]:
        schema = json_schema(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = _METADATA
        yield (f"{spec['group']}/{version['name']}", kind), schema


def json_schema(structural: Schema) -> Schema:
    """A schema of a CRD as JSON Schema. A field that an API server would silently drop is an error."""
    schema: Schema = {key: structural[key] for key in (*_KEPT, _RULES) if key in structural}
    if "pattern" in structural:
        # In Go $ is the very end of a text.
        schema["pattern"] = structural["pattern"].removesuffix("$") + r"\Z"
    if structural.get("x-kubernetes-int-or-string"):
        schema["type"] = ["integer", "string"]
    if structural.get("nullable"):
        schema["type"] = [schema["type"], "null"]
    if "items" in structural:
        schema["items"] = json_schema(structural["items"])
    if structural.get("type") == "object":
        _add_fields(schema, structural)
    return schema


def _add_fields(schema: Schema, structural: Schema) -> None:
    schema["properties"] = {name: json_schema(each) for name, each in structural.get("properties", {}).items()}
    others = structural.get("additionalProperties", False)
    if structural.get("x-kubernetes-preserve-unknown-fields"):
        others = True
    schema["additionalProperties"] = json_schema(others) if isinstance(others, dict) else others


# ---- The rules in CEL that schemas hold


def _check_rules(
    _validator: Any, rules: list[dict[str, str]], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    for each in rules:
        result = _compiled(each["rule"]).eval(data={"self": instance})
        if result.value() is not True:
            yield ValidationError(each.get("message", each["rule"]))


@cache
def _compiled(rule: str) -> Any:
    return cel.NewEnv(variables={"self": cel.Type.DYN}).compile(rule)


_Validator = extend(Draft202012Validator, {_RULES: _check_rules})  # type: ignore[no-untyped-call]
