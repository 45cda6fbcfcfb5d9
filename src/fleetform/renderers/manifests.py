"""Plain manifests: every object of every file of a folder, in the order of the files' paths."""

from __future__ import annotations

from collections.abc import Mapping

from fleetform.catalogs.kustomizations import NAMES
from fleetform.load.sources import ENDINGS
from fleetform.renderers.failures import RenderError
from fleetform.renderers.objects import DocumentError, Tree, objects_in


def read_manifests(files: Mapping[str, bytes]) -> list[Tree]:
    """The objects of files, by their paths."""
    objects: list[Tree] = []
    for path in sorted(files, key=lambda path: path.split("/")):
        if path in NAMES:
            raise RenderError(f"{path}: the folder holds a kustomization", "use source.kustomize for it")
        if path.endswith(ENDINGS):
            objects += _read_file(path, files[path])
    return objects


def _read_file(path: str, content: bytes) -> list[Tree]:
    try:
        return list(objects_in(content.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise RenderError(f"{path} is not UTF-8", "save it as UTF-8") from error
    except DocumentError as error:
        raise RenderError(f"{path}:{error.line}: {error.message}", error.hint or "check the file") from error
