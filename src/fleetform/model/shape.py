"""Does a tree fit a record? All misfits at once, each with its path; unknown words get the nearest known one.

The fast way is msgspec's own conversion, which stops at the first misfit; only a tree that fails it is walked here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Sized
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from fleetform.model.objects import Path

R = TypeVar("R", bound=msgspec.Struct)
_MOST_WORDS = 2_000
_LONGEST_WORD = 300
_MOST_NAMED = 8


class Misfit(NamedTuple):
    """One way in which a tree does not fit."""

    code: str
    path: Path
    message: str
    hint: str


def read_record(tree: object, record: type[R], name: str = "it") -> R | list[Misfit]:
    """The record, or everything that keeps the tree from being one; name is what messages call the whole."""
    try:
        return msgspec.convert(tree, record)
    except msgspec.ValidationError as error:
        # While it is walked the whole is a step of each path, so that messages name it as they name its parts.
        found = _misfits(tree, _shape(record), (name,))
        misfits = [each._replace(path=each.path[1:]) for each in found]
        return misfits or [Misfit("bad-value", (), str(error), "")]


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant."""
    # Of two that are equally near, the order in which they are written must not decide.
    words = sorted(each for each in known if len(each) <= _LONGEST_WORD)
    if len(words) > _MOST_WORDS or len(word) > _LONGEST_WORD:
        # Looking for the nearest of thousands, or of texts, costs more than the hint is worth.
        return None
    by_lower = {each.lower(): each for each in words}
    if word.lower() in by_lower:
        return by_lower[word.lower()]
    close = get_close_matches(word, words, n=1, cutoff=cutoff)
    return close[0] if close else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    found = nearest(word, known)
    return f"did you mean {found}?" if found else otherwise


def what_there_is(names: Sequence[str]) -> str:
    """What there is instead of what was asked for."""
    if not names:
        return "there is none"
    return f"there {'is' if len(names) == 1 else 'are'} {first_of(names)}"


def first_of(names: Sequence[str]) -> str:
    """The first few of some names, and whether there are more."""
    return f"{', '.join(names[:_MOST_NAMED])}{', …' if len(names) > _MOST_NAMED else ''}"


