"""Signing in from a command line: the device grant (RFC 8628), bound to this process by a challenge (S256)."""

from __future__ import annotations

import hashlib
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from fleetform.access.issuer import IssuerDocument, IssuerError
from fleetform.app.errors import NoAnswerError
from fleetform.outside.http import trusted_certificates

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_TIMEOUT = httpx2.Timeout(20.0, connect=5.0)
# What RFC 8628 says of waiting: so long if nothing is said, and so much longer when asked to slow down.
_INTERVAL, _SLOWER = 5.0, 5.0
_LONGEST_INTERVAL = 60.0
_SCOPES = ("openid", "email", "profile", "groups", "offline_access")
_REQUIRED = ("openid", "email")
T = TypeVar("T")


class SignInError(NoAnswerError):
    """Somebody could not be signed in: exit 3, or 4 where trying again may help."""

    exit_code = 3
    code = "denied"


class SignInUnavailableError(SignInError):
    """The issuer cannot be asked now."""

    exit_code = 4
    code = "unavailable"


class Granted(Struct, frozen=True):
    """What an issuer gives. refresh_token is for the next time."""

    id_token: str = ""
    refresh_token: str = ""


class _Begun(Struct, frozen=True):
    """What somebody must do elsewhere, and how long there is time for it."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = 600.0
    interval: float = _INTERVAL


class _Refused(Struct, frozen=True):
    error: str = ""
    error_description: str = ""


class Waiting(NamedTuple):
    """What is shown to the one who signs in: where to go, and the code to type or to compare there."""

    address: str
    code: str
    complete_address: str


class Issuer:
    """An issuer, as a command line asks it. sleep waits, clock tells seconds."""

    def __init__(
        self,
        document: IssuerDocument,
        client_id: str,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._document, self._client_id, self._sleep, self._clock = document, client_id, sleep, clock

    def sign_in(self, show: Callable[[Waiting], None]) -> Granted:
        """Waits until somebody has agreed elsewhere."""
        if not self._document.device_authorization_endpoint:
            message = f"{self._document.issuer} has no device grant"
            raise SignInError(message, "ask whoever runs it to allow it for this client, or use a token file")
        verifier = secrets.token_urlsafe(48)
        challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        offered = self._document.scopes_supported
        scopes = [each for each in _SCOPES if each in _REQUIRED or each in offered]
        asked = {"scope": " ".join(scopes), "code_challenge": challenge, "code_challenge_method": "S256"}
        begun = self._begin(asked)
        show(Waiting(begun.verification_uri, begun.user_code, begun.verification_uri_complete))
        return self._poll(begun, verifier)

    def renew(self, refresh_token: str) -> Granted | None:
        """A new token for one that is over; None if the issuer wants to see the person again."""
        status, content = self._post(
            self._document.token_endpoint, {"grant_type": "refresh_token", "refresh_token": refresh_token}
        )
        if status == httpx2.codes.OK:
            return _read(content, Granted)
        if _refusal(content).error in ("invalid_grant", "interaction_required", "invalid_client"):
            return None
        raise SignInUnavailableError(f"{self._document.issuer} answers {status}", "try again")

    def _begin(self, asked: Mapping[str, str]) -> _Begun:
        status, content = self._post(self._document.device_authorization_endpoint, asked)
        if status != httpx2.codes.OK:
            found = _refusal(content)
            why = found.error_description or found.error or f"it answers {status}"
            raise SignInError(f"{self._document.issuer} does not begin a sign-in: {why}", "check --oidc-client-id")
        return _read(content, _Begun)

    def _poll(self, begun: _Begun, verifier: str) -> Granted:
        asked = {"grant_type": _GRANT, "device_code": begun.device_code, "code_verifier": verifier}
        interval, ends = max(begun.interval, 0.0), self._clock() + begun.expires_in
        while self._clock() + interval < ends:
            self._sleep(interval)
            try:
                status, content = self._post(self._document.token_endpoint, asked)
            except SignInUnavailableError:
                # Nobody there, or no answer in time: ask less often.
                interval = min(max(interval, 1.0) * 2, _LONGEST_INTERVAL)
                continue
            if status == httpx2.codes.OK:
                return _read(content, Granted)
            found = _refusal(content)
            if found.error == "slow_down":
                interval += _SLOWER
            elif found.error == "access_denied":
                raise SignInError("the sign-in was denied there", "run `fleetform login` again")
            elif found.error != "authorization_pending":
                break
        raise SignInError("nobody confirmed the sign-in in time", "run `fleetform login` again")

    def _post(self, address: str, form: Mapping[str, str]) -> tuple[int, bytes]:
        try:
            with httpx2.Client(timeout=_TIMEOUT, verify=trusted_certificates()) as client:
                found = client.post(address, data={"client_id": self._client_id, **form})
        except httpx2.HTTPError as error:
            message = f"{self._document.issuer} cannot be asked: {type(error).__name__}"
            raise SignInUnavailableError(message, "try again") from error
        if found.status_code >= httpx2.codes.INTERNAL_SERVER_ERROR:
            raise SignInUnavailableError(f"{self._document.issuer} answers {found.status_code}", "try again")
        return found.status_code, found.content


def _read(content: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=type_)
    except msgspec.DecodeError as error:
        raise SignInError("the issuer's answer cannot be read", "check --oidc-issuer") from error


def _refusal(content: bytes) -> _Refused:
    try:
        return msgspec.json.decode(content, type=_Refused)
    except msgspec.DecodeError:
        return _Refused()


__all__ = ["Granted", "Issuer", "IssuerError", "SignInError", "SignInUnavailableError", "Waiting"]
