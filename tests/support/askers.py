"""People who ask, by the tokens that they have."""

from __future__ import annotations

from datetime import datetime

from fleetform.model.identity import Identity
from fleetform.ports.access import SignedIn


class GivenTokens:
    """Tokens that are just names: whoever has one is that person, with those groups."""

    def __init__(self, *people: Identity, until: datetime | None = None) -> None:
        self._people = {f"token-of-{each.user}": SignedIn(each, until) for each in people}

    def identify(self, token: str) -> SignedIn | None:
        return self._people.get(token)


def token_of(user: str) -> str:
    return f"token-of-{user}"
