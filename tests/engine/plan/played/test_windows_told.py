"""Windows and calendars told whole: at, just before and just after each time at which something about them changes.

With APPROVE=1 the page is written anew: read the difference before it is committed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from fleetform.engine.plan.windows.calendar import Calendar, Freeze, today
from fleetform.engine.plan.windows.openings import Opening, Window
from fleetform.engine.plan.windows.spans import freezes_between, openings_between
from fleetform.engine.plan.windows.useless import is_rare, never_opens
from support.plans import DAY, HOUR, MINUTE, NOON
from support.played import compare

PAGE = Path(__file__).parent / "windows.md"
SECOND = timedelta(seconds=1)
BERLIN = "Europe/Berlin"
WEEKLY = Window("weekly", "0 22 * * MON", 4 * HOUR, no_start_in_last=HOUR, jitter=30 * MINUTE)
NIGHTS = Window("nights", "30 22 * * *", 2 * HOUR)
TWICE = Window("twice", "0 22,23 * * *", HOUR)
WINDOWS = {
    "once a week, an hour kept free": WEEKLY,
    "openings that touch are one": TWICE,
    "openings that overlap are one": Window("overlapping", "0 22,23 * * *", 90 * MINUTE),
    "openings a minute apart are two": Window("apart", "0 22,23 * * *", 59 * MINUTE),
    "a day of 24 hours, every day": Window("always", "@daily", DAY),
    "on the clock of Berlin, the night in which it is set back": Window("autumn", "30 2 25 10 *", HOUR, zone=BERLIN),
    "on the clock of Berlin, the night in which it is set forward": Window("spring", "30 2 * 3 *", HOUR, zone=BERLIN),
    "from one time to another": Window("once", begin=NOON, end=NOON + HOUR),
    "from a time on": Window("from", begin=NOON),
    "until a time": Window("until", end=NOON),
    "that ends as it begins": Window("none", begin=NOON, end=NOON),
    "kept free of starts altogether": Window("free", "0 22 * * *", HOUR, no_start_in_last=HOUR),
    "kept free but for a minute": Window("minute", "0 22 * * *", HOUR, no_start_in_last=59 * MINUTE),
    "seven days apart": Window("weekly", "0 0 * * MON", HOUR),
    "every minute, for half of it": Window("minutes", "* * * * *", timedelta(seconds=30)),
    "once in leap years": Window("leap", "0 0 29 2 *", HOUR),
}
CALENDARS = {
    "no window": Calendar(),
    "one window, starts spread over half an hour": Calendar((WEEKLY,)),
    "two windows": Calendar((WEEKLY, NIGHTS)),
    "a window and freezes of which one lasts longest": Calendar(
        (NIGHTS,),
        (Window("short", begin=NOON, end=NOON + HOUR), Window("long", begin=NOON - HOUR, end=NOON + 2 * HOUR)),
        (Window("hard", begin=NOON + 30 * MINUTE, end=NOON + 90 * MINUTE),),
    ),
    "freezes without an end": Calendar(
        soft=(Window("open", begin=NOON), Window("ends", end=NOON + HOUR)),
        hard=(Window("ends", begin=NOON + HOUR, end=NOON + DAY), Window("open", begin=NOON + 2 * HOUR)),
    ),
}


def text(at: datetime | None) -> str:
    if at is None:
        return "never"
    return "the end of time" if at.year == 9999 else f"{at:%Y-%m-%d %H:%M:%S}".removesuffix(":00")


def span(opening: Opening | None) -> str:
    if opening is None:
        return "none"
    return f"{text(opening.begin) if opening.begin.year > 1 else 'ever'} – {text(opening.end)}"


def freeze(found: Freeze | None) -> str:
    return f"{found.name} until {text(found.until)}" if found is not None else "none"


def around(*times: datetime) -> list[datetime]:
    """Just before, at and just after each of some times, each once."""
    return sorted({each + by for each in times for by in (-SECOND, timedelta(0), SECOND) if 1 < each.year < 9999})


def edges_of(window: Window, since: datetime) -> list[datetime]:
    spans = [window.latest(since), *islice(window.upcoming(since), 1)]
    found = [spot for each in spans if each is not None for spot in (*each, window.last_start(each))]
    return around(*found, since)


def lines_of(window: Window, since: datetime) -> list[str]:
    """Times at which the same is said follow each other in one line."""
    said: dict[str, list[datetime]] = {}
    for now in edges_of(window, since):
        current, latest = window.current(now), window.latest(now)
        usable = f", starts until {text(window.last_start(current))}" if current is not None else ""
        upcoming = [span(each) for each in islice(window.upcoming(now), 2)]
        line = f"now {span(current)}{usable}; latest {span(latest)}; then {', '.join(upcoming) or 'none'}"
        said.setdefault(line, []).append(now)
    found = [f"- {', '.join(map(text, times))}: {line}" for line, times in said.items()]
    return [f"- it never opens: {never_opens(window, since)}, rare: {is_rare(window, since)}", *found]


def lines_of_calendar(calendar: Calendar) -> list[str]:
    found, now = [], NOON - DAY
    for _ in range(8):
        view = today(calendar, now)
        said = ["open" if view.is_open else "shut"]
        said += [f"{each.window.name} {span(each.usable)}" for each in view.open]
        said += [f"opens {text(view.opens_at)}", f"soft freeze {freeze(view.soft)}", f"hard freeze {freeze(view.hard)}"]
        said.append(f"the same until {text(view.edge)}")
        if view.open:
            starts = sorted({text(view.starts_at(f"c{number}")) for number in range(9)})
            said += [f"starts {', '.join(starts)}", f"spread until {text(view.spread_until)}"]
        found.append(f"- {text(now)}: {'; '.join(said)}")
        if view.edge is None:
            break
        now = view.edge
    begin, end = NOON - HOUR, NOON + 36 * HOUR
    found += [f"- may start {span(each)}" for each in openings_between([calendar], begin, end)]
    found += [
        f"- {'hard ' if each.hard else ''}freeze {each.name} {text(each.begin)} – {text(each.end)}"
        for each in freezes_between([calendar], begin, end)
    ]
    return found


def test_windows_and_calendars_say_what_the_page_says() -> None:
    lines = []
    for title, window in WINDOWS.items():
        since = datetime(2026, 10, 24, 12, tzinfo=UTC) if title.endswith("set back") else NOON
        lines += ["", f"## A window: {title}", "", *lines_of(window, since)]
    for title, calendar in CALENDARS.items():
        lines += ["", f"## A calendar: {title}", "", *lines_of_calendar(calendar)]
    compare(PAGE, lines)
