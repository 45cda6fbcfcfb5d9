"""What is new in the store since a version, in words that clients know: plugins, rollouts, clusters, files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fleetform.loop.records import FILE
from fleetform.model.answers.access import ChangedObject, ChangeNotice
from fleetform.model.answers.notifications import Notification
from fleetform.model.objects import Ref
from fleetform.ports.store import ExpiredError, StoreReader, plugin_key
from fleetform.store.known_state import DELIVERY, PLUGIN_STATE, UNRENDERED

# So many steps are kept for those who have just missed them; who missed more asks the store.
_KEPT = 256
_MOST_NAMED = 500
_PAGE = 10
_notification = msgspec.json.Decoder(Notification)
_ON_CLUSTERS = frozenset({PLUGIN_STATE, DELIVERY, UNRENDERED})


class _OfRollout(Struct, frozen=True):
    rollout: str = ""


class Step(NamedTuple):
    """What changed between two versions: objects by kind, organization, cluster and name, and whether files did."""

    since: int
    version: int
    objects: Sequence[tuple[str, str, str, str]]
    files: bool

    def notice(self, visible: frozenset[str] | None) -> ChangeNotice | None:
        """For somebody who may know of these organizations; None if there is nothing to tell."""
        mine = [each for each in self.objects if visible is None or each[1] in visible]
        if not mine and not self.files:
            return None
        named = [
            ChangedObject(kind=kind, organization=organization, cluster=cluster, name=name)
            for kind, organization, cluster, name in mine[:_MOST_NAMED]
        ]
        more = len(mine) - len(named)
        return ChangeNotice(version=self.version, files=self.files, objects=named, more=more)


class Told(NamedTuple):
    """Something that people were told, under the number that the store has for it; that is nobody else's business."""

    number: int
    notification: Notification

    def is_for(self, visible: frozenset[str] | None) -> bool:
        return visible is None or self.notification.organization in visible


class Notices:
    """Follows a store: what changed in it, and what people are told. Each version is read once, however many listen."""

    def __init__(self, store: StoreReader) -> None:
        self._store, self._lock = store, Lock()
        self.version = store.version()
        self._steps: deque[Step] = deque(maxlen=_KEPT)
        # What people were told of late, the oldest first.
        self._told: deque[Told] = deque(maxlen=_KEPT)
        self._read_feed()

    def look(self) -> bool:
        """Whether there is something new since the last look."""
        with self._lock:
            return self._read_feed() | self._read_changes()

    def told_after(self, number: int) -> Sequence[Told]:
        """What people were told after the one of a number, the oldest first."""
        with self._lock:
            return [each for each in self._told if each.number > number]

    def number_of(self, id_: str | None) -> int | None:
        """The number of what was told under an id, 0 for "", that of the last for None; None if it is not known."""
        with self._lock:
            if id_ is None:
                return self._told[-1].number if self._told else 0
            return next((each.number for each in self._told if each.notification.id == id_), None) if id_ else 0

    def last_told(self, visible: frozenset[str] | None) -> str:
        """The id of what was told last to somebody who may know of these organizations; "" if nothing was."""
        with self._lock:
            return next((each.notification.id for each in reversed(self._told) if each.is_for(visible)), "")

    def _read_feed(self) -> bool:
        last = self._told[-1].number if self._told else 0
        news: list[Told] = []
        before = 0
        while len(news) < _KEPT and (page := self._store.feed(before=before, limit=_PAGE)):
            news += [Told(each.number, _notification.decode(each.message.body)) for each in page if each.number > last]
            before = page[-1].number
            if before <= last:
                break
        self._told.extend(reversed(news))
        return bool(news)

    def _read_changes(self) -> bool:
        if self._store.version() == self.version:
            return False
        try:
            step = self._read(self.version)
        except ExpiredError:
            # Too much has happened at once: all who listen begin anew.
            self._steps.clear()
            self.version = self._store.version()
            return True
        self._steps.append(step)
        self.version = step.version
        return True

    def since(self, version: int) -> Sequence[Step] | None:
        """What changed after a version, oldest first; None: it is no longer known, or never was."""
        with self._lock:
            if version == self.version:
                return ()
            kept = [each for each in self._steps if each.since >= version]
            if kept and kept[0].since == version:
                return kept
            if version > self.version:
                return None
            try:
                return [self._read(version)]
            except ExpiredError:
                return None

    def _read(self, since: int) -> Step:
        found = self._store.changes(since)
        named = [*((each.ref, each.body) for each in found.records), *((ref, b"") for ref, _ in found.removed)]
        objects = {key for ref, body in named for key in _named(ref, body)}
        return Step(since, found.version, sorted(objects), any(ref.kind == FILE for ref, _ in named))


def _named(ref: Ref, body: bytes) -> Iterable[tuple[str, str, str, str]]:
    """What a record is about, as people call it; nothing for records of the inside."""
    if ref.kind in _ON_CLUSTERS:
        yield "Plugin", *plugin_key(ref)
    elif ref.kind == "Rollout":
        yield "Rollout", ref.organization, "", ref.name
    elif ref.kind == "Approval" and body:
        yield "Rollout", ref.organization, "", msgspec.json.decode(body, type=_OfRollout).rollout
    elif ref.kind == "Silence":
        yield "Cluster", ref.organization, "", ref.name
