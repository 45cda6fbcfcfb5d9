"""Times and durations as manifests write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fleetform.syntax.times import (
    clock_text,
    distance_text,
    duration_text,
    parse_duration,
    parse_time,
    span_text,
    time_text,
)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-11-01T12:00:00Z", "2026-11-01T12:00:00Z"),
        ("2026-11-01t12:00:00z", "2026-11-01T12:00:00Z"),
        ("2026-11-01T12:00:00+02:00", "2026-11-01T10:00:00Z"),
        ("2026-11-01T23:30:00-02:00", "2026-11-02T01:30:00Z"),
        ("2026-11-01T12:00:00.5Z", "2026-11-01T12:00:00.500000Z"),
        (" 2026-11-01 12:00Z ", "2026-11-01T12:00:00Z"),
    ],
)
def test_a_time_is_read_and_written_in_utc(text: str, utc: str) -> None:
    assert time_text(parse_time(text)) == utc


def test_a_date_is_its_first_instant_in_utc() -> None:
    assert parse_time("2026-11-01") == datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30", "2026-13-01", "12:00", "2026-11-01T25:00:00Z"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_a_time_outside_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@pytest.mark.parametrize("text", ["2026-W10", "20261101", "2026-11-01T12"])
def test_only_rfc_3339_and_dates_are_times(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


def test_times_of_other_zones_are_written_in_utc() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert time_text(datetime(2026, 1, 1, 5, 30, tzinfo=east)) == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("24h", timedelta(hours=24)),
        ("14d", timedelta(days=14)),
        ("1h30m", timedelta(minutes=90)),
        ("0s", timedelta()),
    ],
)
def test_a_duration_is_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "5", "s", "1.5h", "1h 30m", "-1h", "5x", "1h!", "1w", "٣s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_a_duration_of_ages_is_refused() -> None:
    with pytest.raises(ValueError):
        parse_duration("9999999999999d")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(days=3, hours=4, minutes=5), "3 d 4 h"),
        (timedelta(days=1_200, minutes=5), "1,200 d"),
        (timedelta(hours=6, minutes=12, seconds=59), "6 h 12 min"),
        (timedelta(hours=6, seconds=59), "6 h"),
        (timedelta(minutes=1, seconds=1), "1 min 1 s"),
        (timedelta(seconds=40), "40 s"),
        (timedelta(milliseconds=400), "0 s"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(span: timedelta, text: str) -> None:
    assert span_text(span) == text
    if span >= timedelta(seconds=1):
        assert (distance_text(span), distance_text(-span)) == (f"in {text}", f"{text} ago")
    else:
        assert distance_text(span) == distance_text(-span) == "now"


NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(0), "Mon 12:00 UTC (now)"),
        (timedelta(hours=10), "Mon 22:00 UTC (in 10 h)"),
        (-timedelta(days=6) + timedelta(seconds=1), "Tue 12:00 UTC (5 d 23 h ago)"),
        (timedelta(days=6) - timedelta(seconds=1), "Sun 11:59 UTC (in 5 d 23 h)"),
        (timedelta(days=6), "Sun 12:00 08 Nov 2026 UTC (in 6 d)"),
        (-timedelta(days=6), "Tue 12:00 27 Oct 2026 UTC (6 d ago)"),
    ],
)
def test_a_day_of_the_week_is_enough_within_six_days(distance: timedelta, text: str) -> None:
    assert clock_text(NOON + distance, NOON) == text


def test_a_time_is_told_as_people_there_read_it() -> None:
    assert clock_text(NOON, NOON - timedelta(hours=1), "Asia/Tokyo") == "Mon 21:00 Asia/Tokyo (in 1 h)"


@pytest.mark.parametrize("text", ["36600d", "878400h"])
def test_a_hundred_years_are_the_longest_duration(text: str) -> None:
    assert parse_duration(text) == timedelta(days=36_600)
    with pytest.raises(ValueError, match="is more than a hundred years"):
        parse_duration(f"{text}1s")


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(seconds=59), "59s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(seconds=3599), "59m59s"),
        (timedelta(seconds=3600), "1h"),
        (timedelta(seconds=86_399), "23h59m59s"),
        (timedelta(days=1), "1d"),
        (timedelta(days=14, hours=1, seconds=1), "14d1h1s"),
    ],
)
def test_a_duration_is_written_as_it_is_read(duration: timedelta, text: str) -> None:
    assert duration_text(duration) == text
    assert parse_duration(text) == duration
