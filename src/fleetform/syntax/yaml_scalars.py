"""The values of YAML scalars, as Go's reader resolves them: words, numbers and tags. No YAML library does the same."""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from binascii import Error as Base64Error

from fleetform.syntax.trees import YamlValue

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
WORDS: dict[str, object] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_JSON = frozenset(
    (*(sign + dot for sign in ("", "+", "-") for dot in (".inf", ".Inf", ".INF")), ".nan", ".NaN", ".NAN")
)
MAY_BE_NUMBER = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INTEGERS = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+\Z"), 16),
    (re.compile(r"[-+]?0[bB][01]+\Z"), 2),
    (re.compile(r"[-+]?0[oO]?[0-7]+\Z"), 8),
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"), 10),
)


def resolve_plain(text: str) -> YamlValue:
    """The value of an unquoted scalar: bool, null, number or the text itself."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in MAY_BE_NUMBER:
        return number(text)
    return text


def number(text: str) -> YamlValue:
    if text in _NOT_JSON:
        raise ValueError(f"{text} is not a JSON number")
    if text[0] == ".":
        return _float(text, text)
    plain = text.replace("_", "")
    if len(plain) > 400:
        # Beyond every number that a float or 64 bits can hold; Python refuses to read it, Go takes it for text.
        return text
    for pattern, base in _INTEGERS:
        if pattern.match(plain):
            integer = int(plain.replace("o", "").replace("O", ""), base) if base == 8 else int(plain, base)
            if -(2**63) <= integer < 2**64:
                return integer
            break
    return _float(plain, text)


def _float(plain: str, text: str) -> YamlValue:
    if not _FLOAT.match(plain):
        return text
    number = float(plain)
    if number in (float("inf"), float("-inf")):
        return text
    # JSON has no 1.0: a whole number becomes an integer, as it does in kubectl.
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def tagged(tag: str, text: str) -> YamlValue:
    if tag in ("str", "timestamp"):
        return text
    if tag == "binary":
        try:
            return b64decode(text, validate=True).decode("utf-8", "replace")
        except Base64Error as error:
            raise ValueError("!!binary has invalid base64") from error
    if tag == "null":
        if text not in ("", "~", "null", "Null", "NULL"):
            raise ValueError("!!null cannot hold this")
        return None
    value = resolve_plain(text)
    fits = {"bool": (bool,), "int": (int,), "float": (int, float)}.get(tag)
    if fits is None:
        return text
    if not isinstance(value, fits) or (isinstance(value, bool) and tag != "bool"):
        raise ValueError(f"!!{tag} cannot hold this")
    return value


# ---- Keys


def key_of_number(text: str) -> str | None:
    """The key that Go makes of a number: whole ones in decimal, others as floats of 32 bits; None for text."""
    if text in _NOT_JSON:
        return text.lower().removeprefix("+")
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) > 400:
        return None
    for pattern, base in _INTEGERS if text[0] != "." else ():
        if pattern.match(plain):
            integer = int(plain.replace("o", "").replace("O", ""), base) if base == 8 else int(plain, base)
            if -(2**63) <= integer < 2**63:
                return str(integer)
            if integer < 2**64 and integer > 0:
                raise ValueError("a whole number beyond 64 bits cannot be a key")
            break
    return _short_float(float(plain)) if _FLOAT.match(plain) and abs(float(plain)) != float("inf") else None


def _short_float(number: float) -> str:
    """A float in the fewest digits that tell it from others of 32 bits, as Go's format `g` has it."""
    try:
        bits = struct.pack("<f", number)
    except OverflowError:
        return ".inf" if number > 0 else "-.inf"
    (rounded,) = struct.unpack("<f", bits)
    written = next(text for digits in range(9) if struct.pack("<f", float(text := f"{rounded:.{digits}e}")) == bits)
    mantissa, _, exponent = written.partition("e")
    power = int(exponent)
    if power < -4 or power >= 6:
        return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"
    # As many places as its digits need.
    return f"{float(written):.{max(0, len(mantissa.lstrip('-').replace('.', '')) - 1 - power)}f}"
