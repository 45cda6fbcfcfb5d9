"""Summary: how far an owner's plugins have come, by the hash that is wanted now.

A cluster that was fine with what was wanted before counts as updating, not as done: versions and old successes do not
tell (R3-28).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fleetform.model.results.decisions import PluginKey


class Reached(NamedTuple):
    """The hashes that a plugin had when it was admitted, when it was last healthy, and when it last failed."""

    admitted: str | None = None
    healthy: str | None = None
    failed: str | None = None


class Summary(NamedTuple):
    """Counts of plugins: with the hash that is wanted admitted, healthy, failed; and the rest."""

    total: int
    updated: int
    succeeded: int
    failed: int

    @property
    def updating(self) -> int:
        return self.total - self.succeeded - self.failed


def summarize(wanted: Iterable[tuple[PluginKey, str | None]], reached: Mapping[PluginKey, Reached]) -> Summary:
    """How many have reached what is wanted; one whose hash is unknown has reached nothing that can be shown."""
    counts = {"total": 0, "updated": 0, "succeeded": 0, "failed": 0}
    for key, hash_ in wanted:
        counts["total"] += 1
        state = reached.get(key)
        if hash_ is None or state is None:
            continue
        counts["updated"] += state.admitted == hash_
        counts["succeeded"] += state.healthy == hash_
        counts["failed"] += state.failed == hash_ != state.healthy
    return Summary(**counts)
