"""The store: everything that must outlive a pass, behind one contract that SQLite, memory and Kubernetes meet alike.

Records are bytes under a reference. Versions are one rising sequence over all of them: a commit raises it by one, and
everything in the commit bears the new number. A commit is stored whole or not at all. What a record means is for those
who write it; the store never looks inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey

# What a record must be at for a conditional write: this version, or not there at all.
ABSENT = 0


class StoreError(Exception):
    """The store cannot do what it was asked for. hint says what a person can do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class UnavailableError(StoreError):
    """Not now: another process holds it, the disk is full or gone. Trying again may help."""


class UnusableError(StoreError):
    """Not at all: damaged, of a newer release, or no store. Trying again does not help."""


class ConflictError(StoreError):
    """A conditional write met another version than it was made for; nothing of its commit was stored."""

    def __init__(self, ref: Ref, expected: int, found: int) -> None:
        super().__init__(f"{ref} is at version {found}, not {expected}", "read it again and decide anew")
        self.ref, self.expected, self.found = ref, expected, found


class ExpiredError(StoreError):
    """Changes since that version, or a list at it, are no longer known: list again."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"version {asked} is no longer known; the oldest is {oldest}", "list again")
        self.asked, self.oldest = asked, oldest


def plugin_ref(kind: str, key: PluginKey) -> Ref:
    """Where a record about a plugin is stored: beside those of its preset, which are often written together."""
    organization, cluster, plugin = key
    return Ref(kind, organization, f"{plugin}/{cluster}")


def plugin_key(ref: Ref) -> PluginKey:
    """The plugin that such a record is about."""
    plugin, _, cluster = ref.name.partition("/")
    return ref.organization, cluster, plugin


class Record(Struct, frozen=True, gc=False):
    """What is stored under a reference. created is the version that it was first stored with, at when that was."""

    ref: Ref
    version: int
    created: int
    body: bytes


class Put(NamedTuple):
    """Store a body; expected makes it conditional (ABSENT: it must not be there yet)."""

    ref: Ref
    body: bytes
    expected: int | None = None


class Delete(NamedTuple):
    """Remove a record; one that is not there is no error unless a version is expected."""

    ref: Ref
    expected: int | None = None


def refuse_doubles(writes: Sequence[Put | Delete]) -> None:
    """A commit says of each record once what becomes of it: ValueError otherwise."""
    if len({each.ref for each in writes}) < len(writes):
        twice = next(ref for ref, count in Counter(each.ref for each in writes).items() if count > 1)
        raise ValueError(f"{twice} is written twice in one commit")


class Event(Struct, frozen=True, gc=False):
    """Something that happened to a plugin on a cluster, kept for good: what it ran from then on, and why.

    revision is the commit that what was started is from.
    """

    at: datetime
    organization: str
    cluster: str
    plugin: str
    event: str
    version: str | None = None
    input_hash: str | None = None
    rollout: str = ""
    change_id: str = ""
    reason: str = ""
    revision: str = ""


class Deed(Struct, frozen=True, gc=False):
    """What somebody did or was denied, for the audit log."""

    at: datetime
    actor: str
    verb: str
    subject: str
    outcome: str
    organization: str = ""
    detail: str = ""


class AuditEntry(Struct, frozen=True, gc=False):
    """A deed in the log. hash covers the deed and the hash of the entry before it: none can be changed unseen."""

    number: int
    deed: Deed
    previous: str
    hash: str


class Message(Struct, frozen=True, gc=False):
    """A notification. key tells what it is about: a second message of one key is never stored.

    endpoint is where it is to be sent; one without is for those who look at the feed, and is sent nowhere.
    """

    key: str
    at: datetime
    organization: str
    event: str
    body: bytes
    endpoint: str = ""


# So many messages of the feed are kept for each organization; of older ones only that they were told.
KEPT_IN_FEED = 2_000


class Notified(NamedTuple):
    """A message of the feed, under the number that it was stored with."""

    number: int
    message: Message


class Outgoing(Struct, frozen=True, gc=False):
    """A message that waits to be sent: how often that failed, and when to try next."""

    number: int
    message: Message
    tries: int
    due: datetime


class Sent(NamedTuple):
    """What became of a message: due is when to try it again, None if it is done with."""

    number: int
    due: datetime | None = None


class Commit(Struct, frozen=True):
    """What is stored in one step, whole or not at all."""

    writes: Sequence[Put | Delete] = ()
    events: Sequence[Event] = ()
    deeds: Sequence[Deed] = ()
    messages: Sequence[Message] = ()
    sent: Sequence[Sent] = ()
    blobs: Sequence[tuple[str, bytes]] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.writes or self.events or self.deeds or self.messages or self.sent or self.blobs)


class Page(NamedTuple):
    """A part of a list. version is the one that all its pages show; after is where the next page begins."""

    records: Sequence[Record]
    version: int
    after: Ref | None


class Changes(NamedTuple):
    """What changed after a version: each record once, as it is now, oldest change first; and what was removed.

    version is how far this goes: asking from there on misses nothing.
    """

    records: Sequence[Record]
    removed: Sequence[tuple[Ref, int]]
    version: int


class StoreReader(Protocol):
    """Reads; every call sees one state of the store and keeps nothing open afterwards."""

    def version(self) -> int:
        """The number of the last commit that changed a record."""

    def get(self, ref: Ref) -> Record | None: ...

    def list(
        self,
        kind: str,
        organization: str | None = None,
        *,
        limit: int = 0,
        after: Ref | None = None,
        version: int | None = None,
    ) -> Page:
        """Records of a kind by organization and name; limit 0 means all.

        Further pages name the version of the first, so that all show one state; ExpiredError: list anew.
        """

    def changes(self, since: int, limit: int = 0) -> Changes:
        """What changed after a version. ExpiredError if that is longer ago than the store remembers."""

    def blob(self, digest: str) -> bytes | None: ...

    def events(
        self,
        organization: str,
        cluster: str,
        plugin: str | None = None,
        until: datetime | None = None,
        limit: int = 0,
    ) -> Sequence[Event]:
        """What happened on a cluster up to and including a time, the latest first."""

    def audit(self, after: int = 0, limit: int = 0) -> Sequence[AuditEntry]:
        """The audit log, oldest first, from behind an entry on."""

    def outbox(self, due: datetime, limit: int = 0) -> Sequence[Outgoing]:
        """Messages to be sent by now, oldest first."""

    def feed(self, organization: str | None = None, *, before: int = 0, limit: int = 0) -> Sequence[Notified]:
        """Messages that are sent nowhere, the latest first; before is a number, and only older ones follow."""

    def told(self, keys: Collection[str]) -> frozenset[str]:
        """Those of some keys under which a message was stored, sent or not."""


class Store(StoreReader, Protocol):
    """Reads and writes. One process at a time may hold it."""

    def commit(self, commit: Commit, at: datetime) -> int:
        """Stores everything, durably; the version afterwards. ConflictError: nothing was stored.

        A put of the body that is there already changes nothing, and a commit that changes no record raises no version.
        """

    def compact(self, keep: int) -> None:
        """Forget what was before the last so many versions: older ones are ExpiredError from then on."""

    def sweep(self, used: Collection[str]) -> int:
        """Remove blobs that are not among those; how many were."""

    def close(self) -> None: ...
