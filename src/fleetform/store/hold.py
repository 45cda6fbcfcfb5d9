"""Holding a database: one process at a time writes it.

The hold is a lock of the system on a file beside the database. The system lets it go with the process, so that a crash
leaves nothing behind; a file with a process number would lie.
"""

from __future__ import annotations

import fcntl
import os

from fleetform.ports.store import UnavailableError, UnusableError

# Where locks and shared memory do not hold from host to host.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs"})

_MOUNTS = "/proc/self/mounts"


class Hold:
    """Taken until it is released, or the process ends."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def hold(path: str) -> Hold:
    """Takes hold of a database; UnavailableError if another process has it."""
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    try:
        os.makedirs(folder, exist_ok=True)
        _refuse_network(real)
        handle = os.open(f"{real}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnavailableError(f"{path} cannot be opened: {reason}", "check the folder's permissions") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        by = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
        os.close(handle)
        who = f" (process {by})" if by else ""
        raise UnavailableError(
            f"another Fleetform holds {path}{who}", "ask that one with --server, or stop it"
        ) from error
    # For people only: whoever has the lock holds the database, whatever the file says.
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return Hold(handle)


def _refuse_network(path: str) -> None:
    kind = _file_system(path)
    if kind in _NETWORK:
        raise UnusableError(f"{path} is on a network file system ({kind})", "put the database on a disk of this host")


def _file_system(path: str) -> str:
    """The type of the file system that holds a path; "" where the system does not tell."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return ""
    holding = [
        (len(mount[1]), mount[2])
        for mount in mounts
        if len(mount) > 2 and (path == mount[1] or path.startswith(mount[1].rstrip("/") + "/"))
    ]
    return max(holding)[1] if holding else ""
