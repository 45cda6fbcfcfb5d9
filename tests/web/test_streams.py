"""Server-sent events: what changes is told as it does, and who comes back gets what they missed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from fleetform.model.identity import Identity
from fleetform.web.endpoints import EVENTS
from fleetform.web.streams import EVENT_DATA
from support.api import TOKEN, ServedPlane
from support.askers import GivenTokens, token_of
from support.fleets import NOW
from web.test_answers import FILES
from web.test_roles import ACME, UMBRA, served_to_all


class Told(NamedTuple):
    event: str
    id: int
    data: dict[str, Any]
    place: str = ""


class Client:
    """One client of a stream, by ASGI: what it gets is put into a queue as it comes."""

    def __init__(self, served: ServedPlane, token: str = TOKEN, last: str | None = None) -> None:
        self._app, self._gone = served.app, asyncio.Event()
        headers = [(b"authorization", f"Bearer {token}".encode())]
        self._headers = [*headers, *([(b"last-event-id", last.encode())] if last is not None else [])]
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.headers: dict[str, str] = {}
        self.status = 0
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        scope = {"type": "http", "method": "GET", "path": EVENTS, "headers": self._headers, "query_string": b""}
        scope |= {
            "scheme": "http",
            "server": ("api", 80),
            "client": ("test", 1),
            "root_path": "",
            "http_version": "1.1",
        }
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            elif message.get("body"):
                self._parts.put_nowait(message["body"])

        try:
            await self._app(scope, receive, send)
        finally:
            self._parts.put_nowait(None)

    async def part(self) -> bytes | None:
        return await asyncio.wait_for(self._parts.get(), 20)

    async def next(self) -> Told | None:
        """The next event; None once the stream has ended."""
        while (part := await self.part()) is not None:
            if not part.startswith(b":"):
                fields = dict(line.split(": ", 1) for line in part.decode().strip().splitlines())
                place, data = fields["id"], json.loads(fields["data"])
                # The OpenAPI document tells of these.
                record = EVENT_DATA[fields["event"]]
                assert data.keys() <= {each.encode_name for each in msgspec.structs.fields(record)} | {"kind"}
                return Told(fields["event"], int(place.partition(".")[0]), data, place)
        return None

    async def leave(self) -> None:
        self._gone.set()
        await asyncio.wait_for(self.task, 20)


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(story(), 60))


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    return served_to_all(tmp_path, ACME)


def names(told: Told | None) -> set[tuple[str, str]]:
    assert told is not None
    return {(each["kind"], each["name"]) for each in told.data["objects"]}


def test_a_change_is_told_with_its_version(served: ServedPlane) -> None:
    async def story() -> None:
        client = Client(served)
        ready = await client.next()
        assert ready is not None
        assert (ready.event, ready.id) == ("ready", served.plane.store.version())
        assert client.headers["content-type"].startswith("text/event-stream")
        assert (client.headers["cache-control"], client.headers["x-accel-buffering"]) == ("no-store", "no")
        await asyncio.to_thread(served.ask, "web", "pause")
        change = await client.next()
        assert change is not None
        assert (change.event, change.id) == ("change", served.plane.store.version())
        (rollout,) = names(change)
        assert (rollout[0], rollout[1].startswith("web-"), change.data["files"]) == ("Rollout", True, False)
        served.plane.files.files["preset.yaml"] = FILES["preset.yaml"].replace("value: 2", "value: 3")
        await asyncio.to_thread(served.plane.settle)
        accepted = await client.next()
        assert accepted is not None
        assert accepted.data["files"] is True
        await client.leave()

    run(story)


def test_who_comes_back_gets_what_was_missed(served: ServedPlane) -> None:
    async def story() -> None:
        client = Client(served)
        ready = await client.next()
        assert ready is not None
        await client.leave()
        await asyncio.to_thread(served.ask, "web", "pause")
        await asyncio.to_thread(served.ask, "web", "resume")
        again = Client(served, last=str(ready.id))
        missed = await again.next()
        assert missed is not None
        assert (missed.event, missed.id) == ("change", served.plane.store.version())
        assert {kind for kind, _ in names(missed)} == {"Rollout"}
        await again.leave()

    run(story)


async def next_told(client: Client) -> Told:
    """The next thing that people are told, past changes."""
    while (told := await client.next()) is not None:
        if told.event == "notification":
            return told
    raise AssertionError("the stream has ended")


@pytest.mark.rule("R2-25")
def test_what_people_are_told_is_told_in_the_stream_and_again_to_who_missed_it(tmp_path: Path) -> None:
    async def story() -> None:
        served = served_to_all(tmp_path, {**ACME, **UMBRA})
        vera, uma = Client(served, token_of("vera")), Client(served, token_of("uma"))
        await vera.next()
        ready = await uma.next()
        assert ready is not None
        await asyncio.to_thread(served.ask, "shadow", "abort")
        first = await next_told(uma)
        assert (first.data["organization"], first.data["event"]) == ("umbra", "Halted")
        listed = await asyncio.to_thread(served.get, "notifications", organization="umbra")
        assert first.data == listed["items"][0]
        await uma.leave()
        await asyncio.to_thread(served.ask, "web", "abort")
        heard = await next_told(vera)
        assert heard.data["organization"] == "acme", "what others are told is none of theirs"
        again = Client(served, token_of("uma"), last=ready.place)
        missed = await next_told(again)
        assert missed.data == first.data
        await again.leave()
        # Whose last event was this one is not told of it again.
        quiet = Client(served, token_of("uma"), last=first.place)
        while (part := await quiet.part()) is not None and not part.startswith(b":"):
            assert b"event: notification" not in part
        unknown = Client(served, token_of("uma"), last=f"{first.id}.nobody-knows")
        assert (await unknown.next() or first).event == "reset"
        await asyncio.gather(vera.leave(), quiet.leave(), unknown.leave())

    run(story)


def test_who_was_away_too_long_begins_anew(served: ServedPlane) -> None:
    async def story() -> None:
        await asyncio.to_thread(served.ask, "web", "pause")
        served.plane.store.compact(0)
        for last in ("1", "999999"):
            client = Client(served, last=last)
            told = await client.next()
            assert told is not None
            assert (told.event, told.id) == ("reset", served.plane.store.version()), last
            await client.leave()
        odd = Client(served, last="soon")
        await odd.task
        assert odd.status == 400

    run(story)


def test_nobody_hears_of_what_is_not_theirs(tmp_path: Path) -> None:
    async def story() -> None:
        served = served_to_all(tmp_path, {**ACME, **UMBRA})
        vera, uma = Client(served, token_of("vera")), Client(served, token_of("uma"))
        await vera.next()
        await uma.next()
        await asyncio.to_thread(served.ask, "shadow", "pause")
        assert {name[:6] for _, name in names(await uma.next())} == {"shadow"}
        await asyncio.to_thread(served.ask, "web", "pause")
        assert {name[:3] for _, name in names(await vera.next())} == {"web"}
        await asyncio.gather(vera.leave(), uma.leave())

    run(story)


def test_who_loses_a_role_hears_nothing_more(served: ServedPlane) -> None:
    async def story() -> None:
        client = Client(served, token_of("vera"))
        await client.next()
        served.plane.files.files["acme.yaml"] = ACME["acme.yaml"].replace("vera", "vincent")
        await asyncio.to_thread(served.plane.settle)
        assert await client.next() is None

    run(story)


def test_a_comment_keeps_a_quiet_stream_open(served: ServedPlane) -> None:
    async def story() -> None:
        client = Client(served)
        await client.next()
        assert await client.part() == b": still here\n\n"
        assert await client.part() == b": still here\n\n"
        await client.leave()

    run(story)


def test_streams_end_with_the_server_and_with_the_token(tmp_path: Path) -> None:
    async def story() -> None:
        short = GivenTokens(Identity("ada"), until=NOW + timedelta(hours=1))
        served = ServedPlane(tmp_path, ACME, "root", short)
        served.plane.settle()
        own, mine = Client(served), Client(served, token_of("ada"))
        await own.next()
        await mine.next()
        served.plane.clock.at = NOW + timedelta(hours=2)
        assert await mine.next() is None
        assert not own.task.done()
        served.streams.end()
        assert await own.next() is None

    run(story)


def test_nobody_opens_streams_without_end(served: ServedPlane) -> None:
    async def story() -> None:
        clients = [Client(served, token_of("vera")) for _ in range(20)]
        for each in clients:
            await each.next()
        one_more = Client(served, token_of("vera"))
        await one_more.task
        assert one_more.status == 429
        other = Client(served, token_of("ed"))
        await other.next()
        assert other.status == 200
        await clients[0].leave()
        after = Client(served, token_of("vera"))
        await after.next()
        assert after.status == 200
        await asyncio.gather(*(each.leave() for each in (*clients[1:], other, after)))

    run(story)
