"""How far reading goes: everywhere, or no further than the repository (`--confined`).

Manifests name folders, and folders hold links. Who checks a stranger's pull request must not read other files for it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fleetform.outside.errors import OutsideError
from fleetform.outside.git import GitError, run_git

HINT = "--confined reads what is in the repository, and fetches nothing"


class BoundaryError(OutsideError):
    """Something is outside of the repository."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is outside of the repository", HINT)


@dataclass(frozen=True)
class Boundary:
    """A folder that reading must not leave; None is no boundary."""

    root: str | None = None

    @classmethod
    def of_repository(cls) -> Boundary:
        """The repository of the working directory; without one, the working directory."""
        try:
            top = run_git("rev-parse", "--show-toplevel", failing="").decode().rstrip("\n")
        except GitError:
            top = "."
        return cls(os.path.realpath(top))

    def holds(self, path: str) -> bool:
        """Whether a path is inside, with all links followed."""
        if self.root is None:
            return True
        real = os.path.realpath(path)
        return real == self.root or real.startswith(self.root.rstrip("/") + "/")


EVERYWHERE = Boundary()
