"""How far an owner's plugins have come."""

from __future__ import annotations

import pytest

from fleetform.engine.report.progress import Reached, Summary, summarize

WANTED = [(("acme", cluster, "web"), "h1:new") for cluster in ("a", "b", "c", "d")]


@pytest.mark.rule("R3-28")
def test_success_on_an_earlier_hash_does_not_count() -> None:
    before = {key: Reached("h1:old", "h1:old") for key, _ in WANTED}
    assert summarize(WANTED, before) == Summary(total=4, updated=0, succeeded=0, failed=0)
    assert summarize(WANTED, before).updating == 4


@pytest.mark.rule("R3-28")
def test_each_cluster_counts_by_the_hash_that_is_wanted() -> None:
    reached = {
        ("acme", "a", "web"): Reached("h1:new", "h1:new"),
        ("acme", "b", "web"): Reached("h1:new", "h1:old"),
        ("acme", "c", "web"): Reached("h1:new", "h1:old", "h1:new"),
        ("acme", "d", "web"): Reached("h1:old", "h1:old", "h1:old"),
    }
    summary = summarize(WANTED, reached)
    assert summary == Summary(total=4, updated=3, succeeded=1, failed=1)
    assert summary.updating == 2


@pytest.mark.rule("R3-28")
def test_a_failure_that_was_overcome_is_none() -> None:
    reached = {("acme", "a", "web"): Reached("h1:new", "h1:new", "h1:new")}
    assert summarize(WANTED[:1], reached) == Summary(total=1, updated=1, succeeded=1, failed=0)


def test_what_nobody_knows_has_reached_nothing() -> None:
    key = ("acme", "a", "web")
    assert summarize([(key, None)], {key: Reached(None, None)}) == Summary(1, 0, 0, 0)
