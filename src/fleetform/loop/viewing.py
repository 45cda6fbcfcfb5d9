"""Viewing: the fleet as it is stored, for those who ask beside the loop. They write nothing.

A view is one state: all of an answer, and all pages of a list, come from one. The next one is made from the one before:
what changed in the store since is read, and only what that reaches is decided anew. The last few are kept for those who
are still turning pages.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Condition, Event, Lock, Thread
from typing import NamedTuple

import msgspec

from fleetform.app.fleet import Fleet, Planned
from fleetform.loop.accepting import OpenFleet
from fleetform.loop.deciding import decided
from fleetform.loop.records import FILE, NO_SOURCE, SOURCE, SourceRecord
from fleetform.ports.clock import Clock
from fleetform.ports.state import KnownState
from fleetform.ports.store import ExpiredError, StoreError, StoreReader, UnavailableError
from fleetform.store.known_state import followed, read_with_troubles

_KEPT = 3
_EVERY = 0.05


@dataclass(frozen=True)
class View:
    """The fleet at a version of the store. tag names this very view; due is when time alone decides otherwise."""

    version: int
    tag: str
    fleet: Fleet
    due: datetime | None

    @property
    def planned(self) -> Planned | None:
        """The plan of this view, or else the last one before it: to make the next from."""
        made = self.fleet.__dict__
        return Planned(made["owner_changes"], made["plan"]) if "plan" in made else self.fleet.planned

    def is_of(self, now: datetime) -> bool:
        """Whether what was decided still holds."""
        return self.due is None or now < self.due

    def is_planned_for(self, now: datetime) -> bool:
        """Whether its plan still holds; it is made if nobody has asked for it yet."""
        look = self.fleet.plan.next_look
        return look is None or look <= self.fleet.plan.at or now < look


class Accepted(NamedTuple):
    """A view, and the files that it was made of. They are not kept in memory: there may be many."""

    view: View
    files: Mapping[str, bytes]
    source: SourceRecord


class Views:
    """Views of one store. Several threads may ask at once.

    As it is made, each question looks whether something is new. follow has that done by a thread of its own: questions
    then get the last view that there is, and wait for none.
    """

    def __init__(self, store: StoreReader, open_fleet: OpenFleet, clock: Clock, name: str) -> None:
        self._store, self._open_fleet, self._clock, self._name = store, open_fleet, clock, name
        self._making = Lock()
        self._made = Condition()
        self._kept: OrderedDict[str, View] = OrderedDict()
        self._last: View | None = None
        # Why the last one could not be made, and of which version.
        self._failure: tuple[Exception, int] | None = None
        self._needed = 0
        self._follows = False
        self._prepare: Callable[[Fleet], None] = lambda fleet: None

    def follow(
        self,
        end: Event,
        told: Callable[[str], None],
        every: float = _EVERY,
        prepare: Callable[[Fleet], None] = lambda fleet: None,
    ) -> None:
        """Make views beside those who ask, until the end. told gets what went wrong.

        prepare is given the first fleet before anybody sees it: what it finds out nobody has to wait for.
        """
        self._follows = True

        def prepared(fleet: Fleet) -> None:
            try:
                prepare(fleet)
            except Exception as error:
                told(f"the first view of the fleet could not be prepared: {error!r}; this is a bug")

        self._prepare = prepared

        def run() -> None:
            while not end.wait(every):
                try:
                    self._refresh()
                except StoreError:
                    continue
                except Exception as error:
                    told(f"no view of the fleet can be made: {error!r}; this is a bug")

        Thread(target=run, daemon=True).start()

    def need(self, version: int) -> None:
        """From now on nobody is shown anything older: somebody has changed something, and will look."""
        with self._made:
            self._needed = max(self._needed, version)

    def current(self, planned: bool = True) -> View:
        """The fleet as it is now, with a plan of now if one is needed; UnavailableError before anything is accepted."""
        if not self._follows:
            self._refresh()
        with self._made:
            self._made.wait_for(lambda: self._failed() is not None or self._shown() is not None)
            failure = self._failed()
            if failure is not None:
                raise failure
            view = self._shown()
            assert view is not None
        return view if not planned or view.is_planned_for(self._clock.now()) else self._refresh(anew=view)

    def accepted(self) -> Accepted:
        """The current view, with the files that it was made of and the commit that they are from."""
        while True:
            view = self.current()
            with self._making:
                try:
                    files = self._files(view.version)
                    found = self._store.list(SOURCE, version=view.version).records
                except ExpiredError:
                    # Much was stored since: there is a later view by now.
                    continue
                source = msgspec.json.decode(found[0].body, type=SourceRecord) if found else NO_SOURCE
                return Accepted(view, files, source)

    def kept(self, tag: str) -> View | None:
        """A view that somebody has seen a part of; None if it is no longer there."""
        with self._made:
            return self._kept.get(tag)

    def _failed(self) -> Exception | None:
        """Why there is no view; what failed before somebody changed something says nothing about now."""
        return self._failure[0] if self._failure is not None and self._failure[1] >= self._needed else None

    def _shown(self) -> View | None:
        return self._last if self._last is not None and self._last.version >= self._needed else None

    def _refresh(self, anew: View | None = None) -> View:
        """The view of now: the last one, if nothing is another. anew is one that no longer will do."""
        with self._making:
            now, last, version = self._clock.now(), self._last, sys.maxsize
            try:
                version = self._store.version()
                if last is None or last is anew or not last.is_of(now) or last.version != version:
                    last = self._next(last, now)
            except Exception as error:
                self._keep(self._last, (error, version))
                raise
            if self._last is None:
                self._prepare(last.fleet)
            self._keep(last, None)
            return last

    def _keep(self, view: View | None, failure: tuple[Exception, int] | None) -> None:
        with self._made:
            self._failure = failure
            if view is not None and view is not self._last:
                self._last = self._kept[view.tag] = view
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._made.notify_all()

    def _next(self, last: View | None, now: datetime) -> View:
        version, known, other_files = self._read(last)
        fleet = last.fleet if last is not None and not other_files else self._opened(version, known, now)
        previous = last.fleet.decisions if last is not None else None
        planned = last.planned if last is not None else None
        fleet = replace(decided(fleet, known, now, previous), planned=planned)
        due = fleet.decisions.next_due
        return View(version, f"{version}-{int(now.timestamp())}", fleet, due if due is not None and due > now else None)

    def _read(self, last: View | None) -> tuple[int, KnownState, bool]:
        """The version that there is, what is known at it, and whether files are others than those of the last view."""
        try:
            if last is not None:
                changes = self._store.changes(last.version)
                known = followed(last.fleet.state, changes, self._store, self._name)
                refs = (*(each.ref for each in changes.records), *(ref for ref, _ in changes.removed))
                return changes.version, known, any(ref.kind == FILE for ref in refs)
        except ExpiredError:
            # Longer ago than the store remembers: everything is read.
            pass
        while True:
            version = self._store.version()
            try:
                return version, read_with_troubles(self._store, self._name, version), True
            except ExpiredError:
                continue

    def _opened(self, version: int, known: KnownState, now: datetime) -> Fleet:
        files = self._files(version)
        if not files:
            raise UnavailableError("no files were accepted yet", "wait for the first pass; `serve` says what is wrong")
        return self._open_fleet(files, now, known)

    def _files(self, version: int) -> dict[str, bytes]:
        return {each.ref.name: each.body for each in self._store.list(FILE, version=version).records}
