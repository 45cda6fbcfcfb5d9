"""Writing: brings objects to what they should be, in a thread of its own, with a few requests at a time.

Nothing changed means no request. An object that was just written is not looked at again before the cache has seen that;
and one that is as the server made it of our last write is left alone, even if others keep parts of it: two writers that
disagree must not write for ever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from threading import Condition, RLock, Thread
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from fleetform.model.objects import Ref
from fleetform.operator.status.comparing import Request, requests
from fleetform.operator.status.seen import Cache
from fleetform.operator.status.wanted import Wanted
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.client import METADATA_ONLY, Client
from fleetform.outside.kubernetes.errors import ConflictError, InvalidError, MissingError, NotLeaderError

_SHORTEST_PAUSE, _LONGEST_PAUSE, _LOOK = 1.0, 60.0, 0.1
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


class _Metadata(Struct, rename="camel"):
    resource_version: str = ""


class _Written(Struct):
    metadata: _Metadata


class _Settled(NamedTuple):
    """What was wanted of an object when it was last written or found to be so, and the version that it then had."""

    wanted: Wanted | None
    version: str


_written = msgspec.json.Decoder(_Written)


class Writing:
    """Writes what `wanted` says. failed is told what could not be written, once each time."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        wanted: Mapping[Ref, Wanted],
        now: Callable[[], datetime],
        *,
        threads: int = 4,
        failed: Callable[[Ref, OutsideError], None] = lambda ref, error: None,
    ) -> None:
        self._client, self._cache, self._wanted, self._now = client, cache, wanted, now
        self._failed, self._threads = failed, threads
        self._query = urlencode({"fieldManager": client.manager, "force": "true", "fieldValidation": "Strict"})
        lock = RLock()
        self._state = Condition(lock)
        # For those who wait until all is written: they need not hear of every object.
        self._idle = Condition(lock)
        self._dirty: set[Ref] = set()
        self._again: set[Ref] = set()
        self._behind: set[Ref] = set()
        self._settled: dict[Ref, _Settled] = {}
        self._busy = False
        self._error: Exception | None = None
        self._stopped = False
        self._begun = self._is_whole = False
        # What nobody wants as far as is known, while not all is.
        self._unwanted: set[Ref] = set()
        self._thread = Thread(target=self._run, name="writes statuses", daemon=True)
        self.writes = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._state:
            self._stopped = True
            self._state.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def look_at(self, refs: Iterable[Ref]) -> None:
        """These objects, or what they should be, may be others than before."""
        with self._state:
            found = set(refs)
            self._dirty |= found
            self._behind -= found
            self._state.notify_all()

    def begin(self, is_whole: bool) -> None:
        """Write from now on. is_whole: all that is wanted is known, so that what is there and not wanted may go."""
        with self._state:
            if is_whole and not self._is_whole:
                self._dirty |= self._unwanted
                self._unwanted = set()
            self._begun = True
            self._is_whole |= is_whole
            self._state.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether everything that was to be written is written, and the cache has seen it."""
        with self._idle:
            return self._idle.wait_for(lambda: not (self._busy or self._dirty or self._again or self._behind), seconds)

    @property
    def waiting(self) -> int:
        """How many objects are to be looked at, or were written and not seen again yet."""
        with self._state:
            return len(self._dirty | self._again | self._behind)

    # ---- The thread

    def check(self) -> None:
        """Raises what ended the thread: whoever shows passes has to know that nothing is written any more."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._write_until_stopped()
        except Exception as error:
            self._error = error

    def _write_until_stopped(self) -> None:
        pause = _SHORTEST_PAUSE
        with ThreadPoolExecutor(self._threads, thread_name_prefix="writes a status") as pool:
            while True:
                refs = self._next(pause)
                if refs is None:
                    return
                pause = _SHORTEST_PAUSE if self._write_all(refs, pool) else min(pause * 2, _LONGEST_PAUSE)

    def _next(self, pause: float) -> list[Ref] | None:
        """What to look at; what failed is tried again after a pause. None: stop."""
        with self._state:
            self._busy = False
            self._idle.notify_all()
            if self._again and not self._state.wait_for(self._may_go_on, pause * random.uniform(1.0, 1.2)):
                self._dirty |= self._again
                self._again = set()
            while not self._may_go_on():
                # Nobody is told when a kind is listed that has no object, so that has to be looked at.
                self._state.wait(_LOOK if self._begun and self._dirty else None)
            if self._stopped:
                return None
            refs = sorted(each for each in self._dirty if self._cache.is_listed(each.kind))
            self._dirty -= set(refs)
            self._busy = True
            return refs

    def _may_go_on(self) -> bool:
        return self._stopped or (self._begun and any(map(self._cache.is_listed, {each.kind for each in self._dirty})))

    def _write_all(self, refs: list[Ref], pool: ThreadPoolExecutor) -> bool:
        """Whether nothing has to be tried again."""
        running: list[tuple[Ref, Wanted | None, Future[str]]] = []
        for ref in refs:
            if self._stopped:
                return True
            if ref.kind not in self._cache.kinds or self._has_to_wait(ref):
                continue
            wanted, seen = self._wanted.get(ref), self._cache.get(ref)
            if wanted is None and self._waits_for_the_rest(ref):
                continue
            settled = self._settled.get(ref)
            version = seen.metadata.resource_version if seen is not None else ""
            if settled is not None and settled.wanted is wanted and settled.version == version and version:
                continue
            found = requests(ref, wanted, seen, self._now())
            if found:
                running.append((ref, wanted, pool.submit(self._send_all, wanted, found)))
            elif seen is None:
                self._settled.pop(ref, None)
            else:
                self._settled[ref] = _Settled(wanted, version)
        failed = {ref for ref, wanted, future in running if not self._is_done(ref, wanted, future)}
        with self._state:
            self._again |= failed
        return not failed

    def _waits_for_the_rest(self, ref: Ref) -> bool:
        """Whether it may yet be wanted."""
        with self._state:
            if not self._is_whole:
                self._unwanted.add(ref)
            return not self._is_whole

    def _has_to_wait(self, ref: Ref) -> bool:
        """Whether the cache has yet to see what was written; it says so when it has."""
        with self._state:
            if not self._cache.is_behind(ref):
                return False
            # What it has seen meanwhile was told, and is looked at again.
            if ref not in self._dirty:
                self._behind.add(ref)
            return True

    def _is_done(self, ref: Ref, wanted: Wanted | None, future: Future[str]) -> bool:
        try:
            version = future.result()
        except NotLeaderError:
            return True
        except (MissingError, ConflictError):
            # Somebody else was there first: the cache will say what is there now.
            return True
        except InvalidError as error:
            # Trying again does not help; another wish or another object may.
            self._failed(ref, error)
            return True
        except OutsideError as error:
            self._failed(ref, error)
            return False
        if version:
            self._settled[ref] = _Settled(wanted, version)
        else:
            self._settled.pop(ref, None)
        return True

    def _send_all(self, wanted: Wanted | None, found: list[Request]) -> str:
        """The version that the object has then; "" if it is gone."""
        version = ""
        for each in found:
            version = self._send(wanted, each)
            if version:
                self._cache.wrote(each.ref, version)
        return version

    def _send(self, wanted: Wanted | None, request: Request) -> str:
        ref = request.ref
        resource = self._cache.resource(ref.kind)
        with self._state:
            self.writes += 1
        if request.verb == "delete":
            self._client.delete(resource, ref.organization, ref.name, uid=request.uid)
            return ""
        path = resource.path(ref.organization, ref.name, "status" if request.verb == "status" else "")
        query, content = self._query, _APPLY
        if request.verb == "merge":
            query, content = urlencode({"fieldManager": self._client.manager}), _MERGE
        # Of the answer one field is of use: both sides save the rest.
        encoded = msgspec.json.encode(request.body)
        body = self._client.raw("PATCH", f"{path}?{query}", encoded, content, METADATA_ONLY)
        return _written.decode(body).metadata.resource_version
