"""Server-sent events: one stream for each client, which tells it what has changed, so that it need not ask.

An event's id is a version of the store, and what of the feed the client was told last. A client that comes back names
the last one it has seen and gets what it missed; if that is no longer known it is told to begin anew (`reset`). Streams
hold nothing else: a slow client misses nothing, and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fleetform.app.errors import BadValueError, NoAnswerError
from fleetform.model.answers.access import ChangeNotice
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.notifications import Notification
from fleetform.ports.access import SignedIn
from fleetform.ports.clock import Clock
from fleetform.ports.store import StoreError
from fleetform.web.notices import Notices
from fleetform.web.service import Service

_EVERY = 0.05
_COMMENT_EVERY = 15.0
_MOST, _MOST_OF_ONE = 200, 20
_LONGEST_ID = 200
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Authorization"}


class TooManyStreamsError(NoAnswerError):
    """Somebody listens often enough already."""

    code = "unavailable"
    status = 429
    exit_code = 4


class Begun(AnswerRecord, frozen=True, kw_only=True):
    """From which version on a stream tells what changes: `ready`; or `reset`, if what was before is to be read anew."""

    version: int


# What each kind of event has as its data.
EVENT_DATA: Mapping[str, type[AnswerRecord]] = {
    "ready": Begun,
    "change": ChangeNotice,
    "notification": Notification,
    "reset": Begun,
}


class _Place(NamedTuple):
    """How far a client has come: a version of the store, and the id of what it was told last; None: nobody knows."""

    version: int
    told: str | None


class Streams:
    """All streams. They end when end is called, which any thread may."""

    def __init__(self, service: Service, notices: Notices, clock: Clock, comment_every: float = _COMMENT_EVERY) -> None:
        self._service, self._notices, self._clock = service, notices, clock
        self._comment_every = comment_every
        self._open: Counter[str] = Counter()
        self._ended = False
        self._news = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    def end(self) -> None:
        self._ended = True

    async def open(self, request: Request, asker: SignedIn) -> Response:
        await run_in_threadpool(self._service.visible, asker)
        last = request.headers.get("last-event-id", "")
        begin = _place(last) if last else None
        if self._open.total() >= _MOST or self._open[asker.who.user] >= _MOST_OF_ONE:
            raise TooManyStreamsError("there are too many streams", "close one, or share it")
        return _Stream(self, asker, begin)

    async def tell(self, asker: SignedIn, begin: _Place | None) -> AsyncIterator[bytes]:
        """The events of one client, from a place in an earlier stream on; None: from now on."""
        user = asker.who.user
        self._open[user] += 1
        if self._looking is None or self._looking.done():
            await run_in_threadpool(self._notices.look)
            self._looking = asyncio.create_task(self._look())
        try:
            async for part in self._told(asker, begin):
                yield part
        finally:
            self._open[user] -= 1

    async def _told(self, asker: SignedIn, begin: _Place | None) -> AsyncIterator[bytes]:
        notices = self._notices
        number = notices.number_of(begin.told if begin is not None else None)
        place = begin
        if begin is not None and begin.told is None:
            visible = await run_in_threadpool(self._service.visible, asker)
            place = _Place(begin.version, notices.last_told(visible))
        while not self._ended and (asker.until is None or self._clock.now() < asker.until):
            news = self._news
            steps = await run_in_threadpool(notices.since, place.version) if place is not None else None
            told = notices.told_after(number) if number is not None else []
            if steps is not None and not steps and number is not None and not told:
                try:
                    await asyncio.wait_for(news.wait(), self._comment_every)
                except TimeoutError:
                    yield b": still here\n\n"
                continue
            try:
                # Asked every time: who loses a role hears nothing more.
                visible = await run_in_threadpool(self._service.visible, asker)
            except (NoAnswerError, StoreError):
                return
            if place is None or steps is None or number is None:
                event = "ready" if place is None else "reset"
                number, place = notices.number_of(None), _Place(notices.version, notices.last_told(visible))
                yield _event(event, place, Begun(version=place.version))
                continue
            for step in steps:
                place = _Place(step.version, place.told)
                if (notice := step.notice(visible)) is not None:
                    yield _event("change", place, notice)
            for each in told:
                number = each.number
                if each.is_for(visible):
                    place = _Place(place.version, each.notification.id)
                    yield _event("notification", place, each.notification)

    async def _look(self) -> None:
        """Looks for something new as long as anybody listens."""
        while self._open.total() and not self._ended:
            with suppress(StoreError):
                if await run_in_threadpool(self._notices.look):
                    self._wake()
            await asyncio.sleep(_EVERY)
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


class _Stream(Response):
    """One stream as a response. It ends as soon as the client is gone."""

    def __init__(self, streams: Streams, asker: SignedIn, begin: _Place | None) -> None:
        super().__init__(headers=_HEADERS, media_type="text/event-stream")
        del self.headers["content-length"]
        self._streams, self._asker, self._begin = streams, asker, begin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def told() -> None:
            async for part in self._streams.tell(self._asker, self._begin):
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        tasks = [asyncio.create_task(told()), asyncio.create_task(gone())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _place(text: str) -> _Place:
    """Where a stream was when a client got its last event."""
    version, dot, told = text.partition(".")
    if not (version.isdecimal() and len(version) < 19 and len(told) <= _LONGEST_ID):
        raise BadValueError("Last-Event-ID is not the id of an event", "leave it out to begin now")
    return _Place(int(version), told if dot else None)


def _event(name: str, place: _Place, data: AnswerRecord) -> bytes:
    head = f"id: {place.version}.{place.told or ''}\nevent: {name}\ndata: "
    return head.encode() + msgspec.json.encode(data) + b"\n\n"
