"""How far an owner's plugins have come."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from fleetform.engine.report.progress import Summary, summarize
from fleetform.model.state import UNKNOWN, Attempt, Deployed, PluginState

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def reached(admitted: str, healthy: str, failed: str | None = None) -> PluginState:
    """A plugin by the hashes that it had when it was admitted, when it was last healthy, and when it last failed."""
    attempt = Attempt(failed, "", NOW, NOW, "Failed", 1) if failed is not None else None
    return PluginState(Deployed("1.0.0", "web", admitted), Deployed("1.0.0", "web", healthy), attempt=attempt)


@pytest.mark.rule("R3-28")
def test_success_on_an_earlier_hash_does_not_count() -> None:
    before = [(reached("h1:old", "h1:old"), "h1:new")] * 4
    assert summarize(before) == Summary(total=4, updated=0, succeeded=0, failed=0)
    assert summarize(before).updating == 4


@pytest.mark.rule("R3-28")
def test_each_cluster_counts_by_the_hash_that_is_wanted() -> None:
    states = [
        reached("h1:new", "h1:new"),
        reached("h1:new", "h1:old"),
        reached("h1:new", "h1:old", "h1:new"),
        reached("h1:old", "h1:old", "h1:old"),
    ]
    summary = summarize((each, "h1:new") for each in states)
    assert summary == Summary(total=4, updated=3, succeeded=1, failed=1)
    assert summary.updating == 2


@pytest.mark.rule("R3-28")
def test_a_failure_that_was_overcome_is_none() -> None:
    overcome = reached("h1:new", "h1:new", "h1:new")
    assert summarize([(overcome, "h1:new")]) == Summary(total=1, updated=1, succeeded=1, failed=0)


def test_what_is_not_known_has_reached_nothing() -> None:
    assert summarize([(UNKNOWN, None), (UNKNOWN, "h1:new")]) == Summary(2, 0, 0, 0)
