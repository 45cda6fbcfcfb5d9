"""Webhooks, as Standard Webhooks describe them: an id that is the same at every try, a time, and a signature over both
and the body, by each key that is in use. While a key is changed there are two, so that receivers can follow."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import datetime

import msgspec

from fleetform.outside.errors import OutsideError
from fleetform.ports.notify import Endpoint, Letter

_PREFIX = "whsec_"


def body_of(letter: Letter) -> bytes:
    """The same bytes at every try: the signature covers them."""
    told = letter.notification
    return msgspec.json.encode({"type": told.event, "timestamp": told.at, "data": told})


def headers_of(endpoint: Endpoint, letter: Letter, body: bytes, now: datetime) -> dict[str, str]:
    timestamp = str(int(now.timestamp()))
    headers = {"Content-Type": "application/json", "webhook-id": letter.id, "webhook-timestamp": timestamp}
    keys = [key for name in ("secret", "previous") if (key := endpoint.secret(name))]
    if keys:
        signed = f"{letter.id}.{timestamp}.".encode() + body
        headers["webhook-signature"] = " ".join(_signature(key, signed) for key in keys)
    return headers


def _signature(key: str, signed: bytes) -> str:
    return "v1," + base64.b64encode(hmac.new(_bytes(key.strip()), signed, hashlib.sha256).digest()).decode()


def _bytes(key: str) -> bytes:
    """whsec_ and base64, as the standard writes a key; any other text is the key itself."""
    if not key.startswith(_PREFIX):
        return key.encode()
    try:
        return base64.b64decode(key.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        # Its message, and the chain, could show the key.
        raise OutsideError("the key that signs is not base64 after whsec_", "write whsec_ and base64") from None
