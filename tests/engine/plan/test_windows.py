"""Windows: when they open and close, over changes of the clock; how they combine; which are of no use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.engine.plan.windows.calendar import Almanac, Calendar, today
from fleetform.engine.plan.windows.compile import Calendars, compile_window
from fleetform.engine.plan.windows.openings import Opening, Window, cron_text, weekday_schedule
from fleetform.engine.plan.windows.spans import FrozenSpan, freezes_between, openings_between
from fleetform.engine.plan.windows.useless import is_rare, never_opens
from fleetform.model.kinds.base import ClusterSelector
from fleetform.model.kinds.lifecycle import UpdateWindowSpec
from fleetform.model.state import PluginState
from support.plans import DAY, HOUR, MINUTE, NOON, OLD, candidate, play

BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def begins(window: Window, after: str, count: int) -> list[str]:
    return [f"{each.begin:%m-%d %H:%M}" for each in islice(window.upcoming(at(after)), count)]


def test_a_schedule_follows_the_clock_of_its_zone() -> None:
    window = Window("w", "0 22 * * MON-THU", 4 * HOUR, zone=BERLIN)
    assert begins(window, "2026-11-15", 3) == ["11-16 21:00", "11-17 21:00", "11-18 21:00"]
    assert window.current(at("2026-11-16T21:00")) == Opening(at("2026-11-16T21:00"), at("2026-11-17T01:00"))
    assert window.current(at("2026-11-17T00:59:59")) is not None
    assert window.current(at("2026-11-17T01:00")) is None


@pytest.mark.rule("B13")
def test_a_start_that_spring_skips_takes_place_at_the_next_instant() -> None:
    window = Window("w", "30 2 * * *", HOUR, zone=BERLIN)
    assert begins(window, "2026-03-28T12:00", 2) == ["03-29 01:00", "03-30 00:30"]


@pytest.mark.rule("B13", "S46")
def test_a_start_that_autumn_repeats_takes_place_once_the_first_time() -> None:
    window = Window("w", "30 2 * * *", HOUR, zone=BERLIN)
    assert begins(window, "2026-10-24T12:00", 2) == ["10-25 00:30", "10-26 01:30"]
    assert window.current(at("2026-10-25T01:30")) is None


@pytest.mark.rule("B13")
def test_intervals_begin_in_both_of_the_repeated_hours_and_in_none_of_the_skipped_one() -> None:
    window = Window("w", "*/30 * * * *", 10 * MINUTE, zone=BERLIN)
    times = ["00:30", "01:00", "01:30", "02:00", "02:30"]
    assert begins(window, "2026-10-25T00:00", 5) == [f"10-25 {each}" for each in times]
    skipped = Window("w", "*/30 2 * * *", 10 * MINUTE, zone=BERLIN)
    assert begins(skipped, "2026-03-29T00:00", 1) == ["03-30 00:00"]


@pytest.mark.rule("B13")
@pytest.mark.parametrize("minute", range(0, 120, 5))
def test_asked_inside_of_the_repeated_hours_a_window_answers_as_from_outside(minute: int) -> None:
    now = at("2026-10-25T00:00") + minute * MINUTE
    every = Window("w", "*/30 * * * *", 10 * MINUTE, zone=BERLIN)
    opening = next(every.upcoming(now))
    assert opening.begin == at("2026-10-25T00:00") + (minute // 30 + 1) * 30 * MINUTE
    assert (every.current(now) is not None) == (minute % 30 < 10)
    once = Window("w", "30 2 * * *", HOUR, zone=BERLIN)
    assert (once.current(now) is not None) == (30 <= minute < 90)
    assert next(once.upcoming(now)).begin == (at("2026-10-25T00:30") if minute < 30 else at("2026-10-26T01:30"))


@pytest.mark.parametrize(("day", "ends"), [("2026-03-28", "2026-03-29T05:00"), ("2026-10-24", "2026-10-25T04:00")])
def test_a_window_lasts_as_long_as_it_says_over_a_change_of_the_clock(day: str, ends: str) -> None:
    window = Window("w", "0 22 * * *", 8 * HOUR, zone=BERLIN)
    begin = datetime.fromisoformat(f"{day}T22:00").replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)
    opening = window.current(begin)
    assert opening is not None
    assert opening.end - opening.begin == 8 * HOUR
    assert opening.end == at(ends)


def test_weekdays_with_a_start_are_a_schedule() -> None:
    window = Window("w", weekday_schedule(["Mon", "Fri"], "22:30"), 2 * HOUR)
    assert begins(window, "2026-11-15", 3) == ["11-16 22:30", "11-20 22:30", "11-23 22:30"]


@pytest.mark.rule("S46")
def test_a_date_range_includes_its_first_instant_and_not_its_last() -> None:
    window = Window("w", begin=at("2026-12-20"), end=at("2027-01-04"))
    assert window.current(at("2026-12-20")) is not None
    assert window.current(at("2027-01-03T23:59:59")) is not None
    assert window.current(at("2027-01-04")) is None
    assert [each.begin for each in window.upcoming(NOON)] == [at("2026-12-20")]


def test_openings_that_overlap_are_one() -> None:
    window = Window("w", "0 */2 * * *", 3 * HOUR)
    opening = window.current(NOON)
    assert opening is not None
    assert opening.end > NOON + 300 * DAY or opening.end.year == 9999
    nights = Window("w", "0 22,23 * * *", 2 * HOUR)
    assert nights.current(at("2026-11-16T23:30")) == Opening(at("2026-11-16T22:00"), at("2026-11-17T01:00"))


@given(st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)), st.sampled_from([BERLIN, "UTC", "America/New_York"]))
def test_now_is_in_an_opening_exactly_if_one_began_and_has_not_ended(moment: datetime, zone: str) -> None:
    now = moment.replace(tzinfo=UTC, microsecond=0)
    window = Window("w", "15 22 * * *", 4 * HOUR, zone=zone)
    begun = [each for each in islice(window.upcoming(now - 3 * DAY), 5) if each.begin <= now < each.end]
    current = window.current(now)
    assert ([current] if current is not None else []) == begun
    following = next(window.upcoming(now))
    assert following.begin > now


@pytest.mark.parametrize("text", ["", "x", "61 * * * *", "0 0 * *", "0 0 0 * * *", "0 0 30 2 *", "@sometimes"])
def test_a_schedule_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        cron_text(text)


def test_macros_are_schedules() -> None:
    assert begins(Window("w", "@daily", HOUR), "2026-11-15T12:00", 1) == ["11-16 00:00"]


# ---- Calendars


@pytest.mark.rule("R2-30")
def test_nothing_starts_in_the_last_minutes() -> None:
    calendar = Calendar((Window("w", "0 22 * * *", HOUR, no_start_in_last=15 * MINUTE),))
    assert today(calendar, at("2026-11-16T22:44:59")).is_open
    view = today(calendar, at("2026-11-16T22:45"))
    assert not view.is_open
    assert view.opens_at == at("2026-11-17T22:00")


@pytest.mark.rule("B13")
def test_open_is_what_any_window_allows_less_what_any_freeze_forbids() -> None:
    nights = Window("nights", "0 22 * * *", 4 * HOUR)
    noons = Window("noons", "0 12 * * *", HOUR)
    freeze = Window("holidays", begin=at("2026-12-20"), end=at("2027-01-04"))
    calendar = Calendar((nights, noons), (freeze,))
    assert today(calendar, at("2026-11-16T12:30")).is_open
    assert today(calendar, at("2026-11-16T23:00")).is_open
    assert today(calendar, at("2026-11-16T18:00")).opens_at == at("2026-11-16T22:00")
    frozen = today(calendar, at("2026-12-24T12:30")).soft
    assert frozen is not None
    assert frozen.until == at("2027-01-04")


@given(st.integers(0, 14 * 24 * 60), st.integers(0, 14 * 24 * 60))
def test_a_calendar_looks_the_same_until_its_edge(minute: int, later: int) -> None:
    calendar = Calendar(
        (Window("nights", "0 22 * * MON-FRI", 4 * HOUR, no_start_in_last=30 * MINUTE),),
        (Window("f", begin=at("2026-11-19"), end=at("2026-11-21T03:00")),),
        (Window("h", "0 23 * * 2", 2 * HOUR),),
    )
    now = NOON + minute * MINUTE
    view = today(calendar, now)
    then = now + later * MINUTE
    if view.edge is None or then < view.edge:
        other = today(calendar, then)
        assert (other.is_open, other.soft, other.hard) == (view.is_open, view.soft, view.hard)
    else:
        before = today(calendar, view.edge - timedelta(seconds=1))
        assert (before.is_open, before.soft, before.hard) == (view.is_open, view.soft, view.hard)


def test_what_ended_at_this_very_time_hides_nothing_that_is_still_to_come() -> None:
    """The calendar that ended is one that nobody asks for any more."""
    almanac, begins = Almanac(), at("2026-11-16T22:00")
    for hours in (1, 2):
        almanac.today(Calendar((Window(f"w{hours}", "0 22 * * *", hours * HOUR),)), begins)
    edges = [almanac.edge(begins + hours * HOUR) for hours in (0, 1, 2)]
    assert edges == [begins + HOUR, begins + 2 * HOUR, None]


def test_starts_are_spread_by_cluster_and_change_and_always_the_same() -> None:
    calendar = Calendar((Window("w", "0 22 * * *", 2 * HOUR, no_start_in_last=HOUR, jitter=4 * HOUR),))
    opens = at("2026-11-16T22:00")
    times = [Almanac().starts_at(today(calendar, opens), f"c{each}/x", opens) for each in range(200)]
    assert times == [Almanac().starts_at(today(calendar, opens), f"c{each}/x", opens) for each in range(200)]
    assert len(set(times)) == 12, "every slot of five minutes of the hour that can be used"
    assert min(times) == opens
    assert max(times) < opens + HOUR, "never where nothing may start any more"
    others = [Almanac().starts_at(today(calendar, opens), f"c{each}/y", opens) for each in range(200)]
    assert others != times


def test_a_spread_start_waits_for_its_slot_and_starts_exactly_then() -> None:
    calendar = Calendar((Window("w", "0 22 * * *", 4 * HOUR, jitter=HOUR),))
    hand = play([candidate(f"c{each}", calendar=calendar) for each in range(8)], now=at("2026-11-16T21:00"))
    starts: dict[str, datetime] = {}
    while len(starts) < 8:
        starts |= dict.fromkeys(hand.sleep(), hand.now)
    assert len(set(starts.values())) > 2
    assert all(22 <= each.hour < 23 and each.minute % 5 == 0 for each in starts.values())


@pytest.mark.rule("B13")
def test_windows_count_if_named_and_reached_and_freezes_wherever_they_reach() -> None:
    eu = ClusterSelector(match_labels={"region": "eu"})
    specs = {
        "eu": UpdateWindowSpec("Allow", schedule="0 22 * * *", duration="4h", cluster_selector=eu),
        "certs": UpdateWindowSpec(
            "Allow", days=["Mon"], start="01:00", duration="4h", plugin_definition_names=["certs"]
        ),
        "xmas": UpdateWindowSpec("HardFreeze", from_="2026-12-20", to="2027-01-04", cluster_selector=eu),
    }
    windows = [compile_window(name, spec) for name, spec in specs.items()]
    calendars = Calendars(windows)
    named = frozenset({"eu"})
    reached = calendars.of(named, "certs", "c1", {"region": "eu"}, None)
    assert [each.name for each in reached.allow] == ["eu"]
    assert [each.name for each in reached.hard] == ["xmas"]
    # A window that does not reach the cluster does not count, and without one that counts it is always open.
    assert calendars.of(named, "certs", "c2", {"region": "us"}, None).allow == ()
    assert not calendars.reaches(named, "certs", "c2", {"region": "us"})
    assert calendars.of(frozenset({"eu", "certs"}), "certs", "c1", {"region": "eu"}, None) is calendars.of(
        frozenset({"eu", "certs"}), "certs", "c9", {"region": "eu"}, None
    ), "plugins share calendars"


def test_a_window_without_a_zone_follows_the_clusters_clock() -> None:
    windows = [
        compile_window("own", UpdateWindowSpec("Allow", days=["Mon"], start="22:00", duration="4h", time_zone="UTC")),
        compile_window("local", UpdateWindowSpec("Allow", days=["Mon"], start="22:00", duration="4h")),
    ]
    found = Calendars(windows).of(frozenset({"own", "local"}), "certs", "c1", {}, "Asia/Tokyo")
    assert [each.zone for each in found.allow] == ["UTC", "Asia/Tokyo"]


@pytest.mark.rule("S46", "B13")
def test_a_first_install_ignores_windows_and_not_freezes() -> None:
    closed = Calendar((Window("w", "0 22 * * *", HOUR),))
    frozen = Calendar(hard=(Window("f", begin=NOON - DAY, end=NOON + DAY),))
    nothing = {each: PluginState() for each in (("acme", "a", "certs"), ("acme", "b", "certs"))}
    hand = play([candidate("a", calendar=closed), candidate("b", calendar=frozen)], states=nothing)
    assert hand.go() == ["a"]
    assert hand.gates("b") == ["freeze"]


# ---- Windows of no use


@pytest.mark.rule("R2-29")
@pytest.mark.parametrize(
    ("window", "rare"),
    [
        (Window("weekly", "0 22 * * MON", 4 * HOUR, zone=BERLIN), False),
        (Window("nights", "0 22 * * *", 4 * HOUR), False),
        (Window("hours", "0 */2 * * *", HOUR), False),
        (Window("not in August", "0 22 * 1-7,9-12 *", 4 * HOUR), True),
        (Window("monthly", "0 22 1 * *", 4 * HOUR), True),
        (Window("once", begin=NOON + DAY, end=NOON + 2 * DAY), True),
        (Window("always", begin=NOON - DAY), False),
    ],
)
def test_a_window_that_opens_less_than_once_in_seven_days_is_rare(window: Window, rare: bool) -> None:
    assert is_rare(window, NOON) is rare


@pytest.mark.parametrize(
    ("window", "never"),
    [
        (Window("over", begin=NOON - 2 * DAY, end=NOON - DAY), True),
        (Window("all of it is kept free", "0 22 * * *", HOUR, no_start_in_last=HOUR), True),
        (Window("no time at all", "0 22 * * *"), True),
        (Window("nights", "0 22 * * *", HOUR), False),
        (Window("later", begin=NOON + 90 * DAY), False),
    ],
)
def test_a_window_in_which_nothing_can_ever_start_is_found(window: Window, never: bool) -> None:
    assert never_opens(window, NOON) is never


def test_a_plugin_that_only_a_dead_window_would_let_start_says_so() -> None:
    over = Calendar((Window("over", begin=NOON - 2 * DAY, end=NOON - DAY),))
    hand = play([candidate("a", calendar=over)], states={("acme", "a", "certs"): PluginState(OLD, OLD)})
    reason = hand.step("a").reasons[0]
    assert (reason.gate, reason.until) == ("window", None)
    assert "opens again" in str(reason.do)


@pytest.mark.rule("R2-30")
def test_what_is_open_or_frozen_already_counts_from_where_one_looks() -> None:
    nightly = Window("nightly", "0 22 * * *", 4 * HOUR, no_start_in_last=HOUR)
    begin, end = at("2026-11-16T23:00"), at("2026-11-18T00:00")
    assert openings_between([Calendar(allow=(nightly,))], begin, end) == (
        Opening(begin, at("2026-11-17T01:00")),
        Opening(at("2026-11-17T22:00"), end),
    )
    assert freezes_between([Calendar(soft=(nightly,), hard=(nightly,))], begin, end) == (
        FrozenSpan(begin, at("2026-11-17T02:00"), "nightly", False),
        FrozenSpan(begin, at("2026-11-17T02:00"), "nightly", True),
        FrozenSpan(at("2026-11-17T22:00"), end, "nightly", False),
        FrozenSpan(at("2026-11-17T22:00"), end, "nightly", True),
    )


def test_spans_that_end_where_one_begins_to_look_or_begin_where_one_stops_are_none() -> None:
    nightly = Window("nightly", "0 22 * * *", 4 * HOUR)
    begin, end = at("2026-11-17T02:00"), at("2026-11-17T22:00")
    assert openings_between([Calendar(allow=(nightly,))], begin, end) == ()
    assert freezes_between([Calendar(hard=(nightly,))], begin, end) == ()
    # In its last hour a window is open, and nothing starts any more.
    late = Window("nightly", "0 22 * * *", 4 * HOUR, no_start_in_last=HOUR)
    assert openings_between([Calendar(allow=(late,))], at("2026-11-17T01:00"), end) == ()
