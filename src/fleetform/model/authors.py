"""Authors: who made a change, as far as somebody can tell (S47)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from fleetform.model.objects import Ref


class Authors(Protocol):
    """The addresses of those who made files what they are, and of those who removed objects; looked up when asked."""

    def get(self, file: str, /) -> str | None:
        """Whoever last touched a file: empty where git does not know, None if the file is in no repository."""
        ...

    def removers(self, objects: Collection[Ref], /) -> Mapping[Ref, str]:
        """Whoever removed objects that are gone. An object of which nobody knows that is left out."""
        ...


class _Nobody:
    def get(self, _file: str, /) -> str | None:
        return None

    def removers(self, _objects: Collection[Ref], /) -> Mapping[Ref, str]:
        return {}


class Admitted(_Nobody):
    """Of objects in an API server: who made a change nobody knows; an Approval is by whom it says, and in the groups
    that it names, as that was checked when it was given."""


NO_AUTHORS: Authors = _Nobody()
ADMITTED: Authors = Admitted()
