"""Plain manifests: every object of every file of a folder, in the order of the files' paths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from fleetform.artifacts.kustomizations import NAMES
from fleetform.load.inputs import ENDINGS
from fleetform.renderers.failures import RenderError
from fleetform.renderers.parse import DocumentError, objects_in
from fleetform.syntax.trees import YamlMap
from fleetform.syntax.yaml_in import YamlDocument, read_stream

# Cheap to look for; most folders have none.
_MAY_BE_ODD = re.compile(r"""(?:^|[ \t?{,-])(?:y|n|yes|no|on|off)[ \t]*:""", re.I | re.M)


def odd_keys(files: Mapping[str, bytes], folder: str) -> tuple[str, ...]:
    """Keys such as `y` that are read as `true`, with their files and lines."""
    found = []
    for path in sorted(files):
        text = files[path].decode("utf-8-sig", "replace") if path.endswith(ENDINGS) else ""
        if _MAY_BE_ODD.search(text):
            documents = [each for each in read_stream(text) if isinstance(each, YamlDocument)]
            remarks = [remark for each in documents for remark in each.remarks]
            found += [f"{os.path.join(folder, path)}:{each.line}: {each.message}" for each in remarks]
    return tuple(found)


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
