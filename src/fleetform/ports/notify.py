"""Sending notifications: what the loop needs of the world that people are told in."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from fleetform.model.answers.notifications import Notification


class Endpoint(NamedTuple):
    """Where notifications go. secrets are texts by name: keys that sign, a token, an address that nobody may see.

    Nobody prints one: it has no text of its own.
    """

    id: str
    organization: str
    kind: Literal["webhook", "slack"]
    url: str = ""
    channel: str = ""
    secrets: tuple[tuple[str, str], ...] = ()

    def secret(self, name: str) -> str:
        return dict(self.secrets).get(name, "")

    def __repr__(self) -> str:
        return f"{self.kind} {self.id} of {self.organization}"


class Letter(NamedTuple):
    """What is sent: id is the same at every try."""

    id: str
    notification: Notification


class Outcome(NamedTuple):
    """What came of a try. gone: nobody wants anything there any more. wait: the receiver asks for so much time.

    failure is why it did not arrive; it contains no secret.
    """

    failure: str = ""
    gone: bool = False
    wait: timedelta | None = None

    @property
    def arrived(self) -> bool:
        return not self.failure


class Notifier(Protocol):
    """Sends; several threads may at once, each to an endpoint of its own."""

    def send(self, endpoint: Endpoint, letter: Letter, now: datetime) -> Outcome:
        """One try, bounded in time. It raises nothing."""
        ...
