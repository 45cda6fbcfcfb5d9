"""Canonical JSON and the hashes over it.

inputHash is `h1:` and the SHA-256 of compact JSON with sorted keys, UTF-8, numbers as Go writes them, and absent keys
left out. The prefix names this encoding: a hash with another prefix is computed again, and not taken for a change. The
hash of a state that holds values of its cluster has a digest of these behind a dot.
"""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal

import msgspec

from fleetform.syntax.trees import YamlMap, YamlValue

INPUT_HASH = "h1:"
CHANGE_ID = "c1:"
RENDER_KEY = "r1:"
_WRITTEN = len(INPUT_HASH) + 64
_READINGS = 32

_encode = msgspec.json.Encoder(order="deterministic").encode


def canonical_json(tree: YamlValue) -> bytes:
    if _has_float(tree):
        return _encode_with_floats(tree).encode()
    return _encode(tree)


def input_hash(parts: YamlMap) -> str:
    """The hash of what a plugin is made of; parts that are None or empty do not count."""
    return INPUT_HASH + content_hash(_present(parts))


class HashHead:
    """Parts that many inputs share, encoded once; the part that differs comes last by name."""

    def __init__(self, parts: YamlMap) -> None:
        present = _present(parts)
        self._last = max(present, default="")
        self._text = canonical_json(present)[:-1]

    def with_last(self, name: str, part: YamlValue, has_float: bool) -> str:
        """The input hash of the parts and one more, whose name comes after theirs."""
        assert name > self._last
        whole = hashlib.sha256(self._text)
        if part:
            text = _encode_with_floats(part).encode() if has_float else _encode(part)
            whole.update(b'%s"%s":%s' % (b"," if len(self._text) > 1 else b"", name.encode(), text))
        whole.update(b"}")
        return INPUT_HASH + whole.hexdigest()


def with_readings(hash_: str, readings: YamlMap) -> str:
    """The hash of a state: of what a plugin is made of, and of what was read on its cluster for it (B16)."""
    return f"{hash_}.{content_hash(readings)[:_READINGS]}"


def as_written(hash_: str | None) -> str | None:
    """The hash of what a plugin is made of, out of that of a state: without what was read on its cluster."""
    return hash_[:_WRITTEN] if hash_ is not None and hash_.startswith(INPUT_HASH) else hash_


def differ_in_readings(one: str, other: str) -> bool:
    """Whether the hashes of two states differ in nothing but what was read on their clusters."""
    # Most have nothing of their clusters in them, and need not be taken apart to be told to differ in more than that.
    return len(one) + len(other) > 2 * _WRITTEN and one != other and as_written(one) == as_written(other)


def render_key(parts: YamlMap) -> str:
    """The hash of what a render is made of (B2); parts that are None or empty do not count."""
    return RENDER_KEY + content_hash(_present(parts))


def _present(parts: YamlMap) -> YamlMap:
    return {key: part for key, part in parts.items() if part is not None and part != [] and part != {}}


def content_hash(tree: YamlValue) -> str:
    return hashlib.sha256(canonical_json(tree)).hexdigest()


def _has_float(tree: YamlValue) -> bool:
    if isinstance(tree, dict):
        return any(map(_has_float, tree.values()))
    if isinstance(tree, (list, tuple)):
        return any(map(_has_float, tree))
    return isinstance(tree, float)


def _encode_with_floats(tree: YamlValue) -> str:
    if isinstance(tree, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}:{_encode_with_floats(tree[key])}" for key in sorted(tree))
        return "{" + ",".join(pairs) + "}"
    if isinstance(tree, (list, tuple)):
        return "[" + ",".join(map(_encode_with_floats, tree)) + "]"
    if isinstance(tree, float):
        return number_text(tree)
    return _encode(tree).decode()


def number_text(number: float) -> str:
    """A float as Go's encoding/json writes it."""
    if number and not 1e-6 <= abs(number) < 1e21:
        # Python's shortest form always has an exponent here; it pads it to two digits, Go does not.
        mantissa, exponent = repr(number).split("e")
        return f"{mantissa}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return format(Decimal(repr(number)), "f").removesuffix(".0")


# ---- Hashes of config objects, as Open Cluster Management has them

_NOT_CONTENT = frozenset({"apiVersion", "kind", "metadata", "status"})
# Go's encoder escapes these, and others do not; none of them can be outside a text.
_GO_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def spec_hash(tree: YamlMap) -> str:
    """The hash of a config object: of everything but its identity and status, as Go's encoder writes it (R1-11)."""
    content = {key: _as_go_reads(part) for key, part in tree.items() if key not in _NOT_CONTENT}
    return hashlib.sha256(go_json(content)).hexdigest()


def _as_go_reads(tree: YamlValue) -> YamlValue:
    """Go reads whole numbers beyond int64 as floats."""
    if isinstance(tree, dict):
        return {key: _as_go_reads(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [_as_go_reads(each) for each in tree]
    return float(tree) if isinstance(tree, int) and not -(2**63) <= tree < 2**63 else tree


def go_json(tree: YamlValue) -> bytes:
    """Compact JSON with sorted keys, byte for byte as Go's encoding/json writes it."""
    text = canonical_json(tree)
    for plain, escaped in _GO_ESCAPES:
        if plain in text:
            text = text.replace(plain, escaped)
    return text
