"""Tokens of control planes: `serve` leaves one for its own user, and the command line of that user finds it (S52).

A token is made when a server starts and removed when it ends. What listens at the same address later, whoever started
it, learns nothing that is worth anything from a client that still has an old one.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from urllib.parse import urlsplit

from fleetform.outside.files import read_private, write_private

_LONGEST = 1000


def address_of(url: str) -> str:
    """The address that a server listens at, as its token is named: `127.0.0.1:8080`."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{'127.0.0.1' if host == 'localhost' else host}:{port}"


def make_token(address: str) -> str:
    """A new token, in a file that only this user may read."""
    token = secrets.token_urlsafe(32)
    write_private(token_file(address), f"{token}\n".encode())
    return token


def find_token(address: str) -> str | None:
    """The token that was given, or the one that a server of this user left."""
    given = os.environ.get("FLEETFORM_TOKEN")
    if given:
        return given.strip()
    found = read_private(token_file(address), _LONGEST)
    return found.decode(errors="replace").strip() if found is not None else None


def forget_token(address: str, token: str) -> None:
    """Remove a token, unless another server has put its own there."""
    if read_private(token_file(address), _LONGEST) == f"{token}\n".encode():
        with suppress(OSError):
            os.unlink(token_file(address))


def token_file(address: str) -> str:
    return os.path.join(config_folder(), "tokens", file_name(address))


def config_folder() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "fleetform")


def file_name(address: str) -> str:
    """An address as the name of a file."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", address)
