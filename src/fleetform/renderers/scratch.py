"""Files of artifacts, written to a folder for tools that read folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from threading import Lock
from typing import NamedTuple, Self

from fleetform.artifacts.obtain import Artifact

# Each step up (`..`) that files of a kustomization take needs a folder above; no folder of theirs has this name.
_STEP = "_rendered_"


class Exported(NamedTuple):
    """A folder that was written, below a root of its own."""

    root: str
    folder: str


class Scratch:
    """A temporary folder of this run; each artifact is written into it once."""

    def __init__(self) -> None:
        self._whole = tempfile.TemporaryDirectory(prefix="fleetform-", ignore_cleanup_errors=True)
        self._exported: dict[str, Exported] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._whole.cleanup()

    def export(self, artifact: Artifact, files: Callable[[], Mapping[str, bytes]]) -> Exported:
        """An artifact as a folder; files are asked for once."""
        with self._lock:
            if artifact.digest not in self._exported:
                root = os.path.join(self._whole.name, str(len(self._exported)))
                contents = files()
                # Deep enough that paths which lead upwards stay below the root.
                upwards = max((name.split("/").count("..") for name in contents), default=0)
                folder = os.path.join(root, *([_STEP] * upwards))
                for name, content in contents.items():
                    path = os.path.normpath(os.path.join(folder, name))
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        file.write(content)
                self._exported[artifact.digest] = Exported(root, folder)
            return self._exported[artifact.digest]
