"""Admission while an operator runs: the endpoint, and its certificate looked after."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Literal

from fleetform.app.fleet import Fleet
from fleetform.operator.admission.certificates import OwnCertificates, certificate_in
from fleetform.operator.admission.manifests import Installed
from fleetform.operator.admission.reviews import Answer
from fleetform.operator.admission.serving import Admission, AdmissionServer
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access
from fleetform.outside.listening import Listening
from fleetform.outside.log import Log

# self: the operator makes its certificates. mounted: somebody else does, as cert-manager, and they are in a folder.
Certificates = Literal["self", "mounted"]
_EVERY = 60.0


class RunningAdmission:
    """Answers until it is closed. folder is where the certificate is, or is written to: a volume in memory.

    OutsideError if the certificates cannot be made, OSError if those that are mounted cannot be read.
    """

    def __init__(
        self,
        fleet: Callable[[], Fleet | None],
        access: Access,
        installed: Installed,
        listening: Listening,
        folder: Path,
        certificates: Certificates = "self",
        client_ca: str | None = None,
        log: Log | None = None,
        every: float = _EVERY,
        answered: Callable[[Answer, float], None] = lambda answer, seconds: None,
    ) -> None:
        self._log, self._every, self._end = log or Log(), every, Event()
        self._keys: OwnCertificates | None = None
        if certificates == "self":
            self._keys = OwnCertificates(access, installed.namespace, installed.hosts, folder, _now)
            self._keys.look()
        admission = Admission(fleet, installed.user, self._log, answered=answered)
        self._server = AdmissionServer(admission, listening, certificate_in(folder), self._log, client_ca)
        self._thread = Thread(target=self._look, name="certificates", daemon=True)
        self._thread.start()

    @property
    def answers(self) -> bool:
        return self._server.answers

    @property
    def is_alive(self) -> bool:
        """Whether its certificate is looked after; one that somebody mounts needs none of that."""
        return self._keys is None or self._thread.is_alive()

    def close(self) -> None:
        self._end.set()
        self._server.close()
        self._thread.join()
        if self._keys is not None:
            self._keys.close()

    def _look(self) -> None:
        # Replicas that start together do not look together.
        while self._keys is not None and not self._end.wait(self._every * random.uniform(0.8, 1.2)):
            try:
                self._keys.look()
            except OutsideError as error:
                self._log.write("warning", f"admission: certificates are looked at again later: {error.message}")


def _now() -> datetime:
    return datetime.now(UTC)
