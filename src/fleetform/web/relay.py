"""The relay: requests go from the process of the API to the loop, which alone writes, and replies come back.

Messages are msgpack over a pipe of the system; nothing that is received is ever run.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoReplyError
from contextlib import suppress
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from threading import Lock, Thread

import msgspec

from fleetform.app.problems import problem, problem_of
from fleetform.loop.asking import Reply, RolloutRequest
from fleetform.ports.store import StoreError, UnavailableError

_PATIENCE = 60.0
# The loop says that it ends. Its pipe cannot just be closed, while a thread of it still reads.
_END = b""
# Without a request it says that the source may have something new; a text is about people who were refused.
_request = msgspec.msgpack.Decoder(tuple[int, RolloutRequest | str | None])
_reply = msgspec.msgpack.Decoder(tuple[int, Reply])
_encode = msgspec.msgpack.encode


class ToLoop:
    """The API's end. ended is called when the loop is gone."""

    def __init__(self, pipe: Connection, ended: Callable[[], None], patience: float = _PATIENCE) -> None:
        self._pipe, self._ended, self._patience = pipe, ended, patience
        self._numbers, self._lock = count(1), Lock()
        self._waiting: dict[int, Future[Reply]] = {}
        Thread(target=self._receive, daemon=True).start()

    def ask(self, request: RolloutRequest) -> Reply:
        """The loop's reply, once the pass that runs is over. UnavailableError if none comes."""
        future: Future[Reply] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = future
            try:
                self._pipe.send_bytes(_encode((number, request)))
            except OSError as error:
                raise UnavailableError("the control plane is ending", "ask again when it runs") from error
        try:
            return future.result(self._patience)
        except NoReplyError as error:
            hint = "ask again with the same Idempotency-Key: it is carried out once"
            raise UnavailableError("the control plane is busy; this may still be carried out", hint) from error
        finally:
            self._waiting.pop(number, None)

    def look(self) -> None:
        """Have the source looked at soon. Nobody waits for that, nor minds if the loop is ending."""
        with self._lock, suppress(OSError):
            self._pipe.send_bytes(_encode((0, None)))

    def refused(self, told: str) -> None:
        """Have it stand in the audit log that people were refused."""
        with self._lock, suppress(OSError):
            self._pipe.send_bytes(_encode((0, told)))

    def _receive(self) -> None:
        try:
            while (message := self._pipe.recv_bytes()) != _END:
                number, reply = _reply.decode(message)
                waiting = self._waiting.get(number)
                if waiting is not None:
                    waiting.set_result(reply)
        except (EOFError, OSError):
            pass
        self._ended()


class FromApi:
    """The loop's end. between_passes has something done by the loop, which ask then is, and
    refused, too; look wakes it.

    ended is called if the API is gone before it was told to end.
    """

    def __init__(
        self,
        pipe: Connection,
        ask: Callable[[RolloutRequest], Reply],
        between_passes: Callable[[Callable[[], None]], None],
        look: Callable[[], None],
        refused: Callable[[str], None],
        failed: Callable[[Exception], None],
        ended: Callable[[], None],
    ) -> None:
        self._pipe, self._ask, self._between_passes, self._look = pipe, ask, between_passes, look
        self._refused, self._failed, self._ended = refused, failed, ended
        self._ending = False
        Thread(target=self._receive, daemon=True).start()

    def end(self) -> None:
        """Tells the API to end."""
        self._ending = True
        with suppress(OSError):
            self._pipe.send_bytes(_END)

    def _receive(self) -> None:
        try:
            while True:
                number, request = _request.decode(self._pipe.recv_bytes())
                if request is None:
                    self._look()
                elif isinstance(request, str):
                    self._between_passes(partial(self._note_refused, request))
                else:
                    self._between_passes(partial(self._carry_out, number, request))
        except (EOFError, OSError):
            if not self._ending:
                self._ended()

    def _note_refused(self, told: str) -> None:
        try:
            self._refused(told)
        except StoreError:
            # The disk is full, or gone: what a pass says of it is enough.
            return

    def _carry_out(self, number: int, request: RolloutRequest) -> None:
        try:
            reply = self._ask(request)
        except StoreError as error:
            reply = Reply(problem=problem_of(error))
        except Exception as error:
            # A request that meets a bug must not end the loop: nothing of it was stored.
            self._failed(error)
            reply = Reply(problem=problem(500, "internal", "this is a bug in Fleetform", "its output says more"))
        with suppress(OSError):
            # Who is gone is noticed by the one that receives.
            self._pipe.send_bytes(_encode((number, reply)))
