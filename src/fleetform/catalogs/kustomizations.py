"""All that a kustomization is made of: its own folder, and those beside it that it builds upon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fleetform.formats.yaml_in import YamlError, read_one

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

# What may name other folders; all that is named elsewhere must lie below the kustomization's own one.
_FIELDS = ("resources", "bases", "components", "generators", "transformers", "validators")


class Gathered(NamedTuple):
    """Files by their paths from the kustomization's folder (../base/a.yaml), and what it names and is not there."""

    files: dict[str, bytes]
    missing: tuple[str, ...] = ()


def gather(read: Callable[[str], Mapping[str, bytes]]) -> Gathered:
    """Everything that the kustomization in a folder is built from; read gives the files below a path from there."""
    files = dict(read("."))
    missing: list[str] = []
    todo, seen = ["."], set[str]()
    while todo:
        folder = todo.pop()
        if folder in seen:
            continue
        seen.add(folder)
        for reference in _references(files, folder):
            target = os.path.normpath(os.path.join(folder, reference))
            if target in files or _bring(files, target, read):
                todo.append(target)
            else:
                missing.append(f"{_path(folder, _file_in(files, folder) or '')} names {reference}")
    return Gathered(dict(sorted(files.items())), tuple(sorted(missing)))


def has_kustomization(files: Mapping[str, bytes]) -> bool:
    return _file_in(files, ".") is not None


def _bring(files: dict[str, bytes], target: str, read: Callable[[str], Mapping[str, bytes]]) -> bool:
    """Whether there is a folder at the target; its files are brought if they are not here."""
    if target == "." or any(name.startswith(f"{target}/") for name in files):
        return True
    # Everything below the kustomization's own folder is here, and absolute paths are none of its own.
    if not target.startswith(".."):
        return False
    brought = {_path(target, name): content for name, content in read(target).items()}
    files.update(brought)
    return bool(brought)


def _references(files: Mapping[str, bytes], folder: str) -> Iterator[str]:
    name = _file_in(files, folder)
    try:
        tree = read_one(files[name].decode("utf-8-sig")) if name is not None else None
    except (YamlError, UnicodeDecodeError):
        # kustomize itself says what is wrong with it.
        return
    for field in _FIELDS:
        listed = tree.get(field) if isinstance(tree, dict) else None
        for each in listed if isinstance(listed, list) else []:
            # What has several lines is the object itself.
            if isinstance(each, str) and "\n" not in each:
                yield each


def _file_in(files: Mapping[str, bytes], folder: str) -> str | None:
    return next((path for name in NAMES if (path := _path(folder, name)) in files), None)


def _path(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))
