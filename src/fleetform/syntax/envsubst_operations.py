"""The operators of `${…}`: those that cut work on bytes, as in Go."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

DEFAULTS = frozenset({"=", ":=", ":-", ":?", ":+"})
_HALF = re.compile("[\udc80-\udcff]")
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")
_LARGEST = 2**63 - 1
_LARGEST_VALUE = 10_000_000


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _runes(text: str) -> str:
    """A text as Go walks over it: a byte that is part of no character is U+FFFD."""
    return _HALF.sub("\ufffd", _text(as_bytes(text)))


def _upper(value: str) -> str:
    if value.isascii():
        return value.upper()
    # As in Go the upper case of one character is one character, if there is one; Python's may be several (ß, SS).
    cases = ((each.upper(), each.title(), each) for each in _runes(value))
    return "".join(next(case for case in each if len(case) == 1) for each in cases)


def _lower(value: str) -> str:
    return value.lower() if value.isascii() else "".join(each.lower()[0] for each in _runes(value))


def _substring(value: str, offset: str, length: str | None = None) -> str:
    data, start, size = as_bytes(value), _integer(offset), _integer("0" if length is None else length)
    if start is None or size is None:
        return value
    if start < 0:
        start = max(len(data) + start, 0)
    if length is None:
        return _text(data[start:])
    if start + size > _LARGEST:
        raise OverflowError("has a length beyond all numbers")
    end = start + size if size >= 0 else len(data) + size
    return _text(data[start : max(start, end)])


def _integer(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    number = int(found[1] + found[2]) if found else None
    return number if number is not None and -_LARGEST - 1 <= number <= _LARGEST else None


def _replaced(value: str, old: str, new: str = "", *, most: tuple[int, ...]) -> str:
    """most has how many are replaced; it is empty for all of them."""
    if not most and value.count(old) * len(new) > _LARGEST_VALUE:
        # Replacements inside replacements would multiply without end.
        raise OverflowError("becomes too long")
    if not old:
        return _text(as_bytes(value)).replace("", new, *most)
    return _text(as_bytes(value).replace(as_bytes(old), as_bytes(new), *most))


def _end_replaced(value: str, old: str, new: str | None = None, *, is_prefix: bool) -> str:
    data, end = as_bytes(value), as_bytes(old)
    if new is None or not (data.startswith(end) if is_prefix else data.endswith(end)):
        return value
    return new + _text(data.removeprefix(end)) if is_prefix else _text(data.removesuffix(end)) + new


def _without_prefix(value: str, pattern: str, *, longest: bool) -> str:
    glob = _read_glob(pattern)
    return _text(as_bytes(value)[_prefix_length(value, glob, longest) :]) if glob else value


def _without_suffix(value: str, pattern: str, *, longest: bool) -> str:
    # Flux reverses value and pattern, so that classes and escapes of the pattern are read differently here.
    return _runes(_without_prefix(_runes(value)[::-1], _runes(pattern)[::-1], longest=longest))[::-1]


OPERATIONS: dict[str, Callable[..., str]] = {
    **dict.fromkeys(DEFAULTS, lambda value, *words: value or "".join(words)),
    "${#": lambda value: str(len(as_bytes(value))),
    "^": lambda value: _upper(value[:1]) + value[1:],
    "^^": _upper,
    ",": lambda value: _lower(value[:1]) + value[1:],
    ",,": _lower,
    ":": _substring,
    "#": partial(_without_prefix, longest=False),
    "##": partial(_without_prefix, longest=True),
    "%": partial(_without_suffix, longest=False),
    "%%": partial(_without_suffix, longest=True),
    "/": partial(_replaced, most=(1,)),
    "//": partial(_replaced, most=()),
    "/#": partial(_end_replaced, is_prefix=True),
    "/%": partial(_end_replaced, is_prefix=False),
}

# ---- Globs of # and %

_ITEM = r"(\\.|[^\\\]\-\udc80-\udcff])(?:-(\\.|[^\\\]\-\udc80-\udcff]))?"
_ITEMS = re.compile(_ITEM, re.DOTALL)
_TOKEN = re.compile(rf"\*+|\?|\\.|\[\^?+(?:{_ITEM})+\]|[^*?\\\[]", re.DOTALL)
_CHARACTER = (
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
_NO_CHARACTER = rb"(?!" + _CHARACTER + rb")."
_LONGEST_CUT = 10_000

_Glob = list[list[str]]


def _read_glob(pattern: str) -> _Glob:
    """The tokens between the stars of a glob; none if it is malformed, and then it matches nothing."""
    chunks: _Glob = [[]]
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return []
        position = token.end()
        if token[0].startswith("*"):
            chunks.append([])
        else:
            chunks[-1].append(token[0])
    return chunks if pattern else []


def _prefix_length(value: str, glob: _Glob, longest: bool) -> int:
    """How many bytes the shortest or longest prefix has that matches: at least one, or 0 if none does."""
    data, characters = as_bytes(value), _runes(value)
    # As Go matches: what is between two stars matches its first occurrence, without going back.
    first, *rest = [b"".join(_token_regex(token, characters) for token in chunk) for chunk in glob]
    between = b"".join(b"(?>.*?" + chunk + b")" for chunk in rest[:-1])
    last = ((b".*" if longest else b".*?") + rest[-1]) if rest else b""
    regex = re.compile(first + between + last, re.DOTALL)
    if data.isascii() or not any(_is_wild(token) for chunk in glob for token in chunk):
        found = regex.match(data)
        return min(max(found.end(), 1), len(data)) if found else 0
    if len(data) > _LONGEST_CUT:
        raise OverflowError("has a value that is too long for such a pattern")
    # A prefix may end within a character, whose bytes are then matched one by one: each has to be tried on its own.
    lengths = range(len(data), 0, -1) if longest else range(1, len(data) + 1)
    return next((length for length in lengths if regex.fullmatch(data, 0, length)), 0)


def _is_wild(token: str) -> bool:
    return token == "?" or token.startswith("[")


def _token_regex(token: str, characters: str) -> bytes:
    if not _is_wild(token):
        return re.escape(as_bytes(token[-1]))
    if token == "?":
        return b"(?>" + _CHARACTER + b"|.)"
    ones = [re.escape(as_bytes(each)) for each in sorted(set(characters)) if _is_in_class(each, token)]
    if _is_in_class("\ufffd", token):
        ones.append(_NO_CHARACTER)
    return b"(?:" + b"|".join(ones) + b")" if ones else b"(?!)"


def _is_in_class(character: str, token: str) -> bool:
    negated = token.startswith("[^")
    items = _ITEMS.findall(token, 2 if negated else 1, len(token) - 1)
    return any(low[-1] <= character <= (high or low)[-1] for low, high in items) != negated
