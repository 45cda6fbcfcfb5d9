"""What is stored beside what is known of plugins and rollouts: accepted files, whole admitted states, deliveries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fleetform.model.objects import Ref
from fleetform.model.state import Trouble
from fleetform.store.known_state import STATE
from fleetform.syntax.addresses import shown

FILE, SOURCE = "File", "Source"
SOURCE_REF = Ref(SOURCE, "", "accepted")


class SourceRecord(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the accepted files are from: the commits, "" if there are none, and who made the last of them."""

    revision: str = ""
    author: str | None = None


NO_SOURCE = SourceRecord()


class Destination(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where a plugin is delivered: a folder of this machine, or a branch of a repository.

    secret is the organization and name of the Secret with its login; secret_key the one key of it that is meant.
    """

    kind: Literal["directory", "git"]
    path: str
    branch: str = ""
    folder: str = ""
    sign: bool = False
    secret: str = ""
    secret_key: str = ""

    @property
    def text(self) -> str:
        return f"branch {self.branch} of {shown(self.path)}" if self.kind == "git" else self.path

    def is_at(self, other: Destination) -> bool:
        """Whether both are one place: who logs in, and whether commits are signed, is none of that."""
        return (self.kind, self.path, self.branch, self.folder) == (other.kind, other.path, other.branch, other.folder)


class DeliveryRecord(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was last brought to a destination, and since when it is there. input_hash is "" if nothing has arrived yet.

    leaves are earlier destinations where its files still are. trouble is what keeps it from its destination, its files
    from going there, or anybody from telling how it is doing.
    """

    destination: Destination
    input_hash: str = ""
    digest: str = ""
    since: datetime | None = None
    leaves: tuple[Destination, ...] = ()
    trouble: Trouble | None = None

    @property
    def failing(self) -> Trouble | None:
        """Why it is not where it should be, or still is where it should not."""
        return self.trouble if self.trouble is not None and self.trouble.of != "health" else None


class AdmittedState(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A whole state that was admitted, by the hash of all that it is made of: the digest of its files, a blob.

    A later render of the same that differs is reported and not applied (R2-38): changed is the digest of its files.
    source is the digest of what was rendered, source_files that of the blob which holds it. revision is the commit
    whose files it was first rendered from.
    """

    files: str
    version: str | None = None
    definition: str | None = None
    render_key: str | None = None
    revision: str = ""
    source: str = ""
    source_files: str = ""
    changed: str = ""


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
