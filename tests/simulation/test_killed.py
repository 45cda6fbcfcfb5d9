"""The real process, killed at every kind of write on a real disk: started again, it ends as an undisturbed one does."""

from __future__ import annotations

import pytest

from simulation.killing import KINDS, Killing


@pytest.fixture(scope="module")
def killing(tmp_path_factory: pytest.TempPathFactory) -> Killing:
    return Killing(tmp_path_factory.mktemp("killing"))


def test_the_rollout_reaches_every_kind_of_write(killing: Killing) -> None:
    assert killing.counts.keys() >= set(KINDS)
    assert killing.counts["commit"] > 10
    assert {event for events in killing.end.history.values() for event, *_ in events} >= {
        "Started",
        "Healthy",
        "Deleted",
    }
    assert {text.count("1.1.0") for name, text in killing.end.files.items() if "configmap" in name} == {1}


@pytest.mark.rule("B1", "R0-19")
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_a_write_it_ends_the_same(killing: Killing, kind: str) -> None:
    """In the middle and at the last; `make soak` kills at every one."""
    last = killing.counts[kind]
    for number in sorted({(last + 1) // 2, last}):
        killing.killed_at(kind, number)
