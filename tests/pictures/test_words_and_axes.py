"""Times and durations in words, and the times at an axis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fleetform.pictures.time_axis import TimeAxis
from fleetform.pictures.words import Clock, cut, duration_words

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(days=4, hours=21, minutes=5), "4 d 21 h"),
        (timedelta(hours=1, minutes=30), "1 h 30 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(minutes=20), "20 min"),
        (timedelta(seconds=45), "45 s"),
        (timedelta(0), "0 min"),
        (timedelta(days=1200), "1,200 d"),
    ],
)
def test_durations_have_the_two_units_that_matter(length: timedelta, said: str) -> None:
    assert duration_words(length) == said


def test_times_are_on_the_clock_of_a_zone() -> None:
    clock = Clock("Europe/Berlin")
    assert clock.when(NOON) == "Mon 16 Nov 13:00"
    assert clock.span(NOON, NOON + timedelta(hours=1)) == "Mon 16 Nov 13:00 → 14:00"
    assert Clock("UTC", NOON).when(NOON + timedelta(days=60)) == "Fri 15 Jan 2027 12:00"
    assert Clock("UTC", NOON).when(NOON + timedelta(days=1)) == "Tue 17 Nov 12:00"
    assert cut("abcdef", 4) == "abc…"


@pytest.mark.parametrize("width", [300, 1000])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"])
@pytest.mark.parametrize(
    "length",
    [timedelta(minutes=20), timedelta(hours=5), timedelta(days=2), timedelta(weeks=3), timedelta(days=700)],
)
def test_ticks_are_in_order_inside_and_not_too_many(length: timedelta, zone: str, width: float) -> None:
    axis = TimeAxis(NOON, NOON + length, 0, width, Clock(zone))
    ticks = axis.ticks(100)
    assert 1 <= len(ticks) <= width // 100 + 2
    assert [each.at for each in ticks] == sorted({each.at for each in ticks})
    assert all(axis.begin <= each.at < axis.end for each in ticks)
    assert all(each.label for each in ticks)


def test_a_day_on_which_the_clock_changes_has_its_midnight_where_it_is() -> None:
    begin = datetime(2026, 10, 24, 10, tzinfo=UTC)
    axis = TimeAxis(begin, begin + timedelta(days=3), 0, 1000, Clock("Europe/Berlin"))
    majors = [each.at for each in axis.ticks(300) if each.major]
    assert majors == [datetime(2026, 10, day, hour, tzinfo=UTC) for day, hour in ((24, 22), (25, 23), (26, 23))]
