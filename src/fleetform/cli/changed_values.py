"""Changed values: from what to what a value changed, in few words that are never the same on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from fleetform.cli.text import cut, is_masked, value_text
from fleetform.model.answers.base import Json
from fleetform.model.results.decisions import ABSENT, Steps
from fleetform.syntax.addresses import with_masked_logins, without_logins
from fleetform.syntax.option_paths import readable_text_of

# How much of a long text stands before the first character that differs, and how many parts of a value are shown.
_BEFORE = 12
_SHOWN_PARTS = 3
_WHOLE = 1 << 30


class ShownChange(NamedTuple):
    """A value that changed, or a part inside it: where that stands behind the value's name, and both sides."""

    inside: str
    before: str
    after: str
    secret: bool = False


def changed_text(name: str, before: Json, after: Json) -> str:
    """`replicas 3 → 5`; of a secret only that it changed; of a long value the parts inside that differ."""
    shown, more = shown_changes(before, after, 40)
    texts = [f"{name}{each.inside} {each.after if each.secret else f'{each.before} → {each.after}'}" for each in shown]
    return "; ".join(texts) + (f" and {more:,} more inside" if more else "")


def shown_changes(before: Json, after: Json, limit: int) -> tuple[list[ShownChange], int]:
    """The value as a whole if that tells both sides apart; else the parts that differ, and how many more there are."""
    if is_masked(before) and is_masked(after):
        return [_SECRET], 0
    one, other = _text(before, limit), _text(after, limit)
    if not _look_alike(one, other):
        return [ShownChange("", one, other)], 0
    parts = list(_differing(before, after))
    if not parts:
        # Nothing that is shown differs: it is a secret inside, or the login or the query of an address.
        secrets = list(_secrets(after))
        return [_SECRET._replace(inside=_inside(secrets[0])) if len(secrets) == 1 else _SECRET_INSIDE], 0
    return [_apart(*each, limit) for each in parts[:_SHOWN_PARTS]], max(len(parts) - _SHOWN_PARTS, 0)


_SECRET = ShownChange("", "(secret)", "(secret) changed", secret=True)
_SECRET_INSIDE = ShownChange("", "(secret inside)", "(secret inside) changed", secret=True)


def _text(value: Json, limit: int) -> str:
    return "unset" if value is None or value is ABSENT else value_text(value, limit)


def _differing(before: Json, after: Json, steps: Steps = ()) -> Iterator[tuple[Steps, Json, Json]]:
    """The parts of two values that are shown as others, the smallest that there are."""
    if is_masked(before) or is_masked(after) or type(before) is not type(after):
        if before != after:
            yield steps, before, after
    elif isinstance(before, dict):
        for key in [*before, *(each for each in after if each not in before)]:
            yield from _differing(before.get(key, ABSENT), after.get(key, ABSENT), (*steps, str(key)))
    elif isinstance(before, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differing(one, other, (*steps, index))
    elif before != after:
        yield steps, before, after


def _inside(steps: Steps) -> str:
    """A path behind the name of what it is in."""
    text = readable_text_of(steps)
    return text if not text or text.startswith(("[", "/")) else f".{text}"


def _apart(steps: Steps, before: Json, after: Json, limit: int) -> ShownChange:
    """A part that differs; of long ones what stands around the place where they begin to differ."""
    one, other = _text(before, limit), _text(after, limit)
    if one == other and isinstance(before, str) is not isinstance(after, str):
        # A text that reads as something else.
        one, other = (f'"{text}"' if isinstance(each, str) else text for each, text in ((before, one), (after, other)))
    elif _look_alike(one, other):
        texts = [each if isinstance(each, str) else value_text(each, _WHOLE) for each in (before, after)]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
        start = same - len(texts[0][max(same - _BEFORE, 0) : same].lstrip())
        one, other = (cut(f"…{value_text(text[start:], _WHOLE)}", limit) for text in texts)
    return ShownChange(_inside(steps), one, other)


def _look_alike(one: str, other: str) -> bool:
    """Whether two texts are the same as far as they are shown."""
    if one == other:
        return True
    starts = [each.removesuffix("…").strip('"') for each in (one, other) if each.endswith("…")]
    return len(starts) == 2 and (starts[0].startswith(starts[1]) or starts[1].startswith(starts[0]))


def _secrets(value: Json, steps: Steps = ()) -> Iterator[Steps]:
    if is_masked(value):
        yield steps
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _secrets(each, (*steps, str(key)))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _secrets(each, (*steps, index))
    elif isinstance(value, str) and with_masked_logins(value) != without_logins(value):
        yield steps
