"""A list of one kind that follows its changes: listed, watched, and listed again where the watch cannot go on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, Generic, NamedTuple, TypeVar

from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import BusyError, ExpiredError
from fleetform.outside.kubernetes.resources import Resource

T = TypeVar("T")

_AT_ONCE, _SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 0.8, 30.0


class ObjectKey(NamedTuple):
    """What tells objects of one kind apart."""

    namespace: str
    name: str


def is_newer(version: str, other: str) -> bool:
    """Whether a resourceVersion is later than another of the same kind: they are numbers without leading zeros."""
    return (len(version), version) > (len(other), other)


class Reflector(Generic[T]):
    """Objects of one kind as far as they are known. restarts is how often a watch could not go on.

    kept makes what is kept of an object; key_of and version_of read its key and version there. One of which is_kept
    says no is as one that is not there. changed is told the keys whose content is another than before, which any new
    version is unless content_of says otherwise, and once that all is listed, whatever there is; failed why following
    stops for a while, once each time.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        key_of: Callable[[T], ObjectKey],
        version_of: Callable[[T], str],
        *,
        type_: Any = Any,
        kept: Callable[[Any], T] = lambda each: each,
        content_of: Callable[[T], object] | None = None,
        is_kept: Callable[[T], bool] = lambda _: True,
        namespace: str = "",
        labels: str = "",
        changed: Callable[[frozenset[ObjectKey]], None] = lambda _: None,
        failed: Callable[[OutsideError], None] = lambda _: None,
        page: int = 500,
        silence: float = 70.0,
    ) -> None:
        self._client, self._resource = client, resource
        self._key_of, self._version_of = key_of, version_of
        self._type, self._kept, self._namespace, self._labels = type_, kept, namespace, labels
        self._content_of, self._is_kept = content_of or version_of, is_kept
        self._changed, self._failed = changed, failed
        self._page, self._silence = page, silence
        self._lock = Lock()
        self._objects: dict[ObjectKey, T] = {}
        self._written: dict[ObjectKey, str] = {}
        self._version = ""
        self._end: Callable[[], None] = lambda: None
        self._thread: Thread | None = None
        self.listed = Event()
        self.restarts = 0

    def objects(self) -> Mapping[ObjectKey, T]:
        """All that is known now; a copy, which later changes leave alone."""
        with self._lock:
            return dict(self._objects)

    def get(self, key: ObjectKey) -> T | None:
        """What is known of one object."""
        with self._lock:
            return self._objects.get(key)

    def wrote(self, key: ObjectKey, version: str) -> None:
        """We wrote this object: what is known of it is old until the watch has brought that version."""
        with self._lock:
            known = self._objects.get(key)
            if known is None or is_newer(version, self._version_of(known)):
                self._written[key] = version

    def is_behind(self, key: ObjectKey) -> bool:
        """Whether something that we wrote ourselves has not come back yet: nothing should be decided on the object."""
        with self._lock:
            return key in self._written

    def end(self) -> None:
        """Ends the watch that is open, if any: one that was told to stop need not wait for the next event."""
        with suppress(ValueError, RuntimeError, OSError):
            self._end()

    def start(self, stop: Event, name: str = "") -> Thread:
        """Follows in a thread of its own, which does not keep the process, until it is told to stop."""
        self._thread = Thread(target=self.run, args=(stop,), name=name or self._resource.plural, daemon=True)
        self._thread.start()
        return self._thread

    @property
    def is_alive(self) -> bool:
        """Whether it follows; false before it was started, too."""
        return self._thread is not None and self._thread.is_alive()

    def run(self, stop: Event) -> None:
        """Follows until it is told to stop."""
        pause = _SHORTEST_PAUSE
        while not stop.is_set():
            try:
                self._list()
                pause = _SHORTEST_PAUSE
                self._follow_until_silent(stop)
            except OutsideError as error:
                self.restarts += 1
                if isinstance(error, ExpiredError):
                    # The version is gone, or (after a restored backup) not there yet: the newest list will do.
                    self._version = ""
                    stop.wait(_AT_ONCE)
                    continue
                if stop.is_set():
                    return
                self._failed(error)
                after = error.after if isinstance(error, BusyError) and error.after is not None else 0.0
                stop.wait(max(pause, after) * random.uniform(1.0, 1.5))
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _list(self) -> None:
        """The first list may be as old as the server's cache is; later ones are not older than what is known."""
        version = self._version or ("" if self.listed.is_set() else "0")
        with self._lock:
            # The newest list has all that was written before it was asked for, also if versions went back since then:
            # a server whose backup was restored never comes to those that it gave before.
            answered = dict(self._written) if not version else {}
        found: dict[ObjectKey, T] = {}
        token = ""
        while True:
            page = self._client.page(
                self._resource,
                self._namespace,
                labels=self._labels,
                limit=self._page,
                token=token,
                version=version,
                type_=self._type,
            )
            kept = filter(self._is_kept, map(self._kept, page.items))
            found.update((self._key_of(each), each) for each in kept)
            token = page.token
            if not token:
                break
        with self._lock:
            before, self._objects, self._version = self._objects, found, page.version
            behind = self._written
            self._written = {
                key: written
                for key, written in behind.items()
                if is_newer(written, page.version) and answered.get(key) != written
            }
            caught_up = behind.keys() - self._written.keys()
        changed = {key for key, each in found.items() if not self._is_same(before.get(key), each)}
        changed |= before.keys() - found.keys()
        # Whoever waits for what was written must hear of it, though the object may be as it was before.
        changed |= caught_up
        # That there is nothing is news, too, when nobody knew.
        is_news = bool(changed) or not self.listed.is_set()
        self.listed.set()
        if is_news:
            self._changed(frozenset(changed))

    def _is_same(self, before: T | None, after: T) -> bool:
        return before is not None and self._content_of(before) == self._content_of(after)

    def _follow_until_silent(self, stop: Event) -> None:
        """Of a kind of which nothing has changed since it started a server sends no bookmarks either: a list tells
        whether anything is at the other end, and if it does, nothing is wrong."""
        try:
            self._follow(stop)
        except BusyError as error:
            if not error.timed_out:
                raise

    def _follow(self, stop: Event) -> None:
        """Watches from the last version on, again and again, until a watch breaks or is silent for too long."""
        while not stop.is_set():
            # Not all at once: watches that began together should not end together.
            seconds = random.randint(300, 600)
            events = self._client.watch(
                self._resource,
                self._version,
                self._namespace,
                labels=self._labels,
                seconds=seconds,
                type_=self._type,
                silence=self._silence,
                opened=self._opened,
            )
            for event in events:
                if event.type != "BOOKMARK":
                    self._take(event.type, self._kept(event.object))
                self._version = event.version
                if stop.is_set():
                    events.close()
                    return

    def _opened(self, end: Callable[[], None]) -> None:
        self._end = end

    def _take(self, type_: str, object_: T) -> None:
        key, version = self._key_of(object_), self._version_of(object_)
        is_kept = self._is_kept(object_)
        is_there = is_kept and type_ != "DELETED"
        with self._lock:
            before = self._objects.get(key)
            if is_there:
                self._objects[key] = object_
            else:
                self._objects.pop(key, None)
            written = self._written.get(key)
            if written is not None and not is_newer(written, version):
                del self._written[key]
        if not self._is_same(before, object_) if is_there else (is_kept or before is not None):
            self._changed(frozenset({key}))
