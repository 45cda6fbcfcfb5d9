"""What a control plane has to tell Prometheus (R2-27); `web/monitoring` serves it, from the process of the loop.

The loop has the plan at hand and knows how long passes take; the API would have to make a view for every scrape. What
is counted from a plan is counted when somebody scrapes, in the thread that serves, once for each plan.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from prometheus_client import Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fleetform import __version__
from fleetform.app.numbers import Numbers, numbers
from fleetform.clusters.work import Load
from fleetform.loop.control import PassReport
from fleetform.ports.store import StoreError, StoreReader

if TYPE_CHECKING:
    from fleetform.engine.plan.records import Plan

_SECONDS = (0.005, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
_FAR = datetime.max.replace(tzinfo=UTC)
_OWNER = ("organization", "preset")


class Build(Collector):
    """The version that runs."""

    def collect(self) -> Iterator[Metric]:
        yield gauge("fleetform_build_info", "The version that runs.", ("version",), [((__version__,), 1)])


class Metrics(Collector):
    """What the loop tells, and what is counted of it when somebody asks. The store is read by a connection of its own.

    open_store opens that: before the first pass there may be no database yet. load is how much is to be done on
    clusters.
    """

    def __init__(self, open_store: Callable[[], StoreReader], log_file: str, now: Callable[[], datetime]) -> None:
        self._open_store, self._log_file, self._now = open_store, log_file, now
        self._store: StoreReader | None = None
        self._lock = Lock()
        self._report: PassReport | None = None
        self._counted: tuple[Plan, Numbers] | None = None
        self._passes = {"done": 0, "failed": 0}
        self._passed_at: datetime | None = None
        self._looked_at: datetime | None = None
        self.load: Callable[[], Load] = Load
        self._durations = Histogram(
            "fleetform_pass_duration_seconds", "How long passes took.", buckets=_SECONDS, registry=None
        )

    # ---- What the loop tells

    def told(self, report: PassReport) -> None:
        self._durations.observe(report.took)
        self._passes["done"] += 1
        self._report, self._passed_at = report, self._now()

    def failed(self, error: StoreError) -> None:
        self._passes["failed"] += 1

    def looked(self) -> None:
        """The loop is alive: it passed, or found that nothing is to be done."""
        self._looked_at = self._now()

    # ---- What somebody asks

    def collect(self) -> Iterator[Metric]:
        report = self._report
        yield from self._durations.collect()
        passes = CounterMetricFamily("fleetform_passes", "Passes, by what came of them.", labels=("outcome",))
        for outcome, count in self._passes.items():
            passes.add_metric((outcome,), count)
        yield passes
        yield from _time("fleetform_last_successful_pass", "When a pass last ended well.", self._passed_at)
        yield from _time("fleetform_last_look", "When the loop last looked whether there is work.", self._looked_at)
        refused = report is not None and report.refusal is not None
        yield _one("fleetform_source_refused", "Whether the files as they are now were refused.", refused)
        yield from self._of_the_store()
        yield from self._of_clusters()
        if report is not None:
            yield from self._of_the_fleet(report)

    def _of_the_store(self) -> Iterator[Metric]:
        size = os.path.getsize(self._log_file) if os.path.exists(self._log_file) else 0
        yield _one("fleetform_database_wal_bytes", "The size of the database's write-ahead log.", size)
        try:
            with self._lock:
                self._store = self._store or self._open_store()
                outbox = self._store.outbox(_FAR)
        except StoreError:
            return
        yield _one("fleetform_notifications_waiting", "Messages that wait to be sent.", len(outbox))
        failing = sum(each.tries > 0 for each in outbox)
        yield _one("fleetform_notifications_failing", "Messages that did not arrive at the first try.", failing)

    def _of_clusters(self) -> Iterator[Metric]:
        load = self.load()
        waiting = "Pieces of work on clusters that are not done."
        yield _one("fleetform_cluster_work_waiting", waiting, load.waiting)
        oldest = "For how long the oldest piece of work on a cluster has been wanted."
        yield _one("fleetform_cluster_work_oldest_seconds", oldest, load.oldest)
        unreachable = "Clusters that did not answer when they were last asked."
        yield _one("fleetform_clusters_unreachable", unreachable, load.unreachable)

    def _of_the_fleet(self, report: PassReport) -> Iterator[Metric]:
        failing = Counter(key[0] for key, each in report.deliveries.items() if each.failing)
        found = self._numbers(report)
        organizations = sorted({key[0] for key in found.plugins} | set(failing)) if found is not None else failing
        failing_by = {(each,): failing[each] for each in organizations}
        yield gauge(
            "fleetform_deliveries_failing", "Plugins that could not be delivered.", _OWNER[:1], failing_by.items()
        )
        labels = ("organization", "definition", "version")
        times = [(each[:3], each.at.timestamp()) for each in report.endings]
        running = [(each[:3], len(each.clusters)) for each in report.endings]
        ending = "When the support of a version ends that runs somewhere."
        yield gauge("fleetform_support_ends_timestamp_seconds", ending, labels, times)
        yield gauge("fleetform_support_ending_clusters", "Clusters that run it until then.", labels, running)
        if found is None:
            return
        yield gauge("fleetform_plugins", "Plugins that are wanted.", _OWNER, found.plugins.items())
        pending = "Plugins that are not what is wanted, by the first reason."
        yield gauge("fleetform_plugins_pending", pending, (*_OWNER, "reason"), found.pending.items())
        waiting = "Plugins that a gate holds; one that several hold counts for each."
        yield gauge("fleetform_plugins_waiting", waiting, ("organization", "gate"), found.waiting.items())
        yield gauge("fleetform_plugins_blocked", "Plugins that somebody must fix.", _OWNER, found.blocked.items())
        yield gauge("fleetform_plugins_failed", "Plugins that failed.", _OWNER, found.failed.items())
        yield gauge("fleetform_versions_running", "Distinct versions that run.", _OWNER, found.versions.items())
        now = self._now()
        ages = {
            (each,): max((now - found.waiting_since[each]).total_seconds(), 0) if each in found.waiting_since else 0
            for each in organizations
        }
        oldest = "The age of the oldest change that is not everywhere yet."
        yield gauge("fleetform_oldest_waiting_seconds", oldest, _OWNER[:1], ages.items())

    def _numbers(self, report: PassReport) -> Numbers | None:
        """Counted once for each plan: a fleet of 100,000 plugins takes a moment."""
        plan = report.plan
        if plan is None:
            return None
        with self._lock:
            if self._counted is None or self._counted[0] is not plan:
                self._counted = (plan, numbers(plan, report.unavailable))
            return self._counted[1]


def gauge(
    name: str, help_: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    found = GaugeMetricFamily(name, help_, labels=labels)
    for key, value in sorted(values):
        found.add_metric(key, value)
    return found


def _one(name: str, help_: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_, value)


def _time(name: str, help_: str, at: datetime | None) -> Iterator[Metric]:
    if at is not None:
        yield _one(f"{name}_timestamp_seconds", help_, at.timestamp())
