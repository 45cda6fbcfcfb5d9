"""Plain manifests: every object of every file of a folder, in the order of the files' paths."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fleetform.artifacts.kustomizations import NAMES
from fleetform.load.inputs import ENDINGS
from fleetform.renderers.failures import RenderError
from fleetform.renderers.parse import DocumentError, objects_in
from fleetform.syntax.trees import YamlMap


def read_manifests(files: Mapping[str, bytes], folder: str) -> list[YamlMap]:
    """The objects of files, by their paths in a folder; messages show the paths below it."""
    objects: list[YamlMap] = []
    for path in sorted(files, key=lambda path: path.split("/")):
        name = os.path.join(folder, path)
        if path in NAMES:
            raise RenderError(f"{name}: the folder is a kustomization", "use source.kustomize for it")
        if not path.endswith(ENDINGS):
            continue
        try:
            objects += objects_in(files[path].decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise RenderError(f"{name} is not UTF-8", "save it as UTF-8") from error
        except DocumentError as error:
            raise RenderError(f"{name}:{error.line}: {error.message}", error.hint or "check the file") from error
    return objects
