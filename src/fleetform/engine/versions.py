"""Semantic versions: reading and ordering them. `v1.2.0` and `1.2.0` are one version; `1.2` is `1.2.0`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import semver


class VersionError(ValueError):
    """Why a text is not a version."""


@lru_cache(maxsize=65_536)
def parse_version(text: str) -> semver.Version:
    try:
        return semver.Version.parse(text.removeprefix("v"), optional_minor_and_patch=True)
    except (ValueError, TypeError) as error:
        raise VersionError(f"{text!r} is not a semantic version such as 1.4.0") from error


def same_version(left: str, right: str) -> bool:
    return parse_version(left) == parse_version(right)


def newest_stable(versions: Iterable[str]) -> str | None:
    """The highest version that is no pre-release."""
    stable = [version for version in versions if not parse_version(version).prerelease]
    # Build metadata does not order versions; the text does, so that the answer never depends on the input's order.
    return max(stable, key=lambda version: (parse_version(version), version), default=None)
