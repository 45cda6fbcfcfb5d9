"""The HTTP API in this process, over a store that a control plane of the test's own world fills."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2

from fleetform.access.door import Door
from fleetform.access.own_token import OwnToken
from fleetform.app.fleet import Fleet, read_fleet
from fleetform.load.inputs import InputFile
from fleetform.load.reader import DocumentCache, load_files
from fleetform.loop.viewing import Views
from fleetform.model.identity import Identity
from fleetform.ports.access import SignInSettings, Tokens
from fleetform.ports.state import KnownState
from fleetform.store.sqlite import SqliteStore
from fleetform.store.sqlite_reader import SqliteReader
from fleetform.web.application import application
from fleetform.web.notices import Notices
from fleetform.web.refusals import Refusals
from fleetform.web.service import Service
from fleetform.web.streams import Streams
from support.plane import Files, Plane

TOKEN = "a-token-of-the-test"


def stored_fleet(files: Mapping[bytes, bytes] | Mapping[str, bytes], at: datetime, known: KnownState) -> Fleet:
    read = [InputFile(str(name), content) for name, content in sorted(files.items())]
    return read_fleet(load_files(read, "the files", DocumentCache()), at, state=known)


class ServedPlane:
    """A control plane and its API: the plane writes a file, and the API reads it."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str],
        owner: str = "ada",
        *others: Tokens,
        sign_in: SignInSettings | None = None,
    ) -> None:
        database = str(folder / "fleet.db")
        self.plane = Plane(Files(files), SqliteStore(database))
        reader, views_reader = SqliteReader(database), SqliteReader(database)
        clock = self.plane.clock
        self.views = Views(views_reader, stored_fleet, clock, database)
        self.service = Service(self.views, reader, clock, lambda asked: self.plane.control.ask(asked))
        self.denials: list[str] = []
        door = Door([OwnToken(TOKEN, Identity(owner, owner=True)), *others], self.denials.append, sign_in)
        self.notices = Notices(SqliteReader(database))
        self.streams = Streams(self.service, self.notices, clock, comment_every=0.2)
        refusals = Refusals(lambda told: self.plane.control.note_refused(told))
        self.app = application(self.service, door, self.streams, refusals.add)

    def send(self, method: str, path: str, token: str | None = TOKEN, **more: Any) -> httpx2.Response:
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}

        async def sent() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=self.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
                return await client.request(method, path, headers=headers, **more)

        return asyncio.run(sent())

    def get(self, path: str, **params: str | int) -> Any:
        """What an address answers."""
        found = self.send("GET", f"/api/v1/{path}", params=params)
        assert found.status_code == 200, found.text
        return found.json()

    def ask(self, rollout: str, verb: str, key: str = "", token: str = TOKEN, **body: Any) -> httpx2.Response:
        headers = {"Idempotency-Key": key} if key else {}
        return self.send("POST", f"/api/v1/rollouts/{rollout}/{verb}", token, json=body, headers=headers)
