"""The token that `serve` makes for its own user (S52): whoever has it is that user, and may do everything."""

from __future__ import annotations

import hashlib
import hmac

from fleetform.model.identity import Identity
from fleetform.ports.access import SignedIn


class OwnToken:
    """One token, known by its digest: digests are of one length, and compared in constant time."""

    def __init__(self, token: str, owner: Identity) -> None:
        self._digest, self._owner = hashlib.sha256(token.encode()).digest(), owner

    def identify(self, token: str) -> SignedIn | None:
        given = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        return SignedIn(self._owner) if hmac.compare_digest(given, self._digest) else None
