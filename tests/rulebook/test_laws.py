"""Laws between two answers about one random fleet, on a hundred of them; `make soak` takes many."""

from __future__ import annotations

import pytest

from rulebook.inventing import invented
from rulebook.laws import changed_by_migrating, left_out_of_a_diff

BUNCHES, BUNCH = 4, 25


@pytest.mark.rule("R2-6", "S58")
@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_a_migration_that_is_written_down_changes_nothing(bunch: int) -> None:
    for seed in range(bunch * BUNCH, (bunch + 1) * BUNCH):
        assert changed_by_migrating(invented(seed)) is None, f"seed {seed}"


@pytest.mark.rule("B30")
@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_no_change_is_never_said_of_a_plugin_that_changes_or_may(bunch: int) -> None:
    for seed in range(bunch * BUNCH, (bunch + 1) * BUNCH):
        assert left_out_of_a_diff(invented(seed)) is None, f"seed {seed}"
