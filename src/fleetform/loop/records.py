"""What is stored beside what is known of plugins and rollouts: accepted files, whole admitted states, deliveries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fleetform.model.kinds.base import Drift
from fleetform.model.objects import Ref
from fleetform.model.state import Trouble
from fleetform.ports.observing import CheckedObject
from fleetform.store.known_state import STATE
from fleetform.syntax.addresses import shown

FILE, SOURCE = "File", "Source"
SOURCE_REF = Ref(SOURCE, "", "accepted")


class SourceRecord(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the accepted files are from: the commits, "" if there are none, and who made the last of them."""

    revision: str = ""
    author: str | None = None


NO_SOURCE = SourceRecord()


# Before the name of a cluster: the management cluster, on its behalf.
ON_HUB = "@"


class Destination(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where a plugin is delivered: a folder of this machine, a branch of a repository, or a cluster.

    path is a folder, an address, or the organization and name of a cluster; `@` before the name is the management
    cluster, where objects for that cluster are. secret is the organization and name of the
    Secret with a repository's login; secret_key the one key of it that is meant. namespace is a release's on its
    cluster, where drift and adopt say what becomes of what others changed or made. through is the field of the
    delivery that says so: objects of Flux are applied to clusters, too. retain: what is removed stays there, and is
    nobody's from then on.
    """

    kind: Literal["directory", "git", "kubernetes"]
    path: str
    branch: str = ""
    folder: str = ""
    sign: bool = False
    secret: str = ""
    secret_key: str = ""
    namespace: str = ""
    drift: Drift = "Correct"
    adopt: bool = False
    through: Literal["kubernetes", "flux"] = "kubernetes"
    retain: bool = False

    @property
    def cluster(self) -> tuple[str, str]:
        """The organization and the name of the cluster that it is."""
        organization, _, name = self.path.partition("/")
        return organization, name

    @property
    def text(self) -> str:
        if self.kind == "kubernetes":
            name = self.cluster[1]
            return "the management cluster" if name.startswith(ON_HUB) else f"cluster {name}"
        return f"branch {self.branch} of {shown(self.path)}" if self.kind == "git" else self.path

    def is_at(self, other: Destination) -> bool:
        """Whether both are one place: who logs in, how commits are signed and objects applied is none of that."""
        return (self.kind, self.path, self.branch, self.folder) == (other.kind, other.path, other.branch, other.folder)


class DeliveryRecord(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was last brought to a destination, and since when it is there. input_hash is "" if nothing has arrived yet,
    or something else is about to.

    leaves are earlier destinations where its files still are. trouble is what keeps it from its destination, its files
    from going there, or anybody from telling how it is doing. refused is the hash that its cluster does not take.
    """

    destination: Destination
    input_hash: str = ""
    digest: str = ""
    since: datetime | None = None
    leaves: tuple[Destination, ...] = ()
    trouble: Trouble | None = None
    refused: str = ""

    @property
    def failing(self) -> Trouble | None:
        """Why it is not where it should be, or still is where it should not."""
        return self.trouble if self.trouble is not None and self.trouble.of != "health" else None


class AdmittedState(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A whole state that was admitted, by the hash of all that it is made of: the digest of its files, a blob.

    A later render of the same that differs is reported and not applied (R2-38): changed is the digest of its files.
    source is the digest of what was rendered, source_files that of the blob which holds it. revision is the commit
    whose files it was first rendered from. health are the objects whose health counts; none: all of them. sealed
    is the digest of the blob from which it is rendered with its secrets, if it has any (S5).
    """

    files: str
    version: str | None = None
    definition: str | None = None
    render_key: str | None = None
    revision: str = ""
    source: str = ""
    source_files: str = ""
    changed: str = ""
    health: tuple[CheckedObject, ...] = ()
    sealed: str = ""


def file_ref(name: str) -> Ref:
    return Ref(FILE, "", name)


def state_ref(input_hash: str) -> Ref:
    return Ref(STATE, "", input_hash)


def packed(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Files as one blob, and its digest."""
    content = msgspec.msgpack.encode(sorted(files.items()))
    return "sha256:" + hashlib.sha256(content).hexdigest(), content


def unpacked(blob: bytes) -> dict[str, bytes]:
    return dict(msgspec.msgpack.decode(blob, type=list[tuple[str, bytes]]))
