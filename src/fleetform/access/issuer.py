"""What an OpenID Connect issuer says of itself: its addresses, and the keys that it signs with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key
from msgspec import Struct, field

from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web
from fleetform.syntax.addresses import is_loopback

# An unknown key is looked for at most once in this time: a token that names one costs an attacker nothing.
_AT_MOST_EVERY = 60.0
# A key that the issuer has taken back is forgotten by then.
_KEPT_FOR = 600.0
# After a failure nobody waits for the issuer again until then.
_AFTER_FAILURE = 10.0
_LARGEST = 1024 * 1024
_TIMEOUT, _PATIENCE = 5.0, 15.0
_DISCOVERY = "/.well-known/openid-configuration"


class IssuerError(Exception):
    """An issuer cannot be asked, or says something that cannot be."""


class IssuerDocument(Struct, frozen=True):
    """The parts of an issuer's document that matter here."""

    issuer: str
    jwks_uri: str
    token_endpoint: str = ""
    device_authorization_endpoint: str = ""
    scopes_supported: list[str] = field(default_factory=list)


def issuer_web() -> Web:
    """What issuers are asked with: those who sign in wait for it."""
    return Web(timeout=_TIMEOUT, patience=_PATIENCE, limit=_LARGEST)


def discover(web: Web, issuer: str) -> IssuerDocument:
    """The document of an issuer. It must say that it is this issuer's: else anybody's keys could be put in."""
    must_be_safe(issuer)
    found = _json(web, issuer.rstrip("/") + _DISCOVERY)
    try:
        document = msgspec.convert(found, IssuerDocument)
    except msgspec.ValidationError as error:
        raise IssuerError(f"{issuer} has no usable {_DISCOVERY}: {error}") from error
    if document.issuer != issuer:
        raise IssuerError(f"{issuer} says that it is {document.issuer}: write it in the same way")
    for address in (document.jwks_uri, document.token_endpoint, document.device_authorization_endpoint):
        if address:
            must_be_safe(address)
    return document


def must_be_safe(address: str) -> None:
    """Keys and tokens go over https only, or stay on this machine."""
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise IssuerError(f"{address} is not an https address")


class IssuerKeys:
    """The keys of an issuer, fetched when one is needed that is not known, or when they are old."""

    def __init__(self, web: Web, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._web, self._issuer, self._clock = web, issuer, clock
        self._lock = Lock()
        self._keys: Mapping[str, Key] = {}
        self._fetched: float | None = None
        self._next = float("-inf")

    def find(self, kid: str | None) -> Key | None:
        """A key by its name; without a name, the only one that there is. IssuerError if none was ever had."""
        with self._lock:
            now = self._clock()
            old = self._fetched is None or now - self._fetched > _KEPT_FOR
            if (old or self._named(kid) is None) and now >= self._next:
                self._fetch(now)
            if self._fetched is None:
                raise IssuerError(f"{self._issuer} could not be asked for its keys")
            return self._named(kid)

    def _named(self, kid: str | None) -> Key | None:
        if kid is not None:
            return self._keys.get(kid)
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    def _fetch(self, now: float) -> None:
        try:
            document = discover(self._web, self._issuer)
            keys = _keys(_json(self._web, document.jwks_uri))
        except IssuerError:
            self._next = now + _AFTER_FAILURE
            if self._fetched is None:
                raise
            # Those of before still hold: an issuer that is away for an hour locks nobody out.
            return
        self._keys, self._fetched, self._next = keys, now, now + _AT_MOST_EVERY


def _keys(found: Any) -> Mapping[str, Key]:
    """Keys for signatures by name. What this release cannot read is none of them."""
    keys: dict[str, Key] = {}
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise IssuerError("its keys are not a list")
    for number, each in enumerate(listed):
        if not isinstance(each, dict) or each.get("kty") == "oct" or each.get("use", "sig") != "sig":
            continue
        try:
            keys[str(each.get("kid", f"#{number}"))] = import_key(each)
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    return keys


def _json(web: Web, address: str) -> Any:
    try:
        return msgspec.json.decode(web.get(address, "application/json").content)
    except OutsideError as error:
        raise IssuerError(str(error)) from error
    except msgspec.DecodeError as error:
        raise IssuerError(f"{address} does not answer with JSON") from error
