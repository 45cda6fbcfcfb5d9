"""Plain manifests: every object of every file of a folder, in the order of the files' paths."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fleetform.catalogs.kustomizations import NAMES
from fleetform.load.sources import ENDINGS
from fleetform.renderers.failures import RenderError
from fleetform.renderers.objects import DocumentError, Tree, objects_in


def read_manifests(files: Mapping[str, bytes], folder: str) -> list[Tree]:
    """The objects of files, by their paths in a folder, which messages call so."""
    objects: list[Tree] = []
    for path in sorted(files, key=lambda path: path.split("/")):
        name = os.path.join(folder, path)
        if path in NAMES:
            raise RenderError(f"{name}: the folder holds a kustomization", "use source.kustomize for it")
        if path.endswith(ENDINGS):
            objects += _read_file(name, files[path])
    return objects


def _read_file(path: str, content: bytes) -> list[Tree]:
    try:
        return list(objects_in(content.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise RenderError(f"{path} is not UTF-8", "save it as UTF-8") from error
    except DocumentError as error:
        raise RenderError(f"{path}:{error.line}: {error.message}", error.hint or "check the file") from error
