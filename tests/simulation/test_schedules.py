"""Random schedules: no law is broken, and everything that must be tried comes up."""

from __future__ import annotations

import pytest

from simulation.schedules import drawn, played
from simulation.situations import SITUATIONS


@pytest.mark.rule("R0-19", "B1", "B8", "B21")
def test_random_schedules_break_no_law_and_every_situation_comes_up() -> None:
    """`make soak` plays more; `PYTHONPATH=tests python -m simulation --replay SEED` a failing one again."""
    missing = set(SITUATIONS)
    for seed in range(300):
        try:
            missing -= played(drawn(seed)).situations
        except AssertionError as error:
            error.add_note(str(drawn(seed)))
            raise
    assert not missing


@pytest.mark.rule("B22")
def test_what_was_brought_and_not_recorded_is_removed_when_it_is_no_longer_wanted() -> None:
    """A process ends between a first delivery and its record, and then the cluster is not in the files any more."""
    played(drawn(60229))
