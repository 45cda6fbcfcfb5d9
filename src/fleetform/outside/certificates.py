"""The server's certificate: read again when its files are others, so that a renewed one needs no restart."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from threading import Event, Thread
from typing import NamedTuple

_EVERY = 1.0


class Certificate(NamedTuple):
    """The files of a certificate and its key."""

    certificate: str
    key: str

    def check(self) -> None:
        """OSError or ssl.SSLError if the two cannot be used."""
        self.load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))

    def load(self, context: ssl.SSLContext) -> None:
        # A key that asks for a password would wait for somebody at the terminal.
        context.load_cert_chain(self.certificate, self.key, password=lambda: "")

    def mark(self) -> tuple[tuple[int, int, int], ...]:
        """Is another as soon as one of the files is."""
        found = [os.stat(each) for each in self]
        return tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


class CertificateWatch:
    """Looks at the files from time to time, and has new connections use what is there. told gets what is wrong."""

    def __init__(
        self, certificate: Certificate, context: ssl.SSLContext, told: Callable[[str], None], every: float = _EVERY
    ) -> None:
        self._certificate, self._context, self._told, self._every = certificate, context, told, every
        self._seen = certificate.mark()
        self._end = Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def look(self) -> None:
        try:
            mark = self._certificate.mark()
            if mark != self._seen:
                # Both files are replaced one after the other: a pair that does not fit yet is looked at again.
                self._certificate.check()
                self._certificate.load(self._context)
                self._seen = mark
        except OSError as error:
            self._told(f"the certificate cannot be read again, and stays as it was: {error.strerror or error}")

    def _watch(self) -> None:
        while not self._end.wait(self._every):
            self.look()
