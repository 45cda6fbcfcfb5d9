"""Delivery into a folder of this machine, which a GitOps tool or a script reads.

Every file is written beside its place, synced and moved into it, so that a reader sees the old one or the new one. The
inventory names old and new files before the first of them is written: a delivery that was killed is taken up where it
stopped. Folders are opened one below the other without following links, so nothing is written anywhere else.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from fleetform.deliver.tree import INVENTORY, edits, file_hash, folder_of, read_inventory
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.files import OUTPUT_MARK
from fleetform.ports.delivery import Drift, Failure, Note, Parcel

_PART = ".fleetform-part"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class DirectoryDelivery:
    """A folder with `<cluster>/<plugin>/` for each plugin."""

    def __init__(self, path: str) -> None:
        self._path = path

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        failed: dict[PluginKey, Failure] = {}
        try:
            os.makedirs(self._path, exist_ok=True)
            self._mark()
        except OSError as error:
            failure = self._failure(error, self._path)
            return dict.fromkeys((*(each.key for each in parcels), *removals), failure)
        for parcel in parcels:
            try:
                failure_ = self._deliver(parcel)
            except OSError as error:
                failure_ = self._failure(error, f"{self._path}/{folder_of(parcel.key)}")
            except ValueError as error:
                failure_ = Failure(
                    f"{folder_of(parcel.key)}/{error}", "remove that folder, or restore it", refused=True
                )
            if failure_ is not None:
                failed[parcel.key] = failure_
        for key in removals:
            try:
                self._remove(key)
            except OSError as error:
                failed[key] = self._failure(error, f"{self._path}/{folder_of(key)}")
            except ValueError as error:
                failed[key] = Failure(f"{folder_of(key)}/{error}", "remove that folder by hand", refused=True)
        return failed

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        found: list[Drift] = []
        for key in keys:
            with suppress(OSError, ValueError), self._folder(key, make=False) as folder:
                inventory = read_inventory(_read(folder, INVENTORY))
                if inventory is not None and inventory.key == key:
                    present = _present(folder, inventory.files)
                    found += [
                        Drift(key, name, name not in present)
                        for name, hash_ in sorted(inventory.files.items())
                        if present.get(name) != hash_
                    ]
                    continue
            found.append(Drift(key, INVENTORY, missing=True))
        return found

    def _deliver(self, parcel: Parcel) -> Failure | None:
        with self._folder(parcel.key, make=True) as folder:
            before = read_inventory(_read(folder, INVENTORY))
            names = {*os.listdir(folder)} - {INVENTORY}
            for left in [name for name in names if name.endswith(_PART) and name.startswith(".")]:
                # What a killed delivery was about to move into place.
                os.unlink(left, dir_fd=folder)
                names.discard(left)
            found = edits(parcel, before, _present(folder, names))
            if isinstance(found, Failure):
                return found
            if found.announced != before:
                _write(folder, INVENTORY, found.announced.text())
            for name, content in found.write.items():
                _write(folder, name, content)
            for name in found.remove:
                os.unlink(name, dir_fd=folder)
            if found.write or found.remove or found.announced != before:
                # Names first: an inventory that says a file is there must not outlive the file.
                os.fsync(folder)
            if found.inventory != before:
                _write(folder, INVENTORY, found.inventory.text())
                os.fsync(folder)
        return None

    def _remove(self, key: PluginKey) -> None:
        """What was delivered goes; what else is in the folder stays, and so does the folder then."""
        try:
            with self._folder(key, make=False) as folder:
                inventory = read_inventory(_read(folder, INVENTORY))
                if inventory is None or inventory.key != key:
                    return
                present = _present(folder, inventory.files)
                for name in sorted(name for name, hash_ in present.items() if hash_ is not None):
                    os.unlink(name, dir_fd=folder)
                os.fsync(folder)
                os.unlink(INVENTORY, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return
        place = os.path.join(self._path, folder_of(key))
        with suppress(OSError):
            os.rmdir(place)
            os.rmdir(os.path.dirname(place))

    def _mark(self) -> None:
        """So that what is delivered is not read as a fleet if the folder lies in one."""
        mark = os.path.join(self._path, OUTPUT_MARK)
        if not os.path.lexists(mark):
            with open(mark, "x", encoding="utf-8"):
                pass

    @contextmanager
    def _folder(self, key: PluginKey, make: bool) -> Iterator[int]:
        handles = [os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        try:
            for step in folder_of(key).split("/"):
                above = handles[-1]
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, 0o755, dir_fd=above)
                        os.fsync(above)
                handles.append(os.open(step, _FOLDER, dir_fd=above))
            yield handles[-1]
        finally:
            for handle in reversed(handles):
                os.close(handle)

    @staticmethod
    def _failure(error: OSError, place: str) -> Failure:
        reason = (error.strerror or str(error)).lower()
        linked = error.errno in (errno.ENOTDIR, errno.ELOOP)
        hint = "remove it: nothing is written through links" if linked else "check the disk and its permissions"
        return Failure(f"{place}: {reason}", hint, refused=linked)


def _present(folder: int, names: Iterable[str]) -> dict[str, str | None]:
    """Those of the names that are in a folder, with the hashes of plain files."""
    found: dict[str, str | None] = {}
    for name in sorted(names):
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        found[name] = file_hash(_read(folder, name) or b"") if stat.S_ISREG(mode) else None
    return found


def _read(folder: int, name: str) -> bytes | None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def _write(folder: int, name: str, content: bytes) -> None:
    temporary = f".{name}{_PART}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o644, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
