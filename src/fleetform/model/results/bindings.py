"""Variables and their values on one cluster."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct

from fleetform.model.objects import At, Object, Ref

# Where a variable gets its value: in the control plane, or on the cluster itself.
Section = Literal["control-plane", "downstream"]


class Unresolved(Struct, frozen=True, eq=False, gc=False):
    """Why a variable cannot be resolved on a cluster, the gate that this is, and what to do.

    Without a gate nothing is wrong: an optional variable has no value, and whatever refers to it is left out.
    reported says that validation reports it by itself, at the place where it is to be fixed.
    """

    gate: str
    message: str
    do: str = ""
    at: At | None = None
    reported: bool = False


class Failure(Unresolved, frozen=True, eq=False, gc=False):
    """Why an expression gives no value on a cluster; ref is the object that holds it."""

    ref: Ref | None = None


class Misfit(Failure, frozen=True, eq=False, gc=False):
    """Why a path does not fit: it leads into what is no map there, or past the end of a list."""


class OnCluster(Struct, frozen=True, eq=False, gc=False):
    """Stands for what is read on the cluster wherever the value itself must not count (B16).

    pieces are texts, and the names of variables as lists of one.
    """

    pieces: tuple[str | tuple[str], ...]


class FieldOnCluster(NamedTuple):
    """A field of an object on a cluster, with all variables filled in. Without a namespace it is the release's."""

    api_version: str | None
    kind: str
    namespace: str | None
    name: str
    path: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where} {self.path}"

    @property
    def identity(self) -> str:
        """What a reading of it is stored with: one of another field says nothing about this one."""
        return f"{self.api_version or 'v1'} {self.kind} {self.namespace or ''}/{self.name} {self.path}"


class Bound(Struct, frozen=True, eq=False, gc=False):
    """One binding on one cluster: its value or why it has none, where it is written and what it was read from: an
    object of the input, or a field on the cluster."""

    name: str
    section: Section
    value: Any
    unresolved: Unresolved | None
    at: At
    source: Object[object] | None = None
    field: FieldOnCluster | None = None

    @property
    def resolved(self) -> str:
        if self.unresolved is not None and self.unresolved.gate:
            return "pending"
        return self.section
