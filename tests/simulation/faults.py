"""Faults: what a real world does to a control plane between any two writes, on purpose and at a chosen moment.

Three kinds of moments are counted: passes, commits and deliveries. Everything that a pass reads (clock, files, health)
is read once in it, so that one fault of reading per pass is every fault of reading there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from fleetform.model.results.decisions import PluginKey
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput
from fleetform.ports.delivery import Drift, Failure, Note, Parcel
from fleetform.ports.observing import Delivered, Verdict
from fleetform.ports.sources import SourceFiles
from fleetform.ports.store import Commit, ConflictError, UnavailableError
from fleetform.store.memory import MemoryStore
from support.plane import Files, PlainRenders, ScriptedHealth, Targets

Where = Literal["pass", "commit", "delivery"]
# clock-*: the clock is set. unseen: no event tells of changed files. stale-files: the source says what it said last.
# unreadable, half-read, empty: not all files can be read, some are missing without a word of it being whole, none is
# there. no-renders: the tool that renders is missing. silent, stale-health: no cluster answers; each judges what it had
# before the last delivery. restart: another process takes over.
AT_PASS = (
    "clock-back",
    "clock-forward",
    "unseen",
    "stale-files",
    "unreadable",
    "half-read",
    "empty",
    "no-renders",
    "silent",
    "stale-health",
    "restart",
)
# full: this commit is refused. down: this one and the next two. lost-answer: it took place, and nobody heard.
AT_COMMIT = ("crash-before", "crash-after", "lost-answer", "full", "down", "conflict")
# partial: half of it arrives and the process ends. refused: half of it arrives, the rest is told to have failed.
# unreachable: this delivery and the next two fail. twice: everything arrives two times. lost-answer: everything
# arrives, and is told to have failed.
AT_DELIVERY = ("crash-before", "crash-after", "partial", "refused", "unreachable", "twice", "lost-answer")
KINDS: Mapping[Where, tuple[str, ...]] = {"pass": AT_PASS, "commit": AT_COMMIT, "delivery": AT_DELIVERY}
# The source says what it said before the last edit, after that was read, as a mirror that lags behind does. Nobody can
# tell that from people who take back what they wrote: laws hold, and it ends elsewhere if what they wrote had failed.
OLDER_FILES = "older-files"
_LASTS = 3
# When a cluster that does not answer is asked again.
_ASKED_AGAIN = timedelta(minutes=20)


class CrashError(BaseException):
    """The process ends here. No handler of the product may stop it."""


class Fault(NamedTuple):
    """What happens at which moment: the nth pass, commit or delivery, counted from 1."""

    where: Where
    number: int
    kind: str


@dataclass
class Moments:
    """Counts moments, and says what the schedule has for each."""

    faults: Mapping[tuple[Where, int], str] = field(default_factory=dict)
    counts: dict[Where, int] = field(default_factory=lambda: {"pass": 0, "commit": 0, "delivery": 0})
    # How often a store, or targets, will still fail.
    down: int = 0
    unreachable: int = 0
    # The moments of one pass, in order, with those at which something happened.
    met: list[tuple[Where, int]] = field(default_factory=list)
    happened: int = 0

    def at(self, where: Where) -> str | None:
        self.counts[where] += 1
        moment = (where, self.counts[where])
        self.met.append(moment)
        kind = self.faults.get(moment)
        if kind is not None:
            self.happened += 1
        elif where == "commit" and self.down:
            self.down -= 1
            self.happened += 1
            return "full"
        elif where == "delivery" and self.unreachable:
            self.unreachable -= 1
            self.happened += 1
            return "unreachable-still"
        if kind == "down":
            self.down = _LASTS - 1
        elif kind == "unreachable":
            self.unreachable = _LASTS - 1
        return kind


class FaultyStore:
    """A store at whose commits things happen. committed is told what really took place."""

    def __init__(self, store: MemoryStore, moments: Moments, committed: Callable[[Commit], None]) -> None:
        self.inner, self._moments, self._committed = store, moments, committed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def commit(self, commit: Commit, at: datetime) -> int:
        kind = self._moments.at("commit")
        if kind == "crash-before":
            raise CrashError
        if kind in ("full", "down"):
            raise UnavailableError("the disk is full", "make room")
        if kind == "conflict":
            ref = commit.writes[0].ref if commit.writes else None
            raise ConflictError(ref, 1, 2) if ref is not None else UnavailableError("busy", "try again")
        self._committed(commit)
        version = self.inner.commit(commit, at)
        if kind == "crash-after":
            raise CrashError
        if kind == "lost-answer":
            raise UnavailableError("no answer", "try again")
        return version


class FaultyTargets(Targets):
    """Clusters at whose deliveries things happen. before is what was there until the last delivery."""

    def __init__(
        self, moments: Moments, judge: Callable[[Sequence[Parcel], Sequence[PluginKey]], None] = lambda *_: None
    ) -> None:
        super().__init__()
        self._moments, self._judge = moments, judge
        self.before: dict[PluginKey, Parcel] = {}
        # Clusters that neither answer nor take anything, for as long as somebody says so.
        self.silent: set[str] = set()

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        self._judge(parcels, removals)
        kind = self._moments.at("delivery")
        if kind == "crash-before":
            raise CrashError
        if kind in ("unreachable", "unreachable-still"):
            return self._failed([each.key for each in parcels], removals)
        self.before = dict(self.there)
        unheard = self._failed(
            [each.key for each in parcels if each.key[1] in self.silent],
            [each for each in removals if each[1] in self.silent],
        )
        parcels = [each for each in parcels if each.key not in unheard]
        removals = [each for each in removals if each not in unheard]
        return {**unheard, **self._deliver(parcels, removals, note, kind)}

    def _deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note, kind: str | None
    ) -> Mapping[PluginKey, Failure]:
        if kind in ("partial", "refused"):
            some, few = len(parcels) // 2, len(removals) // 2
            super().deliver(parcels[:some], removals[:few], note)
            if kind == "partial":
                raise CrashError
            return self._failed([each.key for each in parcels[some:]], removals[few:])
        found = super().deliver(parcels, removals, note)
        if kind == "twice":
            found = super().deliver(parcels, removals, note)
        if kind == "crash-after":
            raise CrashError
        if kind == "lost-answer":
            return self._failed([each.key for each in parcels], removals)
        return found

    def _failed(self, keys: Sequence[PluginKey], removals: Sequence[PluginKey]) -> Mapping[PluginKey, Failure]:
        return dict.fromkeys([*keys, *removals], Failure("the remote is gone", "wait for it"))

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        return ()


class FaultySource(Files):
    """Files that can be read in a wrong way, as long as `reading` says so."""

    reading: str | None = None

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__(files)
        self.seen = self.before = self.files

    def edit(self, files: Mapping[str, str]) -> None:
        self.before, self.files = self.files, dict(files)

    def read(self) -> SourceFiles:
        files, problems = self.files, []
        if self.reading == "stale-files":
            files = self.seen
        elif self.reading == OLDER_FILES:
            files = self.before
        elif self.reading == "empty":
            files = {}
        elif self.reading in ("unreadable", "half-read"):
            problems = [Diagnostic("cannot-read", "cannot read clusters.yaml", "check the disk")]
            files = {name: text for name, text in files.items() if name != "clusters.yaml"}
            if self.reading == "half-read":
                # What can be read is another fleet by itself, in which some are gone.
                files["clusters.yaml"] = self.files["clusters.yaml"].rpartition("---\n")[0]
        else:
            self.seen = files
        return SourceFiles({name: text.encode() for name, text in files.items()}, problems)


class FaultyRenders(PlainRenders):
    """A tool that is missing, as long as `there` does not say otherwise."""

    there: bool = True

    def _render(self, input_: RenderInput) -> Rendered | RenderFailure:
        if self.there:
            return super()._render(input_)
        return RenderFailure("helm is not there", "install it", unavailable=True)


class FaultyHealth(ScriptedHealth):
    """Clusters that do not answer, or not yet of what they have now, as long as `answering` says so."""

    answering: str | None = None
    _targets: FaultyTargets

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        if self.answering == "silent":
            return {each.key: Verdict("Unknown", "no answer", reachable=False) for each in delivered}
        heard = [each for each in delivered if each.key[1] not in self._targets.silent]
        unheard = Verdict("Unknown", "no answer", now + _ASKED_AGAIN, reachable=False)
        return {**{each.key: unheard for each in delivered}, **self._heard(heard, now)}

    def _heard(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        if self.answering == "stale-health":
            there, self._targets.there = self._targets.there, self._targets.before
            try:
                return super().observe(delivered, now)
            finally:
                self._targets.there = there
        return super().observe(delivered, now)
