"""The process of the API: beside the loop, over the same database, which it only reads."""

from __future__ import annotations

import getpass
import grp
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Event

from fleetform.access.token_file import TokenFileError
from fleetform.loop.asking import Reply, RolloutRequest
from fleetform.model.identity import Identity
from fleetform.outside.certificates import Certificate, CertificateWatch
from fleetform.outside.listening import Listening
from fleetform.outside.log import Log
from fleetform.outside.promptness import answer_promptly
from fleetform.outside.records import prepare_records
from fleetform.outside.tokens import forget_token, make_token
from fleetform.ports.store import StoreError
from fleetform.web.relay import FromApi, ToLoop
from fleetform.wiring.access import AccessSettings, open_door
from fleetform.wiring.views import open_views

_PATIENCE = 5.0
_REPEATED, _MOST_REMARKS = 60.0, 20


@dataclass(frozen=True)
class Served:
    """What the API answers about: the arguments of `serve`. With a webhook_secret git servers may tell of pushes."""

    sources: tuple[str, ...]
    database: str
    organization: str | None
    at: str | None
    plugin_folder: str | None
    access: AccessSettings
    certificate: Certificate | None = None
    webhook_secret: str | None = None
    log: Log = field(default_factory=Log)


class Api:
    """The API while it runs. look has the source looked at; refused gets what is said of people who were not let in;
    ended is called if its process ends by itself."""

    def __init__(
        self,
        listening: Listening,
        served: Served,
        ask: Callable[[RolloutRequest], Reply],
        between_passes: Callable[[Callable[[], None]], None],
        look: Callable[[], None],
        refused: Callable[[str], None],
        failed: Callable[[Exception], None],
        ended: Callable[[], None],
    ) -> None:
        self._address, self._token = listening.address, make_token(listening.address)
        # A fresh interpreter: a fork would inherit the lock and the connection of the one that writes.
        spawn = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process: BaseProcess = spawn.Process(
            target=run_api, args=(listening.socket, served, self._token, theirs), name="fleetform api", daemon=True
        )
        self._process.start()
        theirs.close()
        listening.socket.close()
        self._relay = FromApi(self._pipe, ask, between_passes, look, refused, failed, ended)

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def close(self) -> None:
        """Ends the process; one that does not end is killed."""
        self._relay.end()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        # Once nobody answers any more: who asks until then is known.
        forget_token(self._address, self._token)


def run_api(listening: socket.socket, served: Served, token: str, pipe: Connection) -> None:
    """Serves until the loop is gone. The main function of the process."""
    # Imported here: only this process speaks HTTP.
    import uvicorn

    from fleetform.app.explain import explain_ahead
    from fleetform.web.application import application
    from fleetform.web.notices import Notices
    from fleetform.web.refusals import Refusals
    from fleetform.web.service import Service
    from fleetform.web.streams import Streams
    from fleetform.web.webhooks import Webhook

    class Server(uvicorn.Server):
        """One that leaves signals alone: the loop ends first, and this with it."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    # Ctrl-C reaches the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server: Server | None = None
    streams: Streams | None = None

    def ended() -> None:
        if streams is not None:
            streams.end()
        if server is not None:
            server.should_exit = True
        else:
            os._exit(0)

    loop, remarks = ToLoop(pipe, ended), _Remarks(served.log)
    try:
        viewing = open_views(served.sources, served.database, served.organization, served.at, served.plugin_folder)
        door = open_door(served.access, token, this_user(), viewing.clock, remarks.say)
    except StoreError as error:
        served.log.write("error", f"api: {error.message}")
        return
    except TokenFileError as error:
        served.log.write("error", f"api: {error}")
        return
    answer_promptly()
    prepare_records()
    viewing.views.follow(Event(), remarks.say, prepare=explain_ahead)
    service = Service(viewing.views, viewing.history, viewing.clock, loop.ask)
    streams = Streams(service, Notices(viewing.changes), viewing.clock)
    app = application(service, door, streams, Refusals(loop.refused).add, served.log)
    config = uvicorn.Config(
        Webhook(app, served.webhook_secret, loop.look) if served.webhook_secret is not None else app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=3,
        ssl_certfile=served.certificate.certificate if served.certificate is not None else None,
        ssl_keyfile=served.certificate.key if served.certificate is not None else None,
    )
    if served.certificate is not None:
        config.load()
        assert config.ssl is not None
        CertificateWatch(served.certificate, config.ssl, remarks.say)
    server = Server(config)
    server.run(sockets=[listening])


class _Remarks:
    """Tells who runs the server why tokens are not taken; the same thing once a minute."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._said: dict[str, float] = {}

    def say(self, text: str) -> None:
        now = time.monotonic()
        self._said = {each: at for each, at in self._said.items() if now - at < _REPEATED}
        if text not in self._said and len(self._said) < _MOST_REMARKS:
            self._said[text] = now
            self._log.write("warning", f"api: {text}")


def this_user() -> Identity:
    """The user that runs this, and its groups."""
    user = getpass.getuser()
    names = {group.gr_name for group in grp.getgrall() if user in group.gr_mem or group.gr_gid == os.getgid()}
    return Identity(user, groups=tuple(sorted(names)), owner=True)
