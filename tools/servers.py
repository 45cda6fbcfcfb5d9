"""Builds etcd and kube-apiserver for the tests: `python -m tools.servers`; with `flux` Flux's controllers, too.

The recipes are in tests/servers: Go modules, pinned with their checksums. The programs are in the user's cache folder
under a name that is derived from the recipe, and are built once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tools.go import go
from tools.made_once import made_once

RECIPES = Path(__file__).parent.parent / "tests" / "servers"


class Program(NamedTuple):
    """A server, the package that is its main one, and how it is built."""

    name: str
    package: str
    takes: str
    flags: tuple[str, ...] = ()
    # Told at link time, as released binaries are: the API server says its version, and others go by it.
    variables: tuple[str, ...] = ()


_VERSION = "k8s.io/component-base/version"

ETCD = Program("etcd", "go.etcd.io/etcd/server/v3", "about a minute")
KUBERNETES = Program(
    "kubernetes",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "about five minutes",
    ("-tags", "grpcnotrace"),
    (f"{_VERSION}.gitVersion=v1.36.3", f"{_VERSION}.gitMajor=1", f"{_VERSION}.gitMinor=36"),
)
# In the order in which they are built: each finds most of its parts built for the one before.
FLUX = {
    name: Program(name, f"github.com/fluxcd/{name}", takes)
    for name, takes in (
        ("source-controller", "about six minutes"),
        ("helm-controller", "about three minutes"),
        ("kustomize-controller", "about two minutes"),
    )
}


class ServersError(Exception):
    """Why a server cannot be built."""


def etcd() -> Path:
    return _built(ETCD)


def kube_apiserver() -> Path:
    return _built(KUBERNETES)


def flux_controllers() -> Mapping[str, Path]:
    """Flux's controllers, by their names."""
    return {name: _built(program) for name, program in FLUX.items()}


def _built(program: Program) -> Path:
    recipe = RECIPES / program.name
    content = b"".join((recipe / name).read_bytes() for name in ("go.mod", "go.sum")) + repr(program).encode()
    announcement = f"building {program.name} for the tests: {program.takes}, once"
    return made_once(program.name, content, announcement, lambda into: _build(program, recipe, into)) / program.name


def _build(program: Program, recipe: Path, into: Path) -> None:
    link = " ".join(("-s", "-w", *(f"-X {each}" for each in program.variables)))
    command = [go(), "build", "-trimpath", "-mod=readonly", *program.flags, "-ldflags", link]
    with tempfile.TemporaryDirectory() as folder:
        # A copy: Go takes a folder for a part of the module that it lies in.
        for name in ("go.mod", "go.sum"):
            (Path(folder) / name).write_bytes((recipe / name).read_bytes())
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        build = [*command, "-o", str(into / program.name), program.package]
        ran = subprocess.run(build, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise ServersError(f"{program.name} cannot be built: {ran.stderr.strip()[-2000:]}")


def main() -> int:
    try:
        print(etcd())
        print(kube_apiserver())
        if "flux" in sys.argv[1:]:
            print(*flux_controllers().values(), sep="\n")
    except ServersError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
