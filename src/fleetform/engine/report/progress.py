"""Summary: how far an owner's plugins have come, by the hash that is wanted now.

A cluster that was fine with what was wanted before counts as updating, not as done: versions and old successes do not
tell (R3-28).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fleetform.model.state import PluginState


class Summary(NamedTuple):
    """Counts of plugins: with the hash that is wanted admitted, healthy, failed; and the rest."""

    total: int
    updated: int
    succeeded: int
    failed: int

    @property
    def updating(self) -> int:
        return self.total - self.succeeded - self.failed


def summarize(plugins: Iterable[tuple[PluginState, str | None]]) -> Summary:
    """How many have reached what is wanted, each a state and the hash that is wanted.

    One whose hash is not known has reached nothing that can be counted.
    """
    counts = {"total": 0, "updated": 0, "succeeded": 0, "failed": 0}
    for state, wanted in plugins:
        counts["total"] += 1
        if wanted is not None:
            admitted, healthy = (each.input_hash if each else None for each in (state.admitted, state.last_healthy))
            counts["updated"] += admitted == wanted
            counts["succeeded"] += healthy == wanted
            counts["failed"] += state.failed == wanted != healthy
    return Summary(**counts)
