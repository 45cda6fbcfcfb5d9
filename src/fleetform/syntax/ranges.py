"""Version ranges in Helm's grammar: `^1.2`, `~1.2.3`, `1.x`, `>=1.2 <2, !=1.5.0`, `1.2 - 2.3`, `||`.

Held to a table of what Masterminds/semver answers, with one exception that the lifecycle design makes: in `^v1.1.x` the
x is where the range ends, so it admits patches of 1.1 and nothing else. Pre-releases are admitted only if a comparator
of the same AND group names one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import semver

from fleetform.syntax.versions import VersionError, parse_version

LONGEST = 512
MOST_GROUPS = 32

_NUMBER = r"[0-9]+|[xX*]"
_OPERATOR = r"!=|>=|=>|<=|=<|~>|[=<>~^]"
_COMPARATOR = re.compile(
    rf"(?P<operator>{_OPERATOR})?\s*"
    rf"v?(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER}))?(?:\.(?P<patch>{_NUMBER}))?"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_BLANKS = " \t\r\n\f\v"
_HYPHEN = re.compile(rf"[{_BLANKS}]+-[{_BLANKS}]+")
_BETWEEN = re.compile(rf"[{_BLANKS}]*,[{_BLANKS}]*|[{_BLANKS}]+")
_SPELLINGS = {"=>": ">=", "=<": "<=", "~>": "~"}


class RangeError(ValueError):
    """What is wrong with a range, and at which column (from 1)."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message, self.column = message, column


@dataclass(frozen=True, slots=True)
class Comparator:
    """One condition. open_from is how many numbers it gives: what follows is left open (3: nothing is)."""

    operator: str
    version: semver.Version
    open_from: int
    wildcard: bool

    def admits(self, version: semver.Version) -> bool:
        return _ADMITS[self.operator](self, version)


@dataclass(frozen=True, slots=True)
class Range:
    """Alternatives, each a list of comparators that must all hold."""

    text: str
    groups: tuple[tuple[Comparator, ...], ...]

    @property
    def exact(self) -> str | None:
        """The version, if the range is a pin."""
        if len(self.groups) == 1 and len(self.groups[0]) == 1:
            only = self.groups[0][0]
            if only.operator == "=" and only.open_from == 3:
                return str(only.version)
        return None

    @property
    def ends_at_wildcard(self) -> bool:
        """Whether it has a `^…x`, which other tools read wider (R2-41)."""
        return any(each.operator == "^" and each.wildcard for group in self.groups for each in group)

    def admits(self, version: str) -> bool:
        parsed = parse_version(version)
        for group in self.groups:
            if parsed.prerelease and not any(each.version.prerelease for each in group):
                continue
            if all(each.admits(parsed) for each in group):
                return True
        return False


@lru_cache(maxsize=16_384)
def parse_range(text: str) -> Range:
    """The range; RangeError gives the column of a mistake."""
    if len(text.encode()) > LONGEST:
        raise RangeError(f"a range has at most {LONGEST} characters", LONGEST)
    groups = []
    column = 1
    for part in text.split("||"):
        groups.append(_parse_group(part, column))
        column += len(part) + 2
    if len(groups) > MOST_GROUPS:
        raise RangeError(f"a range has at most {MOST_GROUPS} alternatives", 1)
    return Range(text, tuple(groups))


def _parse_group(text: str, column: int) -> tuple[Comparator, ...]:
    comparators: list[Comparator] = []
    position = len(text) - len(text.lstrip(_BLANKS))
    while True:
        found, bare, position = _parse_comparator(text, position, column)
        hyphen = _HYPHEN.match(text, position)
        if hyphen and bare:
            upper, bare, end = _parse_comparator(text, hyphen.end(), column)
            if not bare:
                raise RangeError("a hyphen range takes versions without operators", column + hyphen.end())
            comparators += [_with(found, ">="), _with(upper, "<=")]
            position = end
        else:
            comparators.append(found)
        if not text[position:].strip(_BLANKS):
            return tuple(comparators)
        between = _BETWEEN.match(text, position)
        if between is None:
            raise RangeError(f"unexpected {text[position]!r}", column + position)
        position = between.end()


def _parse_comparator(text: str, position: int, column: int) -> tuple[Comparator, bool, int]:
    """A comparator, whether it has no operator, and where it ends."""
    match = _COMPARATOR.match(text, position)
    if match is None:
        found = repr(text[position]) if position < len(text) else "the end"
        raise RangeError(f"expected a version such as 1.2.3 or 1.x, not {found}", column + position)
    numbers = [match.group(name) for name in ("major", "minor", "patch")]
    given = next((index for index, each in enumerate(numbers) if each is None or each in "xX*"), 3)
    filled = [*numbers[:given], *["0"] * (3 - given)]
    pre = f"-{match.group('pre')}" if match.group("pre") else ""
    try:
        version = parse_version(".".join(filled) + pre)
    except VersionError as error:
        raise RangeError(str(error), column + match.start("major")) from error
    operator = match.group("operator")
    wildcard = any(each is not None and each in "xX*" for each in numbers)
    comparator = Comparator(_SPELLINGS.get(operator, operator or "="), version, given, wildcard)
    return comparator, operator is None, match.end()


def _with(comparator: Comparator, operator: str) -> Comparator:
    return Comparator(operator, comparator.version, comparator.open_from, comparator.wildcard)


# ---- Operators


def _not_equal(this: Comparator, version: semver.Version) -> bool:
    if this.open_from == 3:
        return version != this.version
    if this.version.major != version.major:
        return True
    if this.open_from == 1:
        return False
    if this.open_from == 0:
        return (version.minor, version.patch) != (0, 0) or version != this.version
    if this.version.minor != version.minor:
        return True
    return version.prerelease != this.version.prerelease


def _greater(this: Comparator, version: semver.Version) -> bool:
    if this.open_from == 3 or version.major != this.version.major:
        return version > this.version
    if this.open_from == 1:
        return False
    if this.open_from == 2:
        return version.minor > this.version.minor
    return version > this.version


def _at_most(this: Comparator, version: semver.Version) -> bool:
    if this.open_from == 3:
        return version <= this.version
    if version.major != this.version.major:
        return version.major < this.version.major
    return this.open_from == 1 or version.minor <= this.version.minor


def _tilde(this: Comparator, version: semver.Version) -> bool:
    if version < this.version:
        return False
    least = this.version
    if (least.major, least.minor, least.patch) == (0, 0, 0) and this.open_from in (0, 3):
        # ~0.0.0 and ~* admit everything, as they do in Helm.
        return True
    return version.major == least.major and (this.open_from == 1 or version.minor == least.minor)


def _caret(this: Comparator, version: semver.Version) -> bool:
    if this.wildcard:
        # The range ends at the x (R2-41).
        return _tilde(this, version)
    if version < this.version or version.major != this.version.major:
        return False
    if this.version.major > 0 or this.open_from <= 1:
        return True
    if this.version.minor > 0 or this.open_from == 2:
        return version.minor == this.version.minor
    return version.minor == 0 and version.patch == this.version.patch


_ADMITS: dict[str, Callable[[Comparator, semver.Version], bool]] = {
    "=": lambda this, version: _tilde(this, version) if this.open_from < 3 else version == this.version,
    "!=": _not_equal,
    ">": _greater,
    "<": lambda this, version: version < this.version,
    ">=": lambda this, version: version >= this.version,
    "<=": _at_most,
    "~": _tilde,
    "^": _caret,
}
