"""Parsed files by their content, kept between commands: of 10,000 files that did not change none is parsed again.

A file's bytes are always read, and its trees are found by their hash. What is kept is data that cannot run anything,
signed with a key of this user that lies elsewhere: what somebody else put there, a pull request's job that saved a
cache for example, is not taken for a parse. Everything here can be parsed again, so that whatever is odd is left alone,
and what cannot be written is not kept.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import msgspec
import yaml

from fleetform import __version__
from fleetform.outside.files import is_private_folder, read_private, write_private
from fleetform.syntax import hashing, yaml_in, yaml_scalars

# What is parsed in a blink is not kept: most folders never touch the cache.
_IN_A_BLINK = 128 * 1024
_SHARDS = 32
# Of one shard; all of them together have at most 64 MB.
_MAX_SHARD = 2 * 1024 * 1024
_KEY_SIZE = 32
_SIGNATURE_SIZE = 32
_PARSING = (hashing, yaml_in, yaml_scalars)
_BAD_CONTENT = (msgspec.MsgspecError, ValueError, RecursionError)


class ParsedDocument(NamedTuple):
    """One document of a file: its tree, and the lines it has there."""

    tree: Any
    first_line: int
    last_line: int


Parse = Sequence[ParsedDocument]


class Parses:
    """The parses of one command, by content: two files of the same bytes, in a folder and a commit, share their trees.

    Nobody may change the trees.
    """

    def __init__(self, kept: KeptParses | None = None) -> None:
        self._parses: dict[bytes, Parse] = {}
        self._kept = kept
        self._size = 0

    def find(self, name: str, content: bytes) -> Parse | None:
        """The documents in a file, if its content was parsed before."""
        self._size += len(content)
        digest = _digest(name, content)
        found = self._parses.get(digest)
        if found is None and self._kept is not None and self._size > _IN_A_BLINK:
            found = self._kept.find(digest)
            if found is not None:
                self._parses[digest] = found
        return found

    def add(self, name: str, content: bytes, parse: Parse) -> None:
        digest = _digest(name, content)
        self._parses[digest] = parse
        if self._kept is not None and self._size > _IN_A_BLINK:
            self._kept.add(digest, parse)

    def save(self) -> None:
        """Keep what is new for the next command."""
        if self._kept is not None:
            self._kept.save()


class KeptParses:
    """The parses on disk, in a few files by the beginning of their digests.

    Commands at the same time may write the same file: it is replaced as a whole, and the last one wins.
    """

    def __init__(self, folder: str, key_file: str) -> None:
        self._folder, self._key_file = folder, key_file
        self._shards: dict[int, dict[bytes, bytes]] = {}
        self._new: dict[int, dict[bytes, bytes]] = {}
        self._used: set[bytes] = set()

    def find(self, digest: bytes) -> Parse | None:
        encoded = self._shard(_shard_of(digest)).get(digest)
        if encoded is None:
            return None
        try:
            found = msgspec.msgpack.decode(encoded, type=list[ParsedDocument])
        except _BAD_CONTENT:
            return None
        self._used.add(digest)
        return found

    def add(self, digest: bytes, parse: Parse) -> None:
        # A number or a text that msgpack does not have is parsed every time.
        with suppress(OverflowError, *_BAD_CONTENT):
            encoded = msgspec.msgpack.encode(parse)
            if len(encoded) < _MAX_SHARD:
                self._new.setdefault(_shard_of(digest), {})[digest] = encoded

    def save(self) -> None:
        for number, new in self._new.items():
            before = self._shard(number)
            unused = {digest: each for digest, each in before.items() if digest not in self._used}
            used = {digest: each for digest, each in before.items() if digest in self._used}
            self._write(number, _bounded({**unused, **used, **new}))
        self._shards, self._new, self._used = {}, {}, set()

    def _shard(self, number: int) -> dict[bytes, bytes]:
        found = self._shards.get(number)
        if found is None:
            found = self._shards[number] = self._read(number)
        return found

    def _read(self, number: int) -> dict[bytes, bytes]:
        content = read_private(self._path(number), 2 * _MAX_SHARD) if is_private_folder(self._folder) else None
        if content is None:
            return {}
        key = self._key()
        signature, payload = content[:_SIGNATURE_SIZE], content[_SIGNATURE_SIZE:]
        if key is None or not hmac.compare_digest(signature, _signature(key, number, payload)):
            return {}
        try:
            return msgspec.msgpack.decode(payload, type=dict[bytes, bytes])
        except _BAD_CONTENT:
            return {}

    def _write(self, number: int, parses: dict[bytes, bytes]) -> None:
        key = self._key() or self._make_key()
        if key is None:
            return
        payload = msgspec.msgpack.encode(parses)
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if is_private_folder(self._folder):
                write_private(self._path(number), _signature(key, number, payload) + payload)

    def _key(self) -> bytes | None:
        key = read_private(self._key_file, _KEY_SIZE)
        return key if key is not None and len(key) == _KEY_SIZE else None

    def _make_key(self) -> bytes | None:
        with suppress(OSError):
            write_private(self._key_file, os.urandom(_KEY_SIZE))
        # Another command may have made one at the same time: the one that stands counts.
        return self._key()

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number:02}")


def _digest(name: str, content: bytes) -> bytes:
    """JSON is read in another way than YAML."""
    return hashlib.sha256(b"json:" + content if name.endswith(".json") else b"yaml:" + content).digest()


def _shard_of(digest: bytes) -> int:
    return digest[0] % _SHARDS


def _bounded(parses: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """As many of them, from the last, as fit."""
    kept: dict[bytes, bytes] = {}
    left = _MAX_SHARD
    for digest, encoded in reversed(parses.items()):
        left -= len(encoded)
        if left < 0:
            break
        kept[digest] = encoded
    return dict(reversed(kept.items()))


def _signature(key: bytes, number: int, payload: bytes) -> bytes:
    """Says that this user, and this parser, wrote a shard."""
    signed = hashlib.blake2b(key=key, digest_size=_SIGNATURE_SIZE)
    signed.update(_parser())
    signed.update(bytes([number]))
    signed.update(payload)
    return signed.digest()


@cache
def _parser() -> bytes:
    """What parses, by its version and source: another one may read the same text as something else."""
    whole = hashlib.sha256(f"{__version__} {yaml.__version__} {yaml._yaml.get_version_string()}".encode())
    for file in (os.path.join(os.path.dirname(__file__), "reader.py"), *(each.__file__ for each in _PARSING)):
        with suppress(OSError), open(file or "", "rb") as source:
            whole.update(hashlib.sha256(source.read()).digest())
    return whole.digest()
