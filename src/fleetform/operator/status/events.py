"""Events: what happened, as `kubectl describe` and `kubectl get events` show it (events.k8s.io/v1).

They are for people and are lost after an hour: what must be known later stands in the history. What repeats becomes a
series of one Event. Where many plugins of a rollout do the same at once, it is told on the rollout alone.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from queue import Empty, Full, Queue
from threading import Event as Flag
from threading import Thread
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec

from fleetform.model.kinds import API_VERSION
from fleetform.model.kinds.status import PluginStatus, RolloutStatus, Status
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.operator.status.conditions import shortened
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.wanted import Wanted
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import Client
from fleetform.outside.kubernetes.errors import MissingError
from fleetform.outside.kubernetes.resources import Resource
from fleetform.ports.store import Event
from fleetform.syntax.addresses import without_logins

_EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
_CONTROLLER = "fleetform.dev/operator"
_WARNINGS = frozenset(
    {
        "Failed",
        "RolledBack",
        "SetAside",
        "RenderFailed",
        "NotRendered",
        "RenderChanged",
        "Drifted",
        "Halted",
        "RollingBack",
        "Blocked",
        "Invalid",
        "LeftBehind",
    }
)
_GONE = frozenset({"Deleted", "HandedOver", "Retained", "LeftBehind"})
_TOLD_PHASES = frozenset({"Halted", "RollingBack", "Paused", "Succeeded", "Aborted", "Superseded"})
# As many plugins of a rollout are told of one by one in a pass.
_MOST_ALIKE = 20
_LONGEST_NOTE, _LONGEST_NAME = 1000, 200
_MOST_WAITING, _MOST_SERIES = 1_000, 4_096
# A series is over when nothing was added to it for so long, and is not written more often than that.
_SERIES, _BETWEEN = timedelta(minutes=30), timedelta(minutes=1)
_PATIENCE, _PAUSE, _SHORT_PAUSE = 20.0, 0.5, 0.05


class Told(NamedTuple):
    """Something that happened to an object, and the one that it has to do with."""

    regarding: Ref
    reason: str
    note: str
    at: datetime
    related: Ref | None = None

    @property
    def type(self) -> Literal["Normal", "Warning"]:
        return "Warning" if self.reason in _WARNINGS else "Normal"


def from_store(events: Sequence[Event], names: Callable[[PluginKey], Ref | None]) -> Iterator[Told]:
    """What a pass stored, on the plugins that it is about; and on their rollouts, once for all that is alike."""
    alike = Counter((each.organization, each.rollout, each.event) for each in events)
    told: set[tuple[str, str, str]] = set()
    for each in events:
        group = (each.organization, each.rollout, each.event)
        rollout = Ref("Rollout", each.organization, each.rollout) if each.rollout else None
        many = rollout is not None and alike[group] > _MOST_ALIKE and each.event not in _WARNINGS
        plugin = names((each.organization, each.cluster, each.plugin))
        if plugin is not None and not many:
            yield Told(plugin, each.event, _sentence(each), each.at, rollout)
        if many and rollout is not None and group not in told:
            told.add(group)
            yield Told(rollout, each.event, f"{alike[group]:,} clusters: {_sentence(each, of_one=False)}", each.at)


def _sentence(event: Event, of_one: bool = True) -> str:
    version = f" {event.version}" if event.version else ""
    where = f" on {event.cluster}" if of_one else ""
    said = {
        "Started": f"{version.strip() or 'a change'} is brought there",
        "RolledBack": f"goes back to{version or ' what was healthy before'}",
        "Healthy": f"{version.strip() or 'it'} is healthy",
        "Failed": f"{version.strip() or 'it'} failed",
        "SetAside": "the cluster does not answer and is set aside",
        "RenderFailed": "what is wanted cannot be rendered",
        "NotRendered": "what is wanted cannot be rendered for now",
        "Deleted": f"was deleted{where}",
        "HandedOver": "was handed over",
        "Drifted": "is not as it was delivered",
        "DriftEnded": "drift ended",
        "Retained": "is no longer managed; what is installed stays",
        "LeftBehind": "could not be deleted",
    }.get(event.event, event.event)
    return f"{said}: {event.reason}" if event.reason else said


def from_changes(
    changed: Iterable[Ref], before: Mapping[Ref, Wanted], now: Mapping[Ref, Wanted], at: datetime
) -> Iterator[Told]:
    """What nobody stored, since it follows from a plan: that somebody is needed."""
    for ref in sorted(changed):
        wanted = now.get(ref)
        if wanted is None:
            continue
        status, earlier = wanted.status, before[ref].status if ref in before else None
        if isinstance(status, PluginStatus):
            was = earlier.state if isinstance(earlier, PluginStatus) else None
            gate = status.blocked[0] if status.blocked else None
            # That something cannot be rendered was stored, and told with the reason.
            if status.state == "Blocked" != was and gate is not None and gate.gate != "render-failed":
                note = f"{gate.message} ({gate.do})" if gate.do else gate.message
                yield Told(ref, "Blocked", note, at)
        elif isinstance(status, RolloutStatus):
            phase = earlier.phase if isinstance(earlier, RolloutStatus) else None
            if status.phase in _TOLD_PHASES and status.phase != phase:
                note = next((each.message for each in status.conditions if each.type == "Complete"), "")
                yield Told(ref, status.phase or "", note or f"the rollout is {status.phase}", at)
            asked = next((each.message for each in status.conditions if each.type == "ApprovalNeeded"), None)
            asked_before = earlier is not None and any(each.type == "ApprovalNeeded" for each in earlier.conditions)
            if asked is not None and not asked_before:
                yield Told(ref, "ApprovalNeeded", asked, at)
        wrong = _invalid(status)
        if wrong is not None and (earlier is None or _invalid(earlier) is None):
            yield Told(ref, "Invalid", wrong, at)


def _invalid(status: Status) -> str | None:
    """What is wrong with an object."""
    return next((each.message for each in status.conditions if each.type == "Valid" and each.status == "False"), None)


class _Series(NamedTuple):
    """An Event that was written: how often it happened so far, when it last did, and when that was written."""

    name: str
    times: int
    last: datetime
    written: datetime


class Events:
    """Writes Events in a thread of its own. What cannot be written is dropped: nothing depends on it."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        instance: str,
        failed: Callable[[str, OutsideError], None] = lambda what, error: None,
    ) -> None:
        self._client, self._cache, self._instance, self._failed = client, cache, instance, failed
        self._waiting: Queue[tuple[Told, float]] = Queue(_MOST_WAITING)
        self._series: OrderedDict[tuple[Ref, str, str, str], _Series] = OrderedDict()
        self._stop = Flag()
        self._thread = Thread(target=self._run, name="writes events", daemon=True)
        self.dropped = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def tell(self, happened: Iterable[Told]) -> None:
        for each in happened:
            self._put(each, time.monotonic() + _PATIENCE)

    def wait(self) -> None:
        """Until all that was told is written."""
        self._waiting.join()

    def _put(self, told: Told, until: float) -> None:
        try:
            self._waiting.put_nowait((told, until))
        except Full:
            self.dropped += 1

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                told, until = self._waiting.get(timeout=_PAUSE)
            except Empty:
                continue
            try:
                uid = self._uid(told)
                if uid is not None:
                    self._write(told, uid)
                elif time.monotonic() < until:
                    # An object that is being made: others come first.
                    self._put(told, until)
                    self._stop.wait(_SHORT_PAUSE)
            except OutsideError as error:
                self._failed(f"an Event of {told.regarding}", error)
            finally:
                self._waiting.task_done()

    def _uid(self, told: Told) -> str | None:
        """The uid of what it is about, by which kubectl finds it; None if that is not there yet."""
        if told.reason in _GONE:
            return ""
        seen = self._cache.get(told.regarding)
        return seen.metadata.uid if seen is not None else None

    def _write(self, told: Told, uid: str) -> None:
        note = shortened(without_logins(told.note), _LONGEST_NOTE)
        key = (told.regarding, uid, told.reason, note)
        known = self._series.pop(key, None)
        if known is not None and timedelta(0) <= told.at - known.last < _SERIES:
            self._series[key] = self._repeated(told, known)
            return
        name = _name(told, key)
        path = _EVENTS.path(told.regarding.organization) + "?" + urlencode({"fieldManager": self._client.manager})
        self._client.raw("POST", path, msgspec.json.encode(self._manifest(told, name, uid, note)))
        self._series[key] = _Series(name, 1, told.at, told.at)
        while len(self._series) > _MOST_SERIES:
            self._series.popitem(last=False)

    def _repeated(self, told: Told, known: _Series) -> _Series:
        times = known.times + 1
        if times > 2 and told.at - known.written < _BETWEEN:
            return known._replace(times=times, last=told.at)
        path = _EVENTS.path(told.regarding.organization, known.name)
        series = {"series": {"count": times, "lastObservedTime": _micro(told.at)}}
        # Events end by themselves.
        with suppress(MissingError):
            self._client.raw("PATCH", path, msgspec.json.encode(series), "application/merge-patch+json")
        return _Series(known.name, times, told.at, told.at)

    def _manifest(self, told: Told, name: str, uid: str, note: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "apiVersion": _EVENTS.api_version,
            "kind": "Event",
            "metadata": {"name": name, "namespace": told.regarding.organization},
            "eventTime": _micro(told.at),
            "reportingController": _CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": "Told" if told.reason in _TOLD_PHASES else told.reason[:128],
            "reason": told.reason[:128],
            "type": told.type,
            "note": note,
            "regarding": {**_reference(told.regarding), **({"uid": uid} if uid else {})},
        }
        if told.related is not None:
            found["related"] = _reference(told.related)
        return found


def _reference(ref: Ref) -> dict[str, str]:
    return {"apiVersion": API_VERSION, "kind": ref.kind, "namespace": ref.organization, "name": ref.name}


def _name(told: Told, key: tuple[Ref, str, str, str]) -> str:
    text = msgspec.json.encode([*key[0], *key[1:], _micro(told.at)])
    return f"{told.regarding.name[:_LONGEST_NAME].rstrip('-.')}.{hashlib.sha256(text).hexdigest()[:16]}"


def _micro(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"
