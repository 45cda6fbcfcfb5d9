"""What earlier passes left behind, as a state export has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from fleetform.engine.report.progress import Reached


class KnownVersion(NamedTuple):
    """What an earlier pass stamped on a version: when it came, when it goes, the digest of what it renders."""

    announced: datetime | None = None
    ends: datetime | None = None
    digest: str | None = None


class Rejection(NamedTuple):
    """A version that failed for an owner (kind, organization, name), as long as its content is this one."""

    owner: tuple[str, str, str]
    version: str
    content: str | None = None


@dataclass(frozen=True, slots=True)
class KnownState:
    """What a state export brings: stamps by (kind, organization, name), what runs, by plugin, and more on versions.

    versions go by organization, definition and version; healthy is the last version that was healthy, by plugin;
    placements are the clusters that a placement had chosen, by organization and name; observed is what was read on its
    cluster for a plugin, by the binding's name; reached are the hashes that a plugin had.
    """

    stamps: dict[tuple[str, str, str], str] = field(default_factory=dict)
    admitted: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    versions: dict[tuple[str, str, str], KnownVersion] = field(default_factory=dict)
    rejected: Sequence[Rejection] = ()
    healthy: dict[tuple[str, str, str], str] = field(default_factory=dict)
    placements: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    observed: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    reached: dict[tuple[str, str, str], Reached] = field(default_factory=dict)
