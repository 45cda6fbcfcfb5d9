"""How a bound value becomes text: as JSON, as YAML, or out of base64 (`as` of a binding)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal

from fleetform.engine.bindings.fields import FieldError, decode_base64
from fleetform.model.results.decisions import Secret, SecretOnCluster
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.variables import ExpandError, as_text

Conversion = Literal["string", "json", "yaml", "base64decode"]

# Texts that every YAML reader takes for text; all others are quoted.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
# What JSON need not escape and YAML must.
_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


KNOWN_THERE_ALONE = "it is a secret of the cluster, and known there alone"


class ConversionError(ValueError):
    """Why a value cannot be converted; never quotes it."""


def convert(value: object, how: Conversion) -> str | Secret:
    """The text that a value becomes; what is made of a secret is one."""
    if is_known_there_alone(value):
        raise ConversionError(KNOWN_THERE_ALONE)
    plain, secret = without_marks(value)
    if how == "json" or (how == "string" and isinstance(plain, (dict, list))):
        text = canonical_json(plain).decode()
    elif how == "yaml":
        text = "\n".join(_yaml_lines(plain))
    elif how == "base64decode":
        try:
            text = decode_base64(plain)
        except FieldError as error:
            raise ConversionError(f"{error.message}; what a Secret holds is decoded already") from None
    else:
        try:
            text = as_text(plain, "")
        except ExpandError:
            raise ConversionError("null has no text") from None
    return Secret(None, text) if secret else text


def is_known_there_alone(value: object) -> bool:
    """Whether a value is a secret of the cluster, of which nothing but a digest is known here (B16)."""
    return isinstance(value, Secret) and value.plain is None and isinstance(value.ref, SecretOnCluster)


def without_marks(value: object) -> tuple[object, bool]:
    """A value with its secrets in plain text, and whether there were any; never print it then."""
    if isinstance(value, Secret):
        return value.plain, True
    if isinstance(value, dict):
        pairs = {key: without_marks(each) for key, each in value.items()}
        return {key: each for key, (each, _) in pairs.items()}, any(secret for _, secret in pairs.values())
    if isinstance(value, list):
        items = [without_marks(each) for each in value]
        return [each for each, _ in items], any(secret for _, secret in items)
    return value, False


def _yaml_lines(value: object) -> Iterator[str]:
    """Block style, keys in order."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _entry(f"{_scalar(key)}:", value[key])
    elif isinstance(value, list) and value:
        for each in value:
            yield from _entry("-", each)
    else:
        yield _scalar(value)


def _entry(head: str, value: object) -> Iterator[str]:
    lines = list(_yaml_lines(value))
    if not isinstance(value, (dict, list)) or not value:
        yield f"{head} {lines[0]}"
    elif head == "-":
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])
    else:
        yield head
        yield from (f"  {line}" for line in lines)


def _scalar(value: object) -> str:
    if not isinstance(value, str):
        return canonical_json(value).decode()
    if _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    return _UNREADABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
