"""What differs between two maps of which one was made from the other.

A pass compares maps of the whole fleet to find the one object that changed. Both usually hold the same keys in the same
order but for a few places: what they have in common at either end is compared without looking anything up, so that
the rest is all that costs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import compress, count, islice
from operator import is_not
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
# Of fewer it costs less to go over them at once.
_MANY = 32


def changed_keys(now: Mapping[Key, Value], then: Mapping[Key, Value]) -> list[Key]:
    """The keys that are in one map only, or lead to another object in each, in the order of the maps."""
    if now is then:
        return []
    if not isinstance(now, dict) or not isinstance(then, dict):
        return list(_by_lookup(now, then, now, then))
    if len(now) < _MANY and len(then) < _MANY:
        if [*now] == [*then]:
            return list(compress(now, map(is_not, now.values(), then.values())))
        return list(_by_lookup(now, then, now, then))
    shorter = min(len(now), len(then))
    first = _alike(now, then, shorter)
    if first == len(now) == len(then):
        return list(compress(now, map(is_not, now.values(), then.values())))
    # Ends cannot overlap: a key stands once in a map.
    last = _alike(reversed(now), reversed(then), shorter)
    changed = list(compress(now, map(is_not, islice(now.values(), first), then.values())))
    changed += _by_lookup(now, then, islice(now, first, len(now) - last), list(islice(then, first, len(then) - last)))
    ends = (islice(each.values(), len(each) - last, None) for each in (now, then))
    changed += compress(islice(now, len(now) - last, None), map(is_not, *ends))
    return changed


def _alike(now: Iterable[object], then: Iterable[object], most: int) -> int:
    """How many of the first keys are the same objects."""
    differing = map(is_not, islice(now, most), then)
    return next(compress(count(), differing), most)


def _by_lookup(
    now: Mapping[Key, Value], then: Mapping[Key, Value], mine: Iterable[Key], theirs: Iterable[Key]
) -> Iterator[Key]:
    yield from (key for key in mine if then.get(key) is not now[key])
    yield from (key for key in theirs if key not in now)
