"""What is said of one cluster, as it reads on any."""

from __future__ import annotations

import pytest

from fleetform.app.answering.anywhere import on_its_cluster


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "1.0.0 was blocked on eu-1 when a newer change came",
            "1.0.0 was blocked on its cluster when a newer change came",
        ),
        ("eu-1 holds: disk is full", "its cluster holds: disk is full"),
        ("db-eu-1 is being changed on eu-1", "db is being changed on its cluster"),
        ("pod web-eu-1-x2k9z restarts", "pod web-x2k9z restarts"),
        ("eu-10 and neu-1 are others", "eu-10 and neu-1 are others"),
    ],
)
def test_the_name_of_a_cluster_is_left_out_so_that_it_reads_well(message: str, told: str) -> None:
    assert on_its_cluster(message, "eu-1") == told