@cache
def _shape(record: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(record)


def _misfits(tree: object, shape: inspect.Type, path: Path) -> Iterator[Misfit]:
    if isinstance(shape, inspect.Metadata):
        yield from _misfits(tree, shape.type, path)
    elif isinstance(shape, inspect.UnionType):
        yield from _misfits_of_union(tree, shape, path)
    elif isinstance(shape, inspect.AnyType):
        return
    elif not _same_kind(tree, shape):
        message = f"{_named(path)} must be {_wanted(shape)}, not {_described(tree, path, [shape])}"
        yield Misfit("bad-value", path, message, _quote_hint(tree, [shape]))
    elif isinstance(shape, inspect.StructType) and isinstance(tree, dict):
        yield from _misfits_of_struct(tree, shape, path)
    elif isinstance(shape, inspect.ListType) and isinstance(tree, list):
        yield from _too_short(tree, shape.min_length, path)
        for index, item in enumerate(tree):
            yield from _misfits(item, shape.item_type, (*path, index))
    elif isinstance(shape, inspect.DictType) and isinstance(tree, dict):
        for key, value in tree.items():
            yield from _misfits(value, shape.value_type, (*path, key))
    else:
        yield from _misfits_of_scalar(tree, shape, path)


def _misfits_of_union(tree: object, shape: inspect.UnionType, path: Path) -> Iterator[Misfit]:
    branches = [branch.type if isinstance(branch, inspect.Metadata) else branch for branch in shape.types]
    fitting = [branch for branch in branches if _same_kind(tree, branch)]
    if not fitting:
        wanted = " or ".join(_wanted(branch) for branch in branches if not isinstance(branch, inspect.NoneType))
        message = f"{_named(path)} must be {wanted}, not {_described(tree, path, branches)}"
        yield Misfit("bad-value", path, message, _quote_hint(tree, branches))
        return
    yield from _misfits(tree, fitting[0], path)


def _misfits_of_struct(tree: dict[str, object], shape: inspect.StructType, path: Path) -> Iterator[Misfit]:
    fields = {field.encode_name: field for field in shape.fields}
    meant = {nearest(key, fields) for key in tree if key not in fields}
    for key, value in tree.items():
        if key in fields:
            yield from _misfits(value, fields[key].type, (*path, key))
            continue
        hint = did_you_mean(key, fields, f"known here: {', '.join(sorted(fields))}")
        if of_chart := _folder_of_chart(key, value, fields):
            hint = of_chart
            meant |= _CHART_IN_FOLDER
        yield Misfit("unknown-field", (*path, key), f"{_named(path)} has no field {key}", hint)
    for name, field in fields.items():
        if field.required and name not in tree and name not in meant:
            yield Misfit("missing-field", path, f"{_named(path)} needs the field {name}", f"add {name}")


_CHART_IN_FOLDER = frozenset({"repository", "chart"})


def _folder_of_chart(key: str, value: object, fields: Collection[str]) -> str | None:
    """What to write for `helm: {path: ./charts/web}`: a chart in a folder has a repository, too, the folder above."""
    if key != "path" or not isinstance(value, str) or not set(fields) >= _CHART_IN_FOLDER:
        return None
    folder, _, chart = value.rstrip("/").rpartition("/")
    return f"write repository: {folder or '.'} and chart: {chart or 'NAME'}" if chart not in ("", ".", "..") else None


def _misfits_of_scalar(tree: object, shape: inspect.Type, path: Path) -> Iterator[Misfit]:
    if isinstance(shape, inspect.LiteralType):
        if tree not in shape.values:
            allowed = ", ".join(str(value) for value in shape.values)
            hint = did_you_mean(str(tree), map(str, shape.values))
            yield Misfit("bad-value", path, f"{_named(path)} must be one of {allowed}, not {_quoted(tree)}", hint)
    elif isinstance(shape, inspect.StrType) and isinstance(tree, str):
        yield from _too_short(tree, shape.min_length, path)
        if shape.max_length is not None and len(tree) > shape.max_length:
            message = f"{_named(path)} must have at most {shape.max_length} characters"
            yield Misfit("bad-value", path, message, "shorten it")
        if shape.pattern is not None and not re.search(shape.pattern, tree):
            yield Misfit(
                "bad-value", path, f"{_named(path)} cannot be {_quoted(tree)}", _PATTERN_HINTS.get(shape.pattern, "")
            )
    elif isinstance(shape, (inspect.IntType, inspect.FloatType)) and isinstance(tree, (int, float)):
        if shape.ge is not None and tree < shape.ge:
            yield Misfit("bad-value", path, f"{_named(path)} must be at least {shape.ge}, not {tree}", "")
        if shape.le is not None and tree > shape.le:
            yield Misfit("bad-value", path, f"{_named(path)} must be at most {shape.le}, not {tree}", "")


def _too_short(tree: Sized, least: int | None, path: Path) -> Iterator[Misfit]:
    if least is not None and len(tree) < least:
        yield Misfit("bad-value", path, f"{_named(path)} must not be empty", "")


_PATTERN_HINTS = {
    r"^([0-9]+(s|m|h|d))+\Z": "write a duration such as 90s, 30m, 24h or 14d",
    r"^(100|[1-9]?[0-9])%\Z": "write a share such as 25%, or a number",
    r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z": "names hold lower-case letters, digits, - and ., and start and end with one "
    "of the first two",
    "^https?://": "write an address that starts with https://",
    r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z": 'write a time of day such as "22:00"',
    r"^sha256:[0-9a-f]{64}\Z": "write sha256: and 64 hexadecimal digits",
    r"^c1:[0-9a-f]{64}\Z": "write the whole changeId, not shortened: `fleetform rollout status` prints it, and the "
    "spec of a Rollout has it",
}

_KINDS: tuple[tuple[type[inspect.Type], tuple[type, ...], str], ...] = (
    (inspect.StructType, (dict,), "a map"),
    (inspect.DictType, (dict,), "a map"),
    (inspect.ListType, (list,), "a list"),
    (inspect.StrType, (str,), "text"),
    (inspect.BoolType, (bool,), "true or false"),
    (inspect.IntType, (int,), "a whole number"),
    (inspect.FloatType, (int, float), "a number"),
    (inspect.NoneType, (type(None),), "null"),
)


def _same_kind(tree: object, shape: inspect.Type) -> bool:
    if isinstance(shape, inspect.LiteralType):
        return isinstance(tree, str)
    for kind, types, _ in _KINDS:
        if isinstance(shape, kind):
            return isinstance(tree, types) and (not isinstance(tree, bool) or bool in types)
    return True


def _quote_hint(tree: object, shapes: list[inspect.Type]) -> str:
    """YAML reads n, 1.10 and 12e3 as something else than text."""
    wants_text = any(isinstance(shape, (inspect.StrType, inspect.LiteralType)) for shape in shapes)
    if not wants_text or not isinstance(tree, (bool, int, float)):
        return ""
    if isinstance(tree, bool):
        words = "y, yes, on and true" if tree else "n, no, off and false"
        return f'{words} without quotes are the boolean {str(tree).lower()} (YAML 1.1): write "{"y" if tree else "n"}"'
    return "quote it to make it text"


def _wanted(shape: inspect.Type) -> str:
    if isinstance(shape, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in shape.values)
    return next((words for kind, _, words in _KINDS if isinstance(shape, kind)), "something else")


_MAY_HOLD_SECRETS = frozenset(
    ("optionValues", "overrides", "value", "valueFrom", "data", "stringData", "default", "enum", "expression")
)


def _described(tree: object, path: Path, wanted: Collection[inspect.Type]) -> str:
    """A value in words; if it may be a secret in the wrong place, only what kind of value it is."""
    holds_others = (inspect.StructType, inspect.DictType, inspect.ListType, inspect.NoneType)
    if not _MAY_HOLD_SECRETS & set(path) and not all(isinstance(each, holds_others) for each in wanted):
        return describe(tree)
    if isinstance(tree, str):
        return "text"
    return "a number" if isinstance(tree, (int, float)) and not isinstance(tree, bool) else describe(tree)


def describe(tree: object) -> str:
    """A value in words, short enough for a message."""
    if tree is None:
        return "null"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    if isinstance(tree, dict):
        return "a map"
    if isinstance(tree, list):
        return "a list"
    if isinstance(tree, str):
        if _is_address(tree):
            return "an address"
        return f'the text "{tree}"' if len(tree) <= 40 else f'the text "{tree[:37]}…"'
    return f"the number {tree}"


def _is_address(text: str) -> bool:
    """Whether it may hold a login: then it is not shown."""
    return "://" in text or "@" in text


def _quoted(tree: object) -> str:
    if isinstance(tree, str) and _is_address(tree):
        return "an address"
    text = repr(tree)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _named(path: Path) -> str:
    steps = [step for step in path if isinstance(step, str)]
    return f"an item of {steps[-1]}" if isinstance(path[-1], int) else steps[-1]
