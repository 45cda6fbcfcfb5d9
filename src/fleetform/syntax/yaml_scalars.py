"""The values of YAML scalars, as Go's reader resolves them: words, numbers and tags. No YAML library does the same."""

from __future__ import annotations

import re
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
