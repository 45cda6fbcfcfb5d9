"""How far reading goes: everywhere, no further than the repository (`--confined`), or into no folder but one.

Manifests name folders, and folders hold links. Who checks a stranger's pull request must not read other files for it,
and neither must an operator for those who write objects on an API server.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleetform.outside.errors import OutsideError
from fleetform.outside.git import GitError, run_git

HINT = "--confined reads what is in the repository, and fetches nothing"


_ADDRESS = "name a repository (https:// or oci://)"


_OF_THE_POD = "a folder of the operator's pod"


class BoundaryError(OutsideError):
    """Something is outside."""

    def __init__(self, name: str, boundary: Boundary) -> None:
        means = f"means {boundary.means}, and " if boundary.means else ""
        super().__init__(f"{name} {means}is outside of {boundary.where}", boundary.hint)


@dataclass(frozen=True)
class Boundary:
    """A folder that reading must not leave; None is no boundary. fetches: what is elsewhere may be downloaded. means is
    what a path means, where people may not expect it."""

    root: str | None = None
    fetches: bool = True
    where: str = "the repository"
    hint: str = HINT
    means: str = ""

    @classmethod
    def of_command(cls, confined: bool) -> Boundary:
        """What `--confined` means."""
        return cls.of_repository() if confined else EVERYWHERE

    @classmethod
    def of_repository(cls) -> Boundary:
        """The repository of the working directory; without one, the working directory."""
        try:
            top = run_git("rev-parse", "--show-toplevel", failing="").decode().rstrip("\n")
        except GitError:
            top = "."
        return cls(os.path.realpath(top), fetches=False)

    @classmethod
    def of_folder(cls, folder: str | None) -> Boundary:
        """Of this machine only one folder is read, or none at all; from elsewhere anything."""
        if folder is None:
            where = "what may be read here: what has an address, and no folders"
            return cls("", True, where, _ADDRESS, _OF_THE_POD)
        root = os.path.realpath(folder)
        hint = f"{_ADDRESS}, or a folder by its whole path below {root}"
        return cls(root, True, f"what may be read here: {root}, and what has an address", hint, _OF_THE_POD)

    def holds(self, path: str) -> bool:
        """Whether a path is inside, with all links followed."""
        if self.root is None:
            return True
        if not self.root:
            return False
        real = os.path.realpath(path)
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")


EVERYWHERE = Boundary()
