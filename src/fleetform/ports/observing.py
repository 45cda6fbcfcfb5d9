"""Observing: how what was delivered is doing, and what clusters say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from fleetform.model.kinds.fleet import ClusterHealth
from fleetform.model.results.bindings import FieldOnCluster
from fleetform.model.results.decisions import PluginKey

Health = Literal["Healthy", "Failed", "Unknown"]


class CheckedObject(NamedTuple):
    """An object whose health counts; "" for what does not matter."""

    kind: str
    name: str
    namespace: str = ""
    api_version: str = ""


class Applied(NamedTuple):
    """It was applied to a cluster, which can be asked: into which namespace, and what of it counts (no object: all of
    them). cluster is the organization and name of that one."""

    namespace: str
    cluster: tuple[str, str]
    checks: tuple[CheckedObject, ...] = ()


class Delivered(Struct, frozen=True, gc=False):
    """Something that is on a cluster and is to be judged: which hash, since when it is there, and how to judge it.

    base is the folder that paths of health are relative to; applied says that its cluster can tell.
    """

    key: PluginKey
    input_hash: str
    since: datetime
    health: ClusterHealth | None
    base: str = "."
    applied: Applied | None = None


class Verdict(NamedTuple):
    """What was seen: the health of this very hash. look_at is when looking again may tell something else.

    hint is what to do if nothing can be told, unless it is only a matter of time. reachable is whether the cluster
    answered; None: it has not been asked yet, which says nothing of it.
    """

    health: Health
    message: str = ""
    look_at: datetime | None = None
    reachable: bool | None = True
    hint: str = ""


class Observer(Protocol):
    """Looks at clusters. It never raises for a cluster that cannot be looked at: that is Unknown."""

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]: ...


class FieldAnswer(NamedTuple):
    """What a cluster says of a field: its value, None if there is none; of a Secret's a digest instead. Or why it does
    not say, and what to do about it."""

    value: object = None
    digest: str = ""
    problem: str = ""
    do: str = ""


class ClusterAnswer(NamedTuple):
    """What is known of some fields of one cluster. answered: whether it did, where it was asked since the last time,
    and why not. look_at is when it is asked again."""

    fields: Mapping[FieldOnCluster, FieldAnswer]
    look_at: datetime
    answered: bool | None = None
    why: str = ""


# The digest by which a secret of an organization is told from others.
DigestOf = Callable[[str, str], str]


class ClusterReader(Protocol):
    """Reads fields of objects on clusters, beside the passes; one with no field is only asked whether it is there."""

    def read(
        self, wanted: Mapping[tuple[str, str], frozenset[FieldOnCluster]], digest_of: DigestOf, now: datetime
    ) -> Mapping[tuple[str, str], ClusterAnswer]: ...
