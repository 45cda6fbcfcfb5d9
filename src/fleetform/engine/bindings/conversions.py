"""How a bound value becomes text: as JSON, as YAML, or out of base64 (`as` of a binding)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from fleetform.engine.bindings.fields import FieldError, decode_base64
from fleetform.model.results.decisions import Secret
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.variables import ExpandError, as_text

Conversion = Literal["string", "json", "yaml", "base64decode"]

# Texts that every YAML reader takes for text; all others are quoted.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
# What JSON need not escape and YAML must.
_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


class ConversionError(ValueError):
    """Why a value cannot be converted; never quotes it."""


def convert(value: Any, how: Conversion) -> Any:
    """The text that a value becomes; what is made of a secret is one."""
    plain, secret = without_marks(value)
    text = _convert(plain, how)
    return Secret(None, text) if secret else text


def without_marks(value: Any) -> tuple[Any, bool]:
    """A value with the secrets in it in plain, and whether there were any; never print it then."""
    if isinstance(value, Secret):
        return value.plain, True
    if isinstance(value, dict):
        pairs = {key: without_marks(each) for key, each in value.items()}
        return {key: each for key, (each, _) in pairs.items()}, any(secret for _, secret in pairs.values())
    if isinstance(value, list):
        items = [without_marks(each) for each in value]
        return [each for each, _ in items], any(secret for _, secret in items)
    return value, False


def _convert(value: Any, how: Conversion) -> str:
    if how == "json" or (how == "string" and isinstance(value, (dict, list))):
        return canonical_json(value).decode()
    if how == "yaml":
        return "\n".join(_yaml_lines(value))
    if how == "base64decode":
        return _decoded(value)
    try:
        return as_text(value, "")
    except ExpandError:
        raise ConversionError("null has no text") from None


def _decoded(value: Any) -> str:
    try:
        return decode_base64(value)
    except FieldError as error:
        raise ConversionError(f"{error.message}; what a Secret holds is decoded already") from None


def _yaml_lines(value: Any) -> Iterator[str]:
    """Block style, keys in order."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _entry(f"{_scalar(key)}:", value[key])
    elif isinstance(value, list) and value:
        for each in value:
            yield from _entry("-", each)
    else:
        yield _scalar(value)


def _entry(head: str, value: Any) -> Iterator[str]:
    lines = list(_yaml_lines(value))
    if not isinstance(value, (dict, list)) or not value:
        yield f"{head} {lines[0]}"
    elif head == "-":
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])
    else:
        yield head
        yield from (f"  {line}" for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN.match(value) and value.lower() not in _WORDS
        return value if plain else _UNREADABLE.sub(_as_escape, json.dumps(value, ensure_ascii=False))
    return canonical_json(value).decode()


def _as_escape(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"
