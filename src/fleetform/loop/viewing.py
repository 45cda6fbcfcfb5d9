"""Viewing: the fleet as it is stored, for those who ask beside the loop. They write nothing.

A view is one state: all of an answer, and all pages of a list, come from one. It is made anew when something else is
stored, or when time alone changes what there is to say. The last few are kept for those who are still turning pages.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.engine.decisions import Decisions
from fleetform.loop.accepting import OpenFleet
from fleetform.loop.deciding import decided
from fleetform.loop.image import Image, read_image
from fleetform.ports.clock import Clock
from fleetform.ports.store import StoreReader, UnavailableError

_KEPT = 3


class View(NamedTuple):
    """The fleet at a version of the store. tag names this very view; due is when time alone makes it another."""

    version: int
    tag: str
    fleet: Fleet
    due: datetime | None


class Views:
    """Views of one store. Several threads may ask at once."""

    def __init__(self, store: StoreReader, open_fleet: OpenFleet, clock: Clock, name: str) -> None:
        self._store, self._open_fleet, self._clock, self._name = store, open_fleet, clock, name
        self._lock = Lock()
        self._kept: OrderedDict[str, View] = OrderedDict()
        self._last: View | None = None
        self._image: Image | None = None
        self._decisions: Decisions | None = None

    def current(self) -> View:
        """The fleet as it is now; UnavailableError before anything was accepted."""
        with self._lock:
            return self._current()

    def accepted(self) -> tuple[View, Image]:
        """The current view, and what is stored that it was made of."""
        with self._lock:
            view = self._current()
            assert self._image is not None
            return view, self._image

    def _current(self) -> View:
        now, version = self._clock.now(), self._store.version()
        last = self._last
        if last is None or last.version != version or (last.due is not None and last.due <= now):
            last = self._last = self._made(now)
            self._kept[last.tag] = last
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return last

    def kept(self, tag: str) -> View | None:
        """A view that somebody has seen a part of; None if it is no longer there."""
        with self._lock:
            return self._kept.get(tag)

    def _made(self, now: datetime) -> View:
        version, image = self._read()
        if not image.files:
            raise UnavailableError("no files were accepted yet", "wait for the first pass; `serve` says what is wrong")
        same_files = self._last is not None and self._image is not None and self._image.files == image.files
        fleet = self._last.fleet if same_files and self._last is not None else None
        if fleet is None:
            fleet = self._open_fleet(image.files, now, image.known)
        fleet = decided(fleet, image.known, now, self._decisions)
        self._image, self._decisions = image, fleet.decisions
        looks = [each for each in (fleet.decisions.next_due, fleet.plan.next_look) if each is not None and each > now]
        return View(version, f"{version}-{int(now.timestamp())}", fleet, min(looks, default=None))

    def _read(self) -> tuple[int, Image]:
        """What is stored, all of it at one version: what was read while somebody wrote is read again."""
        while True:
            version = self._store.version()
            image = read_image(self._store, self._name)
            if self._store.version() == version:
                return version, image
