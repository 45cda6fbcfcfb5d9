"""Checks of values against the rules an option states: type, regex, enum, bounds."""

from __future__ import annotations

import re
from contextlib import suppress

from msgspec import UNSET

from fleetform.model.kinds.definition import Option
from fleetform.model.results.decisions import Secret
from fleetform.model.shape import describe
from fleetform.syntax.cel import ExpressionError, matches
from fleetform.syntax.trees import YamlValue

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "secret": (str,),
    "bool": (bool,),
    "int": (int,),
    "list": (list,),
    "map": (dict,),
    "any": (object,),
}
_VAULT = re.compile(r"\bvault\+[a-z0-9]+://")
_WORDS = {
    "string": "text",
    "secret": "text",
    "bool": "true or false",
    "int": "a whole number",
    "list": "a list",
    "map": "a map",
    "any": "any value",
}


def breaks_rules(option: Option, value: YamlValue, secret: bool = False) -> str | None:
    """Which of the option's rules the value breaks, or None. A secret is checked if it is known, and never shown."""
    kind = option.type
    secret = secret or kind == "secret" or isinstance(value, Secret)
    if isinstance(value, Secret):
        value = value.plain
        if value is None:
            return None
    if not has_type(option, value):
        got = "something else" if secret else describe(value)
        return f"{option.name} is {kind_of(option)} and must be {_WORDS[kind]}, not {got}"
    if option.regex is None and option.enum is None and option.minimum is None and option.maximum is None:
        return None
    return _breaks_limits(option, value, "its value" if secret else describe(value))


def kind_of(option: Option) -> str:
    """An option's type in a sentence."""
    return f"{'an' if option.type in ('int', 'any') else 'a'} {option.type} option"


def has_type(option: Option, value: YamlValue) -> bool:
    types = (int, float) if option.type == "int" and option.takes_fractions else _TYPES[option.type]
    return isinstance(value, types) and not (option.type == "int" and isinstance(value, bool))


def is_secret_reference(value: object) -> bool:
    """Whether a text only says where a secret is kept, such as `vault+kvv2:///path#key`."""
    return isinstance(value, str) and _VAULT.search(value) is not None


def must_be_set(option: Option) -> bool:
    """Whether somebody must set a value, since the option has no default."""
    return option.required and option.default in (UNSET, None)


def _breaks_limits(option: Option, value: YamlValue, shown: str) -> str | None:
    if option.regex is not None and isinstance(value, str):
        # A pattern that cannot be read is reported at the definition, not at every value.
        with suppress(ExpressionError):
            if not matches(option.regex, value):
                return f"{option.name} must match {option.regex}, and {shown} does not"
    if option.enum is not None and not any(type(value) is type(each) and value == each for each in option.enum):
        choices = "its choices" if shown == "its value" else ", ".join(map(str, option.enum))
        return f"{option.name} must be one of {choices}, not {shown}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if option.minimum is not None and value < option.minimum:
            return f"{option.name} must be at least {option.minimum}, not {shown.removeprefix('the number ')}"
        if option.maximum is not None and value > option.maximum:
            return f"{option.name} must be at most {option.maximum}, not {shown.removeprefix('the number ')}"
    return None
