"""The endpoint that an API server asks, over HTTPS.

It answers from the last fleet that somebody gives it. Without one it is not ready, and refuses writes with a word that
says so: what was not checked must not be stored. Deletions pass, as nothing about them is ever refused.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.judge import judge
from fleetform.operator.admission.manifests import PATH
from fleetform.operator.admission.reviews import Answer, Request, read_review, write_review
from fleetform.outside.certificates import Certificate, CertificateWatch
from fleetform.outside.listening import Listening
from fleetform.outside.log import Log

# An object and the one before it, each as large as API servers take them.
_LARGEST = 8 * 1024 * 1024
# What was applied a moment ago may not be in our fleet yet: a refusal that depends on other objects waits so long for a
# newer one. People apply whole folders, one object after the other.
PATIENCE = 0.5
_LOOKING = 0.02
_NOT_READY = Answer(
    allowed=False, message="Fleetform has not read the fleet yet, so this cannot be checked: try again", code=503
)
_FAILED = Answer(allowed=False, message="Fleetform could not check this: its log says why", code=500)


class Admission:
    """Answers reviews. fleet gives the last fleet that is known, decided, and None before there is one.

    answered is told each answer, and how many seconds it took.
    """

    def __init__(
        self,
        fleet: Callable[[], Fleet | None],
        operator: str,
        log: Log | None = None,
        patience: float = PATIENCE,
        answered: Callable[[Answer, float], None] = lambda answer, seconds: None,
    ) -> None:
        self._fleet, self._operator, self._log, self._patience = fleet, operator, log or Log(), patience
        self._answered = answered
        # One at a time: an answer is work for the processor, and the loop beside it stays free for probes.
        self._worker = ThreadPoolExecutor(1, "admission")

    def application(self) -> Starlette:
        return Starlette(routes=[Route(PATH, self._review, methods=["POST"])])

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: Request) -> Answer:
        fleet = self._fleet()
        answer = await self._judged(fleet, request)
        if answer.allowed or not answer.of_others:
            return answer
        newer = await self._newer_than(fleet)
        return await self._judged(newer, request) if newer is not None else answer

    async def _judged(self, fleet: Fleet | None, request: Request) -> Answer:
        deletes = request.operation == "DELETE"
        if fleet is None:
            return Answer() if deletes else _NOT_READY
        try:
            running = asyncio.get_running_loop()
            return await running.run_in_executor(self._worker, judge, fleet, request, self._operator)
        except Exception as error:
            # Whatever it is: the API server gets an answer, and who runs this the reason.
            what = f"{request.kind.kind}/{request.namespace}/{request.name}"
            place = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
            self._log.write("error", f"admission: {what} could not be checked: {why}")
            return Answer() if deletes else _FAILED

    async def _newer_than(self, fleet: Fleet | None) -> Fleet | None:
        """A fleet that comes within some time; None if none does."""
        end = asyncio.get_running_loop().time() + self._patience
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(_LOOKING)
            found = self._fleet()
            if found is not fleet:
                return found
        return None

    async def _review(self, http: HttpRequest) -> Response:
        try:
            if int(http.headers.get("content-length") or _LARGEST + 1) > _LARGEST:
                return PlainTextResponse("a review of at most 8 MiB, with its length, is expected\n", 413)
            request = read_review(await http.body())
        except (msgspec.MsgspecError, ValueError):
            return PlainTextResponse("an AdmissionReview of admission.k8s.io/v1 is expected\n", 400)
        begun = time.perf_counter()
        answer = await self.answer(request)
        self._answered(answer, time.perf_counter() - begun)
        return Response(write_review(request.uid, answer), media_type="application/json")


class AdmissionServer:
    """The endpoint while it runs, in a thread of its own. With client_ca only who has a certificate by it may ask."""

    def __init__(
        self,
        admission: Admission,
        listening: Listening,
        certificate: Certificate,
        log: Log | None = None,
        client_ca: str | None = None,
        look_every: float = 1.0,
    ) -> None:
        config = uvicorn.Config(
            admission.application(),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=5,
            ssl_certfile=certificate.certificate,
            ssl_keyfile=certificate.key,
            ssl_ca_certs=client_ca,
            ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca is not None else ssl.CERT_NONE,
        )
        config.load()
        assert config.ssl is not None
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        remarks = log or Log()
        self._watch = CertificateWatch(
            certificate, config.ssl, lambda text: remarks.write("warning", f"admission: {text}"), look_every
        )
        self._admission, self._server = admission, _Server(config)
        self._thread = Thread(target=self._server.run, args=([listening.socket],), name="admission", daemon=True)
        self._thread.start()

    @property
    def answers(self) -> bool:
        return self._server.started and self._thread.is_alive()

    def close(self) -> None:
        """Ends after the answers that are under way."""
        self._server.should_exit = True
        self._thread.join()
        self._watch.close()
        self._admission.close()


class _Server(uvicorn.Server):
    """One that leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
