"""A server that takes every connection and never says anything."""

from __future__ import annotations

import socket
from threading import Thread
from typing import Self


class SilentServer:
    """On a port of its own; `taken` is how many connections there were."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._held: list[socket.socket] = []
        self._thread = Thread(target=self._take, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    @property
    def taken(self) -> int:
        return len(self._held)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hangs up."""
        if self._socket.fileno() < 0:
            return
        # Wakes whoever waits for a connection; to close alone does not.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        for each in (self._socket, *self._held):
            each.close()

    def _take(self) -> None:
        while True:
            try:
                self._held.append(self._socket.accept()[0])
            except OSError:
                return
