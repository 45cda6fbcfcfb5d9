"""What an object on an API server should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fleetform.model.kinds import API_VERSION, DEFAULT_ORGANIZATION
from fleetform.model.kinds.status import Status
from fleetform.model.objects import Object, Ref

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "fleetform"
CLUSTER = "fleetform.dev/cluster"
ADD_ONS, ADD_ON = "addon.open-cluster-management.io/v1alpha1", "ManagedClusterAddOn"


class OwnerReference(Struct, frozen=True, rename="camel"):
    """The object with which another one goes."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = True

    @classmethod
    def to(cls, owner: Object[object]) -> OwnerReference | None:
        """None where it was not read from an API server, or is another system's."""
        if owner.metadata.uid is None or owner.dialect != "native":
            return None
        return cls(API_VERSION, owner.ref.kind, owner.ref.name, owner.metadata.uid)


class Generated(Struct, frozen=True):
    """An object that Fleetform makes. is_fixed: its spec never changes once it is there."""

    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    owner: OwnerReference | None = None
    is_fixed: bool = False


class Wanted(Struct, frozen=True):
    """What an object should tell, and what it should be if Fleetform makes it.

    generation is the one that was read; None: the one that is there, as nobody else writes the object. is_gone: it
    should not be there any more.
    """

    ref: Ref
    status: Status
    generated: Generated | None = None
    generation: int | None = None
    api_version: str = API_VERSION
    is_gone: bool = False


def is_of(organization: str, ref: Ref) -> bool:
    """Whether an object is an organization's ("": of any): an add-on lies in its cluster's namespace, and is nobody
    else's all the same (S7)."""
    home = DEFAULT_ORGANIZATION if ref.kind == ADD_ON else ref.organization
    return organization in ("", home)
