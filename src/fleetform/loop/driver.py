"""The driver: a pass when something happened or is due, and rest in between.

File events and requests are hints that wake it; the source is looked at anyway once in an interval, since events get
lost. Where that finds nothing new and nothing is due there is no pass. A pass that failed for want of a disk, a network
or a lock is tried again with growing pauses; nothing else is caught.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from queue import SimpleQueue
from threading import Event

from fleetform.loop.caring import Care
from fleetform.loop.control import Control, PassReport
from fleetform.ports.clock import Clock
from fleetform.ports.store import StoreError

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_BETWEEN_DRIFTS = timedelta(minutes=1)
_BETWEEN_CARES = timedelta(hours=1)
_MOST_PASSES = 10_000
# So many seconds work on clusters is waited for at a time, if nobody tells that something is done.
_WORKED_FOR = 1.0


class Driver:
    """Runs passes until it is stopped. told gets the report of every pass, failed what a pass failed with, cared what
    was found when there was nothing else to do.

    beside is called between passes, for what is done beside them; it says when it wants to be called again.
    """

    def __init__(
        self,
        control: Control,
        clock: Clock,
        interval: timedelta,
        told: Callable[[PassReport], None],
        failed: Callable[[StoreError], None],
        cared: Callable[[Care], None],
        beside: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._control, self._clock, self._interval = control, clock, interval
        self._told, self._failed, self._cared, self._beside = told, failed, cared, beside
        self._wake, self._stop = Event(), Event()
        self._cared_at = self._drift_at = clock.now()
        self._source_changed = Event()
        self._requests: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def wake(self, source_changed: bool = False) -> None:
        """Something happened: do not rest any longer."""
        if source_changed:
            self._source_changed.set()
        self._wake.set()

    def between_passes(self, request: Callable[[], None]) -> None:
        """Have something done by the one that runs passes, before the next of them; any thread may ask."""
        self._requests.put(request)
        self.wake()

    def worked(self) -> None:
        """Something was done on a cluster: a pass takes what came of it; any thread may say so."""
        self.between_passes(_nothing)

    def stop(self) -> None:
        """Stop after the pass that runs."""
        self._stop.set()
        self._wake.set()

    def find_drift(self) -> None:
        """Looks at everything that was delivered; clusters are looked at beside the loop, and waited for."""
        self._control.find_drift(everything=True)
        if not self._control.is_busy():
            return
        while self._control.is_busy():
            self._wake.wait(_WORKED_FOR)
            self._wake.clear()
            self._carry_out_requests()
        self._control.find_drift(everything=True)

    def run_once(self) -> PassReport:
        """Passes until nothing more is stored at this time; the report of the last one that did something.

        What is under way on clusters is waited for.
        """
        last: PassReport | None = None
        for number in range(_MOST_PASSES):
            self._wake.clear()
            report = self._control.run_pass(look_at_source=number == 0)
            self._told(report)
            if report.wrote:
                last = report if last is None else report._replace(accepted=last.accepted)
            elif report.under_way:
                self._wake.wait(_WORKED_FOR)
                self._carry_out_requests()
            else:
                return report if last is None else last._replace(next_look=report.next_look, wrote=True)
        raise RuntimeError("it does not settle")

    def run_ahead(self, until: datetime, turn_clock: Callable[[datetime], None]) -> PassReport:
        """Jumps from one time at which something is due to the next, instead of waiting; for trials."""
        while True:
            report = self.run_once()
            if report.next_look is None or report.next_look > until or self._stop.is_set():
                return report
            turn_clock(report.next_look)

    def run(self) -> None:
        pause = _FIRST_PAUSE
        looked_at: datetime | None = None
        self._cared_at = self._drift_at = self._clock.now()
        report: PassReport | None = None
        while not self._stop.is_set():
            self._wake.clear()
            asked = self._carry_out_requests()
            now = self._clock.now()
            hinted = self._source_changed.is_set()
            self._source_changed.clear()
            try:
                changed = watched = False
                if hinted or looked_at is None or not timedelta(0) <= now - looked_at < self._interval:
                    changed, looked_at = self._control.look(), now
                    watched = report is not None and report.watched
                if changed or watched or asked or report is None or _is_due(report, now):
                    report = self._control.run_pass(look_at_source=False)
                    self._told(report)
                # Also after a pass that found nothing to do: while something is under way one comes at each wake.
                if not report.wrote and self._looks_after(now):
                    report = None
                    continue
                beside = self._beside()
            except StoreError as error:
                self._failed(error)
                looked_at = report = None
                self._wake.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            if not report.wrote:
                self._wake.wait(self._rest(report, beside))

    def _looks_after(self, now: datetime) -> bool:
        """What is done while nothing else is; whether that found something to do."""
        if not timedelta(0) <= now - self._cared_at < _BETWEEN_CARES:
            self._cared_at = now
            self._cared(self._control.care())
        if not timedelta(0) <= now - self._drift_at < _BETWEEN_DRIFTS:
            self._drift_at = now
            return self._control.find_drift()
        return False

    def _carry_out_requests(self) -> bool:
        """Whether there were any."""
        found = False
        while not self._requests.empty():
            self._requests.get()()
            found = True
        return found

    def _rest(self, report: PassReport, beside: datetime | None) -> float:
        """How long nothing is due. The clock may jump: never longer than until the next look at the source."""
        seconds = self._interval.total_seconds()
        for due in (report.next_look, beside):
            if due is not None:
                seconds = min(seconds, (due - self._clock.now()).total_seconds())
        return max(seconds, 0.0)


def _is_due(report: PassReport, now: datetime) -> bool:
    """Whether a pass may find something to do, though nothing happened; any may after a clock was turned back."""
    return report.wrote or now < report.at or (report.next_look is not None and report.next_look <= now)


def _nothing() -> None:
    """Only that there is something."""
