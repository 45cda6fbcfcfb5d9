"""What a command line got when somebody signed in: kept for each server, for that user alone, and renewed in time."""

from __future__ import annotations

import fcntl
import os
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct, structs

from fleetform.access.device_grant import Granted, Issuer, SignInError, Waiting
from fleetform.access.issuer import IssuerError, discover, issuer_web, must_be_safe
from fleetform.outside.files import read_private, write_private
from fleetform.outside.http import same_origin
from fleetform.outside.tokens import address_of, config_folder, file_name
from fleetform.ports.access import SignInSettings

_LARGEST = 64 * 1024
# A token that ends sooner than this is renewed before it is sent.
_IN_TIME = 60.0


class Login(Struct, frozen=True, rename="camel"):
    """Somebody who is signed in at a server."""

    server: str
    issuer: str
    client_id: str
    id_token: str
    refresh_token: str = ""


class _Expiry(Struct, frozen=True):
    exp: float = 0.0


def sign_in(server: str, settings: SignInSettings, show: Callable[[Waiting], None]) -> None:
    """Signs somebody in, and keeps what the issuer gave."""
    try:
        must_be_safe(server)
        document = discover(issuer_web(), settings.issuer)
    except IssuerError as error:
        raise SignInError(str(error), "ask whoever runs the server") from error
    granted = Issuer(document, settings.client_id).sign_in(show)
    if not granted.id_token:
        raise SignInError(f"{settings.issuer} gives no ID token", "allow the scope openid for this client")
    _keep(Login(server, settings.issuer, settings.client_id, granted.id_token, granted.refresh_token))


def sign_out(server: str) -> bool:
    """Forgets what was kept; whether anything was."""
    path = login_file(server)
    there = os.path.exists(path)
    with suppress(OSError):
        os.unlink(path)
    return there


def token_for(server: str) -> str | None:
    """The token that somebody signed in with, renewed if it is over; None if nobody is signed in there."""
    login = _read(server)
    if login is None or not same_origin(login.server, server):
        return None
    if _lasts(login.id_token) or not login.refresh_token:
        return login.id_token
    with _alone(server):
        # Another command may have renewed it meanwhile, and a refresh token is often good for one use.
        login = _read(server)
        if login is None or _lasts(login.id_token):
            return login.id_token if login is not None else None
        try:
            granted = Issuer(discover(issuer_web(), login.issuer), login.client_id).renew(login.refresh_token)
        except IssuerError as error:
            raise SignInError(str(error), f"fleetform login --server {server}") from error
        return _renewed(login, granted)


def _renewed(login: Login, granted: Granted | None) -> str | None:
    if granted is None or not granted.id_token:
        sign_out(login.server)
        return None
    refresh = granted.refresh_token or login.refresh_token
    _keep(structs.replace(login, id_token=granted.id_token, refresh_token=refresh))
    return granted.id_token


def login_file(server: str) -> str:
    return os.path.join(config_folder(), "logins", file_name(address_of(server)))


def _keep(login: Login) -> None:
    write_private(login_file(login.server), msgspec.json.encode(login))


def _read(server: str) -> Login | None:
    found = read_private(login_file(server), _LARGEST)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found, type=Login)
    except msgspec.DecodeError:
        return None


@contextmanager
def _alone(server: str) -> Iterator[None]:
    """One process at a time."""
    handle = os.open(login_file(server) + ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lasts(token: str) -> bool:
    """Whether a token is good for a while. What it says is not proved here: the server does that."""
    try:
        part = token.split(".")[1]
        ends = msgspec.json.decode(urlsafe_b64decode(part + "=" * (-len(part) % 4)), type=_Expiry).exp
    except (IndexError, ValueError, msgspec.DecodeError):
        return True
    return ends - time.time() > _IN_TIME
