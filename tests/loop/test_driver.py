"""The driver: a pass when something happened or is due, and none otherwise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from queue import SimpleQueue
from threading import Thread

import pytest

from fleetform.loop.caring import Care
from fleetform.loop.control import PassReport
from fleetform.loop.driver import Driver
from fleetform.loop.polling import Poller
from fleetform.ports.sources import SourceFiles
from fleetform.ports.store import StoreError, UnavailableError
from loop.test_control import installed, upgraded
from support.plane import Plane


class Run:
    """A driver that does not wait: when it would rest, the next step happens, and after the last one it is stopped."""

    def __init__(
        self,
        plane: Plane,
        steps: list[Callable[[Driver], None]],
        beside: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self.plane, self.steps = plane, steps
        self.reports: list[PassReport] = []
        self.rests: list[float | None] = []
        self.cares: list[Care] = []
        self.failures: list[StoreError] = []
        told, failed, cared = self.reports.append, self.failures.append, self.cares.append
        self.driver = Driver(plane.control, plane.clock, timedelta(seconds=30), told, failed, cared, beside)
        self.driver._wake.wait = self._wait  # type: ignore[method-assign]

    def _wait(self, timeout: float | None = None) -> bool:
        assert not self.driver._wake.is_set(), "of what it was woken for before it has taken note"
        self.rests.append(timeout)
        if not self.steps:
            self.driver.stop()
        else:
            self.steps.pop(0)(self.driver)
        return True

    def run(self, fails: bool = False) -> Run:
        self.driver.run()
        assert bool(self.failures) is fails, self.failures
        return self


def later(plane: Plane, **span: float) -> Callable[[Driver], None]:
    def step(_: Driver) -> None:
        plane.clock.at += timedelta(**span)

    return step


@pytest.mark.rule("R0-19")
def test_nothing_new_and_nothing_due_is_no_pass_and_no_write() -> None:
    plane = installed()
    version = plane.store.version()
    run = Run(plane, [later(plane, seconds=31)] * 20).run()
    assert len(run.reports) == 1, "the first one, as it starts"
    assert plane.store.version() == version
    assert run.rests == [30.0] * 21
    assert run.cares == []


def test_once_in_an_hour_without_anything_else_to_do_it_looks_after_itself() -> None:
    plane = installed()
    version = plane.store.version()
    run = Run(plane, [later(plane, minutes=5)] * 40).run()
    assert [(each.differing, each.render_changed) for each in run.cares] == [([], [])] * 3
    assert plane.store.version() == version


def drift_looks(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> list[tuple[datetime, bool]]:
    """When drift was looked for, and whether everywhere; none is found."""
    found: list[tuple[datetime, bool]] = []

    def find_drift(everything: bool = False) -> bool:
        found.append((plane.clock.at, everything))
        return False

    monkeypatch.setattr(plane.control, "find_drift", find_drift)
    return found


def test_drift_is_looked_for_once_in_a_minute_and_after_the_clock_was_turned_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane = installed()
    start, looks = plane.clock.at, drift_looks(plane, monkeypatch)
    # Where the clock was turned back there is a pass first.
    back = [later(plane, minutes=-10), later(plane, seconds=1), later(plane, seconds=1)]
    Run(plane, [later(plane, seconds=20)] * 7 + back).run()
    assert [(each - start).total_seconds() for each, _ in looks] == [60, 120, 140 - 600]
    assert not any(everything for _, everything in looks)


def test_drift_is_looked_for_while_something_is_under_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = installed()
    plane.health.says = {"eu-1": "Unknown", "eu-2": "Unknown", "us-1": "Unknown"}
    upgraded(plane)
    plane.settle()
    start, looks = plane.clock.at, drift_looks(plane, monkeypatch)
    # A pass is due at each of these times.
    run = Run(plane, [later(plane, minutes=1)] * 5).run()
    assert [each.at for each in run.reports] == [start + timedelta(minutes=number) for number in range(6)]
    assert [at for at, _ in looks] == [start + timedelta(minutes=number) for number in range(1, 6)]


def test_where_drift_was_found_a_pass_follows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, found = installed(), [True]
    monkeypatch.setattr(plane.control, "find_drift", lambda: bool(found and found.pop()))
    run = Run(plane, [later(plane, minutes=1)]).run()
    assert (len(run.reports), run.rests) == (2, [30.0, 30.0])
    assert run.reports[1].at == plane.clock.at


def test_who_wants_all_drift_waits_for_clusters_that_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, carried_out = installed(), list[str]()
    looks = drift_looks(plane, monkeypatch)

    def last(driver: Driver) -> None:
        driver.between_passes(lambda: carried_out.append("a request"))
        answers.append(False)

    def woken(driver: Driver) -> None:
        driver.worked()
        answers.append(True)

    run = Run(plane, [woken, last])
    # Two before the first wait, and then one for each wait: to ask without having waited finds no answer.
    answers = [True, True]
    monkeypatch.setattr(plane.control, "is_busy", lambda: answers.pop(0))
    run.driver.find_drift()
    assert run.rests == [1.0, 1.0]
    assert carried_out == ["a request"]
    assert [everything for _, everything in looks] == [True, True], "once to begin, and once for what was found"


def test_who_wants_all_drift_waits_for_nothing_where_no_cluster_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = installed()
    looks = drift_looks(plane, monkeypatch)
    run = Run(plane, [])
    run.driver.find_drift()
    assert (len(looks), run.rests) == (1, [])


def test_a_changed_file_is_seen_at_the_next_look_and_at_once_with_a_hint() -> None:
    plane = installed()

    def edit(driver: Driver) -> None:
        upgraded(plane)
        driver.wake(source_changed=True)

    run = Run(plane, [later(plane, seconds=1), edit]).run()
    assert sum(each.accepted is not None for each in run.reports) == 1
    assert plane.versions["eu-2"] == "1.1.0"
    plane = installed()
    upgraded(plane)
    Run(plane, [later(plane, seconds=31)]).run()
    assert plane.versions["eu-2"] == "1.1.0"


def test_what_is_due_is_done_then_though_nothing_happened() -> None:
    plane = installed()
    upgraded(plane)
    plane.settle()

    run = Run(plane, [later(plane, minutes=61)] * 2).run()
    assert set(plane.versions.values()) == {"1.1.0"}
    assert run.rests[0] == 30.0, "never longer than the interval: the clock may jump"


def test_files_that_are_refused_are_told_once_and_judged_once() -> None:
    plane = installed()
    plane.files.files["preset.yaml"] = "not: [valid"
    run = Run(plane, [later(plane, seconds=31)] * 5).run()
    assert [each.refusal is not None for each in run.reports] == [True]


def test_a_hint_that_says_nothing_of_the_source_does_not_have_it_looked_at() -> None:
    plane = installed()

    def edit(driver: Driver) -> None:
        upgraded(plane)
        driver.wake()

    run = Run(plane, [edit]).run()
    assert [each.accepted for each in run.reports] == [None]
    assert plane.versions["eu-2"] == "1.0.0"


def test_one_that_rests_is_woken_by_what_happens_and_by_being_stopped() -> None:
    plane, reports = installed(), SimpleQueue[PassReport]()
    others = list[object]()
    driver = Driver(plane.control, plane.clock, timedelta(hours=1), reports.put, others.append, others.append)
    running = Thread(target=driver.run, daemon=True)
    running.start()
    reports.get(timeout=20)
    driver.worked()
    assert not reports.get(timeout=20).wrote
    upgraded(plane)
    driver.wake(source_changed=True)
    assert reports.get(timeout=20).accepted is not None
    driver.stop()
    running.join(20)
    assert not running.is_alive()
    assert others == []


def test_failures_are_told_and_tried_again_with_growing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    plane = installed()
    works, error = plane.control.run_pass, UnavailableError("no disk", "look")

    def fail(**_: object) -> PassReport:
        raise error

    def mend(_: Driver) -> None:
        monkeypatch.setattr(plane.control, "run_pass", works)

    def break_again(driver: Driver) -> None:
        monkeypatch.setattr(plane.control, "run_pass", fail)
        driver.worked()

    monkeypatch.setattr(plane.control, "run_pass", fail)
    run = Run(plane, [lambda _: None] * 7 + [mend, break_again]).run(fails=True)
    assert run.rests == [1, 2, 4, 8, 16, 32, 60, 60, 30, 1], "and after it worked from the beginning"
    assert run.failures == [error] * 9
    assert len(run.reports) == 1


def test_a_rest_ends_when_something_is_due_here_or_beside() -> None:
    plane = installed()
    soon = plane.clock.at + timedelta(seconds=7)
    assert Run(plane, [], beside=lambda: soon).run().rests == [7.0]
    assert Run(plane, [later(plane, seconds=8)], beside=lambda: soon).run().rests == [7.0, 0.0], "never less than none"
    upgraded(plane)
    look = plane.settle().next_look
    assert look is not None
    plane.clock.at = look - timedelta(seconds=3)
    run = Run(plane, [later(plane, seconds=2), later(plane, seconds=1)]).run()
    assert run.rests[:2] == [3.0, 1.0]
    assert run.reports[0].at == look - timedelta(seconds=3)
    assert run.reports[1].at == look, "nothing was due before"


def test_passes_are_run_until_nothing_more_is_stored_and_the_source_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane, reads = installed(), list[datetime]()
    upgraded(plane)
    read = plane.files.read

    def noted() -> SourceFiles:
        reads.append(plane.clock.at)
        return read()

    monkeypatch.setattr(plane.files, "read", noted)
    run = Run(plane, [])
    report = run.driver.run_once()
    assert len(reads) == 1
    assert [each.wrote for each in run.reports] == [True] * (len(run.reports) - 1) + [False]
    assert (report.wrote, report.accepted) == (True, run.reports[0].accepted)
    assert report.accepted is not None
    assert report.next_look == run.reports[-1].next_look == plane.clock.at + timedelta(hours=1)
    count = len(run.reports)
    assert run.driver.run_once() is run.reports[-1]
    assert len(run.reports) == count + 1
    assert run.rests == []


def test_what_is_under_way_on_clusters_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, carried_out = installed(), list[str]()
    works, under_way = plane.control.run_pass, [True, True]

    def run_pass(look_at_source: bool = True) -> PassReport:
        return works(look_at_source)._replace(under_way=bool(under_way and under_way.pop()))

    monkeypatch.setattr(plane.control, "run_pass", run_pass)
    run = Run(plane, [lambda driver: driver.between_passes(lambda: carried_out.append("a request")), lambda _: None])
    run.driver.run_once()
    assert run.rests == [1.0, 1.0]
    assert [each.under_way for each in run.reports] == [True, True, False]
    assert carried_out == ["a request"]


def test_a_trial_jumps_from_one_time_that_is_due_to_the_next_until_its_end() -> None:
    def ahead(until: timedelta) -> tuple[list[datetime], Plane]:
        plane, turns = installed(), list[datetime]()
        upgraded(plane)

        def turn(at: datetime) -> None:
            turns.append(at)
            plane.clock.at = at

        Run(plane, []).driver.run_ahead(plane.clock.at + until, turn)
        return turns, plane

    hour = timedelta(hours=1)
    turns, plane = ahead(hour - timedelta(seconds=1))
    assert (turns, plane.versions["us-1"]) == ([], "1.0.0")
    turns, plane = ahead(hour)
    assert (turns, plane.versions["us-1"]) == ([installed().clock.at + hour], "1.1.0")


def test_a_poller_fetches_with_jitter_and_at_once_after_a_hint() -> None:
    waits: list[float] = []
    fetched: list[int] = []

    def chance(low: float, high: float) -> float:
        waits.append(high - low)
        poller.hint() if len(fetched) < 3 else poller.stop()
        return 1.0

    poller = Poller(lambda: fetched.append(1), lambda: None, timedelta(hours=1), chance)
    poller.start()
    poller._thread.join(30)
    assert len(fetched) == 3
    assert [round(each, 3) for each in waits] == [0.2, 0.2, 0.2]


def test_the_source_is_looked_at_once_an_interval_has_passed_to_the_second() -> None:
    plane = installed()
    looks: list[datetime] = []
    read = plane.files.read

    def seen() -> SourceFiles:
        looks.append(plane.clock.at)
        return read()

    plane.files.read = seen  # type: ignore[method-assign]
    start = plane.clock.at
    Run(plane, [later(plane, seconds=29), later(plane, seconds=1), later(plane, seconds=30)]).run()
    assert sorted({(each - start).total_seconds() for each in looks}) == [0, 30, 60]
