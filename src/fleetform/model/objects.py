"""What was read: objects with their origin. An origin names a place by path; lines are found when one is printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from fleetform.model.conventions import NATIVE, Conventions
from fleetform.model.kinds.base import Metadata

Path = tuple[str | int, ...]
Spec_co = TypeVar("Spec_co", covariant=True)


class Ref(NamedTuple):
    """An object by kind, organization and name."""

    kind: str
    organization: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.organization}/{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The document an object was read from; base is its path in there (List items have one)."""

    file: str
    first_line: int
    last_line: int
    base: Path = ()


class At(NamedTuple):
    """A place: a path in the document of an origin."""

    origin: Origin
    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class Object(Generic[Spec_co]):
    """One object of the input. Compared by identity: a changed object is another object.

    moved holds, for objects of other systems, which path of the native shape stands where in their own; conventions is
    what their manifests mean where systems differ.
    """

    ref: Ref
    metadata: Metadata
    spec: Spec_co
    origin: Origin
    dialect: str = "native"
    moved: tuple[tuple[Path, Path], ...] = ()
    created: datetime | None = None
    content: Any = None
    conventions: Conventions = NATIVE

    def at(self, *path: str | int) -> At:
        for native, theirs in self.moved:
            if path[: len(native)] == native:
                path = theirs + path[len(native) :]
                break
        return At(self.origin, self.origin.base + path)

    @property
    def foreign_version(self) -> str | None:
        """The apiVersion of an object of a kind that no dialect reads."""
        return self.dialect.removeprefix("foreign:") if self.dialect.startswith("foreign:") else None

    @property
    def own_name(self) -> str:
        """Its name in its own system; here it may also have its namespace, to tell it from another."""
        return self.metadata.name or self.ref.name

    @property
    def namespace(self) -> str:
        """Its namespace in its own system."""
        return self.metadata.namespace or "default"

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}


# An object of whatever kind. Also where a field is itself called object, which hides the type of that name.
AnyObject = Object[object]
