"""A file of tokens for programs and people who cannot sign in elsewhere: `serve --token-file`.

It holds hashes, so that who reads the file has no token. A token is long and random: one round of SHA-256 is enough for
it, where a password would need a slow hash.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Callable
from datetime import UTC
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fleetform.model.identity import Identity
from fleetform.outside.files import read_file, reason
from fleetform.ports.access import NotKnownError, SignedIn
from fleetform.ports.clock import Clock
from fleetform.syntax.times import parse_time
from fleetform.syntax.yaml_in import YamlError, read_one

_LARGEST = 1024 * 1024
_Name = Annotated[str, Meta(pattern=r"^[^\s#<>]{1,200}$")]


class TokenFileError(Exception):
    """A file of tokens cannot be used."""


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A token by its hash, whose it is, and until when."""

    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
    user: _Name
    groups: list[_Name] = []
    expires: str | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    tokens: list[_Entry]


class _Known(Struct, frozen=True):
    digest: bytes
    signed_in: SignedIn


class TokenFile:
    """The tokens of a file, read again when it is another. What cannot be read any more leaves those of before.

    failed is told why a file that was changed is not taken.
    """

    def __init__(self, path: str, clock: Clock, failed: Callable[[str], None]) -> None:
        self._path, self._clock, self._failed = path, clock, failed
        self._seen: tuple[int, ...] = _mark(path)
        self._known = _read(path)
        self._said = ""

    def identify(self, token: str) -> SignedIn | None:
        self._read_again()
        given = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        found: SignedIn | None = None
        for each in self._known:
            # All are compared: how long it takes says nothing about which one it was.
            if hmac.compare_digest(given, each.digest):
                found = each.signed_in
        if found is not None and found.until is not None and found.until <= self._clock.now():
            raise NotKnownError(f"the token of {found.who.user} expired {found.until}")
        return found

    def _read_again(self) -> None:
        try:
            mark = _mark(self._path)
            if mark == self._seen:
                return
            self._seen = mark
            self._known, self._said = _read(self._path), ""
        except TokenFileError as error:
            if str(error) != self._said:
                self._said = str(error)
                self._failed(f"{error}; the tokens from before stay valid")


def _mark(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise TokenFileError(f"{path} cannot be read: {reason(error)}") from error
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode


def _read(path: str) -> tuple[_Known, ...]:
    try:
        text = read_file(path, _LARGEST).decode()
        mode = os.stat(path).st_mode
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise TokenFileError(f"{path} cannot be read: {why}") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TokenFileError(f"others may write to {path}, and so give themselves tokens: chmod go-w {path}")
    try:
        found = msgspec.convert(read_one(text), _File)
        known = tuple(_known(each) for each in found.tokens)
    except (YamlError, msgspec.ValidationError, ValueError) as error:
        raise TokenFileError(f"{path}: {error}") from error
    digests = [each.digest for each in known]
    if len(set(digests)) < len(digests):
        raise TokenFileError(f"{path}: a token is listed twice")
    return known


def _known(entry: _Entry) -> _Known:
    until = parse_time(entry.expires).astimezone(UTC) if entry.expires is not None else None
    who = Identity(entry.user, groups=tuple(entry.groups))
    return _Known(bytes.fromhex(entry.hash.removeprefix("sha256:")), SignedIn(who, until))


def check_token_file(path: str) -> None:
    """TokenFileError if a file cannot be used."""
    _read(path)


def hash_of(token: str) -> str:
    """What stands in a file for a token."""
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()
