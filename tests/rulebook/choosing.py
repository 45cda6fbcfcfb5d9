"""Versions and ranges, and which version a plugin wants."""

from __future__ import annotations

from typing import Any, NamedTuple

Tree = dict[str, Any]
Version = tuple[int, int, int, tuple[tuple[int, int, str], ...]]
STABLE = ((2, 0, ""),)


def version_of(text: str) -> Version:
    """`v1.2.0` and `1.2.0` are one (R2-43). A pre-release is below what it leads to."""
    numbers, _, before = text.removeprefix("v").partition("-")
    parts = [int(each) for each in numbers.split(".")]
    major, minor, patch = [*parts, 0, 0][:3]
    if not before:
        return major, minor, patch, STABLE
    order = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in before.split(".")]
    return major, minor, patch, tuple(order)


def is_stable(version: Version) -> bool:
    return version[3] == STABLE


def admits(range_: str, version: Version) -> bool:
    """Alternatives of comparators that must all hold; a pre-release only where one of these names one (S25)."""
    for alternative in range_.split("||"):
        comparators = alternative.replace(",", " ").split()
        named = any("-" in each for each in comparators)
        if all(_holds(each, version) for each in comparators) and (is_stable(version) or named):
            return True
    return False


def _holds(comparator: str, version: Version) -> bool:
    for operator in (">=", "<=", ">", "<", "^", "~", "="):
        if comparator.startswith(operator):
            text = comparator.removeprefix(operator)
            break
    else:
        operator, text = "=", comparator
    low, high = _span(text.removeprefix("v"))
    if operator == ">=":
        return version >= low
    if operator == "<":
        return version < low
    if operator == "<=":
        return version < high or version == low
    if operator == ">":
        return version >= high and version != low
    if operator == "^" and "x" not in text:
        # The leftmost number that is not 0 stays.
        ends = [(low[0] + 1, 0, 0), (0, low[1] + 1, 0), (0, 0, low[2] + 1)]
        written = len(text.partition("-")[0].removeprefix("v").split("."))
        place = next((index for index in range(written) if low[index]), written - 1)
        return low <= version < (*ends[place], ())
    if operator == "~":
        high = (low[0], low[1] + 1, 0, ()) if "." in text else (low[0] + 1, 0, 0, ())
        return low <= version < high
    return version == low or low <= version < high


def _span(text: str) -> tuple[Version, Version]:
    """From the first version that a comparator without an operator means to the first that it does not."""
    numbers = text.partition("-")[0].split(".")
    parts = [int(each) for each in numbers if each not in ("x", "*")]
    if not parts:
        return (0, 0, 0, ()), (10**9, 0, 0, ())
    if len(parts) == 1:
        return (parts[0], 0, 0, STABLE), (parts[0] + 1, 0, 0, ())
    if len(parts) == 2:
        return (parts[0], parts[1], 0, STABLE), (parts[0], parts[1] + 1, 0, ())
    exact = version_of(text)
    return exact, exact


def is_exact(text: str) -> bool:
    numbers = text.removeprefix("v").partition("-")[0].split(".")
    return len(numbers) == 3 and all(each.isdigit() for each in numbers)


class Support(NamedTuple):
    """What policies and the state say of a definition's versions."""

    floors: list[str]
    yanked: list[str]
    ended: list[str]
    rejected: list[str]

    def has_ended(self, version: str) -> bool:
        return any(admits(each, version_of(version)) for each in self.ended)

    def is_supported(self, version: str) -> bool:
        number = version_of(version)
        return (
            all(number >= version_of(each) for each in self.floors)
            and number not in [version_of(each) for each in self.yanked]
            and not self.has_ended(version)
        )

    def is_rejected(self, version: str) -> bool:
        return version_of(version) in [version_of(each) for each in self.rejected]


class Wanted(NamedTuple):
    """The version that should be there, whether an end date forces it, and the gate where there is none to have."""

    version: str | None
    forced: bool = False
    gate: str | None = None


def wanted_version(asked: str | None, offered: list[str], support: Support) -> Wanted:
    """A pin holds against all but its end; all else takes the highest supported one (R2-40, B11, S23, S56)."""
    ascending = sorted(offered, key=version_of)
    if asked is not None and is_exact(asked):
        pinned = [each for each in ascending if version_of(each) == version_of(asked)]
        if support.has_ended(asked):
            return _forced_above(asked, ascending, support)
        if not pinned:
            return Wanted(None, gate="version")
        return Wanted(None, gate="rejected") if support.is_rejected(pinned[0]) else Wanted(pinned[0])
    admitted = [
        each
        for each in ascending
        if (is_stable(version_of(each)) if asked is None else admits(asked, version_of(each)))
    ]
    usable = [each for each in admitted if support.is_supported(each) and not support.is_rejected(each)]
    if usable:
        return Wanted(usable[-1])
    ended = [each for each in admitted if support.has_ended(each)]
    if ended:
        return _forced_above(ended[-1], ascending, support)
    return Wanted(None, gate="version")


def _forced_above(version: str, ascending: list[str], support: Support) -> Wanted:
    for each in ascending:
        above = version_of(each) > version_of(version) and is_stable(version_of(each))
        if above and support.is_supported(each) and not support.is_rejected(each):
            return Wanted(each, forced=True)
    return Wanted(None, gate="version")
