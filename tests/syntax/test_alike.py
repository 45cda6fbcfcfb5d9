"""Texts that are alike are told as one."""

from __future__ import annotations

import pytest

from fleetform.syntax.alike import alike, told_as_one


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (("no disk",), "no disk"),
        (("exit code 1", "exit code 137"), "exit code …"),
        (("exit code 1", "exit code 1"), "exit code 1"),
        (
            ("pod web-7d4b9c6f5d-x2x8k restarted 3 times", "pod web-7d4b9c6f5d-kwzqt restarted 4 times"),
            "pod web-7d4b9c6f5d-… restarted … times",
        ),
        (("pod db-0 is Pending (10.0.0.1)", "pod db-1 is Pending (10.0.7.1)"), "pod db-… is Pending (10.0.….1)"),
        (("took 3m10s", "took 45s"), "took …"),
    ],
)
def test_what_varies_is_left_out(texts: tuple[str, ...], told: str) -> None:
    assert len({alike(each) for each in texts}) == 1
    assert told_as_one(texts) == told


@pytest.mark.parametrize(
    ("one", "other"),
    [("no disk", "no memory"), ("web-frontend", "web-backend"), ("3 restarts", "restarts"), ("on https", "on http")],
)
def test_other_words_are_another_text(one: str, other: str) -> None:
    assert alike(one) != alike(other)
