"""Names and what they stand for on one cluster."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from fleetform.model.objects import At, Object

# Where a name gets its value: in the control plane, or on the cluster itself.
Section = Literal["control-plane", "downstream"]


class Missing(Struct, frozen=True, eq=False, gc=False):
    """Why a name stands for nothing on a cluster, the gate that this is, and what to do.

    Without a gate nothing is wrong: an optional name has nothing to stand for, and whatever mentions it is left out.
    told says that validation tells of it by itself, at the place where it is to be mended.
    """

    gate: str
    message: str
    do: str = ""
    at: At | None = None
    told: bool = False


class Bound(Struct, frozen=True, eq=False, gc=False):
    """One binding on one cluster: its value or why it has none, where it is written and what it was read from."""

    name: str
    section: Section
    value: Any
    missing: Missing | None
    at: At
    source: Object[Any] | None = None

    @property
    def resolved(self) -> str:
        if self.missing is not None and self.missing.gate:
            return "pending"
        return self.section
