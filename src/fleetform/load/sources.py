"""Sources of a fleet's files for those who read them again and again."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.load.inputs import read_inputs
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.sources import SourceFiles


class FolderSource:
    """Files and folders of this machine."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def read(self) -> SourceFiles:
        files: dict[str, bytes] = {}
        problems: list[Diagnostic] = []
        for found in read_inputs(self._names):
            if isinstance(found, Diagnostic):
                problems.append(found)
            else:
                files[found.name] = found.content
        return SourceFiles(files, problems)
