"""What lets us in somewhere. Never printed."""

from __future__ import annotations

from typing import NamedTuple


class Credentials(NamedTuple):
    """A user name and password, or a token of the other side's."""

    username: str | None = None
    password: str | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"
