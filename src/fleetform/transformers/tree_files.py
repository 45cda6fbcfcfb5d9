"""Files of Crane's folders: what they are called, how they are written, and which of an earlier run are stale."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fleetform.outside.files import OUTPUT_MARK, write_file

TRANSFORM, WHITEOUT, IGNORED, NEW = "transform-", ".wh.", "ignored-", "new-"
ENDINGS = (".yaml", ".yml", ".json")
# What was being written when a run was killed.
_UNFINISHED = re.compile(r"\..*\.part")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def beside(place: str, prefix: str) -> str:
    """The place of a file that stands for another one."""
    folder, _, name = place.rpartition("/")
    return f"{folder}/{prefix}{name}" if folder else f"{prefix}{name}"


def resource_file(tree: Mapping[str, Any]) -> str:
    """`Kind_group_version_namespace_name.yaml`, as an export calls it."""
    group, _, version = str(tree.get("apiVersion")).rpartition("/")
    metadata = tree["metadata"]
    parts = (tree["kind"], group, version, metadata.get("namespace") or "clusterscoped", metadata.get("name"))
    return f"{safe('_'.join(map(str, parts)))}.yaml"


def safe(name: str) -> str:
    """A name that leads nowhere else; what had to be changed is told apart by a hash."""
    found = _UNSAFE.sub("-", name).lstrip(".")[:200] or "-"
    return found if found == name else f"{found}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def files_below(folder: str) -> Iterator[str]:
    """The places of all files below a folder, in order."""
    found = []
    for root, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(root, name), folder).replace(os.sep, "/") for name in names]
    yield from sorted(found, key=lambda place: place.split("/"))


class OutputTree:
    """A folder that a run fills: each file is written whole or not at all, and what only an earlier run wrote goes.

    A file is an earlier run's by its prefix, or without prefixes by the list that every run keeps.
    """

    def __init__(self, folder: str, prefixes: tuple[str, ...] = ()) -> None:
        self.folder, self._prefixes = folder, prefixes
        self._list = os.path.join(folder, OUTPUT_MARK)
        self.written: set[str] = set()

    def announce(self, places: Iterable[str]) -> None:
        """List what may be written, before anything is: a run that is killed leaves no file that nobody knows."""
        self._write_list({*self._listed(), *places})

    def write(self, place: str, text: str) -> None:
        write_file(os.path.join(self.folder, place), text)
        self.written.add(place)

    def finish(self) -> list[str]:
        """Remove what this run did not write; the places of what was removed."""
        listed = set() if self._prefixes else self._listed()
        stale = [place for place in files_below(self.folder) if self._is_stale(place, listed)]
        for place in stale:
            os.unlink(os.path.join(self.folder, place))
        for root, _, _ in os.walk(self.folder, topdown=False):
            if root != self.folder and not os.listdir(root):
                os.rmdir(root)
        if not self._prefixes:
            self._write_list(self.written)
        return [place for place in stale if not _UNFINISHED.fullmatch(os.path.basename(place))]

    def _is_stale(self, place: str, listed: set[str]) -> bool:
        name = place.rpartition("/")[2]
        if _UNFINISHED.fullmatch(name):
            return True
        ours = name.startswith(self._prefixes) if self._prefixes else place in listed
        return ours and place not in self.written

    def _listed(self) -> set[str]:
        try:
            with open(self._list, encoding="utf-8") as file:
                return set(file.read().splitlines())
        except FileNotFoundError:
            return set()

    def _write_list(self, places: set[str]) -> None:
        write_file(self._list, "".join(f"{place}\n" for place in sorted(places)))
