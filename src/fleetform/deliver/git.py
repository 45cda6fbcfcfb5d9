"""Delivery into a branch of a git repository: one commit for all that a pass delivers, built without a work tree.

Whoever pushes at the same time is not overwritten: the commit is built again on the branch's new end. A push whose
answer was lost is found at the next delivery, which then has nothing to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from fleetform.deliver.tree import INVENTORY, Inventory, edits, file_hash, folder_of, read_inventory
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.git import TreeEntry
from fleetform.outside.mirrors import Commit, Mirror
from fleetform.ports.delivery import Drift, Failure, Note, Parcel

_TRIES = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Branch(NamedTuple):
    """Where to: a branch, a folder of it ("" is the root), and whether commits are signed."""

    name: str = "main"
    folder: str = ""
    sign: bool = False


class GitDelivery:
    """A branch with `<folder>/<cluster>/<plugin>/` for each plugin. pause waits some seconds; it says how long."""

    def __init__(
        self,
        mirror: Mirror,
        branch: Branch,
        credentials: Callable[[], Credentials | None],
        pause: Callable[[float], None],
    ) -> None:
        self._mirror, self._branch, self._credentials, self._pause = mirror, branch, credentials, pause

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        pause = _FIRST_PAUSE
        try:
            for _ in range(_TRIES):
                self._mirror.update(self._credentials())
                tip = self._mirror.tip(self._branch.name)
                changed, failed = self._changes(_Tip(self._mirror, tip, self._branch.folder), parcels, removals)
                if not changed:
                    return failed
                message = note.text((*(each.key for each in parcels), *removals)) + "\n"
                commit = self._mirror.commit_files(tip, changed, message, _identity(), self._branch.sign)
                if self._mirror.push(commit, self._branch.name, self._credentials()):
                    return failed
                self._pause(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
        except OutsideError as error:
            failure = Failure(error.message, error.hint)
        else:
            failure = Failure(f"the branch {self._branch.name} moved {_TRIES} times meanwhile", "it is tried again")
        return dict.fromkeys((*(each.key for each in parcels), *removals), failure)

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        """Of the branch as it was last fetched, which is now."""
        self._mirror.update(self._credentials())
        return _Tip(self._mirror, self._mirror.tip(self._branch.name), self._branch.folder).drift(keys)

    def _changes(
        self, tip: _Tip, parcels: Sequence[Parcel], removals: Sequence[PluginKey]
    ) -> tuple[dict[str, bytes | None], dict[PluginKey, Failure]]:
        """The files that must become other than they are at the tip; and the parcels that cannot be delivered."""
        changed: dict[str, bytes | None] = {}
        failed: dict[PluginKey, Failure] = {}
        for parcel in parcels:
            inventory, present = tip.folder(parcel.key)
            if isinstance(inventory, Failure):
                failed[parcel.key] = inventory
                continue
            found = edits(parcel, inventory, present)
            if isinstance(found, Failure):
                failed[parcel.key] = found
                continue
            place = tip.place(parcel.key)
            changed.update({f"{place}/{name}": content for name, content in found.write.items()})
            changed.update({f"{place}/{name}": None for name in found.remove})
            if found.inventory != inventory:
                changed[f"{place}/{INVENTORY}"] = found.inventory.text()
        for key in removals:
            inventory, present = tip.folder(key)
            if isinstance(inventory, Failure):
                failed[key] = inventory
            elif inventory is not None and inventory.key == key:
                place, gone = tip.place(key), [name for name in inventory.files if name in present]
                changed.update({f"{place}/{name}": None for name in (*gone, INVENTORY)})
        return changed, failed


class _Tip:
    """The folders of plugins as they are at the end of a branch."""

    def __init__(self, mirror: Mirror, commit: str | None, folder: str) -> None:
        self._mirror, self._root = mirror, folder.strip("/")
        entries = mirror.entries(Commit(commit, ""), self._root) if commit is not None else []
        self._folders: dict[str, dict[str, TreeEntry]] = {}
        for entry in entries:
            place, _, name = entry.path.rpartition("/")
            self._folders.setdefault(place, {})[name] = entry

    def place(self, key: PluginKey) -> str:
        return f"{self._root}/{folder_of(key)}" if self._root else folder_of(key)

    def folder(self, key: PluginKey) -> tuple[Inventory | Failure | None, dict[str, str | None]]:
        """A plugin's inventory, and the names in its folder with the hashes of plain files."""
        place = self.place(key)
        found = self._folders.get(place, {})
        files = {name: entry.object for name, entry in found.items() if entry.is_file}
        contents = dict(zip(files, self._mirror.contents(list(files.values())), strict=True))
        try:
            inventory = read_inventory(contents.pop(INVENTORY, None))
        except ValueError as error:
            return Failure(f"{place}/{error}", "remove that folder from the branch, or restore it", refused=True), {}
        present: dict[str, str | None] = dict.fromkeys(found)
        present.update((name, file_hash(content)) for name, content in contents.items())
        return inventory, present

    def drift(self, keys: Sequence[PluginKey]) -> list[Drift]:
        """What differs from the inventories, of any number of plugins: two processes read all of it, and what many
        clusters have alike is read once."""
        delivered = self._delivered(keys)
        named = {
            entry.object: None
            for key, files in delivered.items()
            for name, entry in self._files(key).items()
            if name in files
        }
        hashes = {blob: file_hash(content) for blob, content in zip(named, self._contents(named), strict=True)}
        found: list[Drift] = []
        for key in keys:
            if key not in delivered:
                found.append(Drift(key, INVENTORY, missing=True))
                continue
            present, files = self._folders.get(self.place(key), {}), self._files(key)
            for name, hash_ in sorted(delivered[key].items()):
                if name not in files or hashes[files[name].object] != hash_:
                    found.append(Drift(key, name, name not in present))
        return found

    def _delivered(self, keys: Sequence[PluginKey]) -> dict[PluginKey, Mapping[str, str]]:
        """The files of each plugin with their hashes, by its inventory; without plugins that have none of their own."""
        blobs = {key: entry.object for key in keys if (entry := self._files(key).get(INVENTORY)) is not None}
        found: dict[PluginKey, Mapping[str, str]] = {}
        for key, content in zip(blobs, self._contents(blobs.values()), strict=True):
            with suppress(ValueError):
                inventory = read_inventory(content)
                if inventory is not None and inventory.key == key:
                    found[key] = inventory.files
        return found

    def _files(self, key: PluginKey) -> dict[str, TreeEntry]:
        """The plain files in a plugin's folder."""
        entries = self._folders.get(self.place(key), {})
        return {name: entry for name, entry in entries.items() if entry.is_file}

    def _contents(self, blobs: Iterable[str]) -> Iterator[bytes]:
        return self._mirror.contents(list(blobs))


def _identity() -> dict[str, str]:
    """Who commits, where the environment does not say so."""
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    return {
        name: os.environ.get(name) or ("Fleetform" if name.endswith("NAME") else "fleetform@localhost")
        for name in names
    }
