"""A native manifest that convert writes."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass

from fleetform.model.answers.base import JsonMap
from fleetform.model.objects import Object
from fleetform.syntax.yaml_out import write_documents

_LOCAL_PATHS = (("helm", "repository"), ("kustomize", "path"), ("manifests", "path"))


@dataclass(frozen=True, slots=True)
class Converted:
    """A native manifest: where it goes below the output folder, and what it holds."""

    path: str
    object: Object[object]
    changed: bool
    tree: JsonMap
    release: tuple[str, str] | None = None

    @property
    def whole(self) -> JsonMap:
        """The manifest, with the release written out: what it is called by default differs from system to system."""
        tree = copy.deepcopy(self.tree)
        if self.release is not None:
            template = tree["spec"].get("plugin", tree["spec"])
            template.setdefault("releaseName", self.release[0])
            template.setdefault("releaseNamespace", self.release[1])
        return tree

    def text(self, folder: str | None = None) -> str:
        """The manifest; local paths of its source are rewritten for the folder that it is written to."""
        tree = self.whole
        source = (tree.get("spec", {}).get("source") or {}) if folder is not None else {}
        before, after = os.path.dirname(self.object.origin.file), os.path.dirname(os.path.join(folder or "", self.path))
        for kind, field in _LOCAL_PATHS:
            path = source.get(kind, {}).get(field)
            if path is not None and "://" not in path and not os.path.isabs(path):
                source[kind][field] = os.path.relpath(os.path.join(before or ".", path), after or ".")
        return write_documents([tree])
