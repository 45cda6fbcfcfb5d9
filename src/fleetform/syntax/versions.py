"""Semantic versions: reading and ordering them. `v1.2.0` and `1.2.0` are one version; `1.2` is `1.2.0`."""

from __future__ import annotations

import re
from functools import lru_cache

import semver


class VersionError(ValueError):
    """Why a text is not a version."""


_VERSION = re.compile(
    r"v?(?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?(?:\.(?P<patch>[0-9]+))?"
    r"(?:-(?P<prerelease>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z"
)
LONGEST = 256
_LARGEST = 2**64 - 1


@lru_cache(maxsize=65_536)
def parse_version(text: str) -> semver.Version:
    """A version as Helm reads it: numbers that are left out are 0, leading zeros do not count."""
    match = _VERSION.match(text)
    if match is None or len(text) > LONGEST:
        raise VersionError(f"{text!r} is not a semantic version such as 1.4.0")
    numbers = [int(match.group(name) or 0) for name in ("major", "minor", "patch")]
    prerelease = match.group("prerelease")
    padded = [each for each in (prerelease or "").split(".") if each.isdigit() and len(each) > 1 and each[0] == "0"]
    if max(numbers) > _LARGEST or padded:
        raise VersionError(f"{text!r} is not a semantic version: a number is too large, or starts with 0")
    major, minor, patch = numbers
    return semver.Version(major, minor, patch, prerelease, match.group("build"))


def same_version(left: str, right: str) -> bool:
    return parse_version(left) == parse_version(right)
