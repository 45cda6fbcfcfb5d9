"""Folders that definitions render or catalogs read are no input of their own (S35)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache

from fleetform.engine.check.catalogs import holds_its_catalog
from fleetform.model.kinds.definition import CatalogSpec, PluginDefinitionSpec
from fleetform.model.objects import Object
from fleetform.ports.inputs import Document

_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml")
_REACHING = ("resources", "bases", "components")


def source_folders(objects: Iterable[Object[object] | None], documents: Iterable[Document] = ()) -> frozenset[str]:
    """The folders, and files, that definitions render or catalogs read, and those that kustomizations there reach."""
    folders: set[str] = set()
    for object_ in objects:
        if object_ is not None:
            folders.update(joined(object_, path) for path in _local_paths(object_.spec))
    reached: dict[str, list[str]] = {}
    for each in documents:
        if not each.origin.file.endswith(_KUSTOMIZATIONS):
            continue
        folder, name = os.path.split(each.origin.file)
        if name in _KUSTOMIZATIONS and isinstance(each.tree, dict):
            listed = [each.tree.get(field) for field in _REACHING]
            paths = [path for paths in listed if isinstance(paths, list) for path in paths if isinstance(path, str)]
            # Those inside its own folder are there anyway, but may reach others; of an address nothing is there, and
            # kustomize takes no absolute path.
            local = [path for path in paths if not os.path.isabs(path)]
            reached.setdefault(folder, []).extend(_from(folder, path) for path in local)
    waiting = [folder for folder in reached if below(os.path.join(folder, "x"), frozenset(folders))]
    while waiting:
        new = [each for each in reached.get(waiting.pop(), ()) if each not in folders]
        folders.update(new)
        waiting += new
    return frozenset(folders - {"."})


def joined(object_: Object[object], path: str) -> str:
    """A path that an object names, which is relative to its file."""
    return _from(os.path.dirname(object_.origin.file), path)


def _from(folder: str, path: str) -> str:
    """A path that is relative to a folder. One of a commit may lie outside the working directory: `git:REF/../DIR`."""
    revision, up, inside = folder.partition("/..") if folder.startswith("git:") else (folder, "", "")
    if not up:
        return os.path.normpath(os.path.join(folder, path))
    return f"{revision}/{os.path.normpath(os.path.join(f'..{inside}', path))}"


def names_folder(object_: Object[object] | None) -> bool:
    """Whether an object names a folder of this kind."""
    return object_ is not None and any(True for _ in _local_paths(object_.spec))


def local_sources(spec: PluginDefinitionSpec) -> Iterator[str]:
    """The folders, relative to its file, that a definition renders."""
    source = spec.source
    if source is None:
        return
    if source.helm is not None and "://" not in source.helm.repository:
        yield os.path.join(source.helm.repository, source.helm.chart)
    if source.kustomize is not None and source.kustomize.path is not None:
        yield source.kustomize.path
    if source.manifests is not None:
        yield source.manifests.path


def is_local(definition: Object[PluginDefinitionSpec]) -> bool:
    return any(True for _ in local_sources(definition.spec))


def _local_paths(spec: object) -> Iterator[str]:
    if isinstance(spec, PluginDefinitionSpec):
        yield from local_sources(spec)
    if isinstance(spec, CatalogSpec):
        directories = [each.directory for each in spec.sources if each.directory is not None]
        yield from (each for each in directories if not holds_its_catalog(each))


def below(file: str, folders: frozenset[str]) -> bool:
    """Whether a file is one of some folders and files, or in one of them."""
    return bool(folders) and (file in folders or _is_below(os.path.dirname(file), folders))


@lru_cache(4096)
def _is_below(folder: str, folders: frozenset[str]) -> bool:
    """Whether a folder is one of some, or in one of them: many files have one folder."""
    while folder:
        if folder in folders:
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return False
