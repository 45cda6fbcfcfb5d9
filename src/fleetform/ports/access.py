"""Who is asking: from a token to the one who was given it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from fleetform.model.identity import Identity


class SignedIn(NamedTuple):
    """Somebody whose token was found good, until a time."""

    who: Identity
    until: datetime | None = None


class NotKnownError(Exception):
    """A token is nobody's, or no longer good. The reason is for who runs the server, and never told to who asks."""


class Refused(NamedTuple):
    """Nobody who is known; why is for those who run the server alone."""

    reason: str


class Tokens(Protocol):
    """One kind of token."""

    def identify(self, token: str) -> SignedIn | None:
        """Who has it; None: it is none of these. NotKnownError: it is, and is not good."""


class SignInSettings(NamedTuple):
    """How people sign in to a server: the issuer of tokens, and what this server is called there."""

    issuer: str
    client_id: str

    @property
    def document(self) -> Mapping[str, object]:
        """As RFC 9728 has it, with the client that a command line is."""
        return {
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            "fleetform_client_id": self.client_id,
        }
