"""Secrets of a cluster, where what refers to them is applied to it."""

from __future__ import annotations

from fleetform.engine.bindings.fields import FieldError, decode_base64
from fleetform.outside.kubernetes.client import Client


def secret_there(client: Client, namespace: str, name: str, key: str) -> str | None:
    """What a Secret of a cluster holds under a key; None if there is no text there."""
    live = client.get(client.resource("v1", "Secret"), namespace, name)
    encoded = ((live or {}).get("data") or {}).get(key)
    try:
        return decode_base64(encoded) if encoded is not None else None
    except FieldError:
        return None
