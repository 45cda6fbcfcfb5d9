"""Credentials for servers. Never printed."""

from __future__ import annotations

from typing import NamedTuple


class Credentials(NamedTuple):
    """A user name and password, a token, or a private key with the host keys to trust."""

    username: str | None = None
    password: str | None = None
    token: str | None = None
    private_key: str | None = None
    known_hosts: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"
