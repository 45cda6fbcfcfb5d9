"""What secrets of the input are: told apart by keyed digests, and looked up where they are applied. Never printed."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec

from fleetform.app.reading.secrets import secret_object, secret_texts
from fleetform.model.results.decisions import Secret, SecretOnCluster
from fleetform.model.snapshot import Snapshot


def secret_value(snapshot: Snapshot, organization: str, name: str, key: str) -> str | None:
    """What a Secret of an organization holds under a key; None if there is none."""
    found = secret_object(snapshot, organization, name)
    return secret_texts(found.content).get(key) if found is not None else None


class SecretDigests:
    """Digests of the secrets of one fleet, with the store's key: who knows a digest cannot try out secrets (B18)."""

    def __init__(self, key: str, snapshot: Snapshot) -> None:
        self._key, self._snapshot = key.encode(), snapshot

    def __call__(self, organization: str, secret: Secret) -> str | None:
        value: Any = secret.plain
        if value is None and isinstance(secret.ref, SecretOnCluster):
            return secret.ref.digest or None
        if value is None and secret.ref is not None:
            value = secret_value(self._snapshot, organization, secret.ref.name, secret.ref.key)
        if value is None:
            return None
        return hmac.new(self._key, msgspec.json.encode(value), hashlib.sha256).hexdigest()
