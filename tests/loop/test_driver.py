"""The driver: a pass when something happened or is due, and none otherwise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from fleetform.loop.caring import Care
from fleetform.loop.control import PassReport
from fleetform.loop.driver import Driver
from fleetform.loop.polling import Poller
from fleetform.ports.store import StoreError
from loop.test_control import installed, upgraded
from support.plane import Plane


class Run:
    """A driver that does not wait: when it would rest, the next step happens, and after the last one it is stopped."""

    def __init__(self, plane: Plane, steps: list[Callable[[Driver], None]]) -> None:
        self.plane, self.steps = plane, steps
        self.reports: list[PassReport] = []
        self.rests: list[float | None] = []
        self.cares: list[Care] = []
        self.driver = Driver(
            plane.control, plane.clock, timedelta(seconds=30), self.reports.append, self._failed, self.cares.append
        )
        self.driver._wake.wait = self._wait  # type: ignore[method-assign]

    def _failed(self, error: StoreError) -> None:
        raise error

    def _wait(self, timeout: float | None = None) -> bool:
        self.rests.append(timeout)
        if not self.steps:
            self.driver.stop()
        else:
            self.steps.pop(0)(self.driver)
        return True

    def run(self) -> Run:
        self.driver.run()
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


def drift_looks(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """When drift was looked for; none is found."""
    found: list[datetime] = []

    def find_drift(everything: bool = False) -> bool:
        found.append(plane.clock.at)
        return False

    monkeypatch.setattr(plane.control, "find_drift", find_drift)
    return found


def test_drift_is_looked_for_once_in_a_minute_and_after_the_clock_was_turned_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane = installed()
    start, looks = plane.clock.at, drift_looks(plane, monkeypatch)
    # Where the clock was turned back there is a pass first, and drift is looked for at the next rest.
    back = [later(plane, minutes=-10), later(plane, seconds=1), later(plane, seconds=1)]
    Run(plane, [later(plane, seconds=20)] * 7 + back).run()
    assert [(each - start).total_seconds() for each in looks] == [60, 120, 141 - 600]


def test_who_wants_all_drift_waits_for_clusters_that_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, carried_out = installed(), list[str]()
    looks = drift_looks(plane, monkeypatch)

    def last(driver: Driver) -> None:
        driver.between_passes(lambda: carried_out.append("a request"))
        answers.append(False)

    run = Run(plane, [lambda _: answers.append(True), last])
    # Two before the first wait, and then one for each wait: to ask without having waited finds no answer.
    answers = [True, True]
    monkeypatch.setattr(plane.control, "is_busy", lambda: answers.pop(0))
    run.driver.find_drift()
    assert run.rests == [1.0, 1.0]
    assert carried_out == ["a request"]
    assert len(looks) == 2, "once to begin, and once for what was found"


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
