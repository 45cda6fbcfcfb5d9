"""What a replica has to tell Prometheus: of each organization that it works for, and of itself.

An organization's control plane tells what it tells everywhere (`loop/metrics`), here with the organization as a label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock

from prometheus_client import Histogram
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from fleetform.loop.metrics import Metrics, gauge
from fleetform.operator.admission.reviews import Answer

_SECONDS = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 1, 3, 10)
_RESULTS = {500: "failed", 503: "not-ready"}


class Requests:
    """Requests to API servers, counted by how they were answered."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def to(self, server: str) -> Callable[[str, int], None]:
        """What counts requests to a server, which is the management cluster or any workload cluster."""

        def answered(method: str, status: int) -> None:
            with self._lock:
                self._counts[server, method, str(status) if status else "none"] += 1

        return answered

    def counts(self) -> Mapping[tuple[str, str, str], int]:
        with self._lock:
            return dict(self._counts)


@dataclass(frozen=True)
class Replica:
    """What is asked of a replica when somebody scrapes. restarts is how often watches could not go on, by kind."""

    shards: int
    held: Callable[[], Collection[int]]
    restarts: Callable[[], Mapping[str, int]]


class _Measured(Collector):
    """One organization; waiting is how many objects may have to be written."""

    def __init__(self, metrics: Metrics, waiting: Callable[[], int]) -> None:
        self._metrics, self._waiting = metrics, waiting

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics.collect()
        told = "Objects of the API server whose status may have to be written."
        yield gauge("fleetform_status_waiting", told, (), [((), self._waiting())])


class OperatorMetrics(Collector):
    """Any thread may tell it of something, and ask."""

    def __init__(self, replica: Replica, requests: Requests) -> None:
        self._replica, self._requests = replica, requests
        self._lock = Lock()
        self._organizations: dict[str, _Measured] = {}
        self._reviews: Counter[str] = Counter({"allowed": 0, "warned": 0, "refused": 0, "not-ready": 0, "failed": 0})
        self._durations = Histogram(
            "fleetform_admission_duration_seconds", "How long reviews took.", buckets=_SECONDS, registry=None
        )

    def works_for(self, organization: str, metrics: Metrics, waiting: Callable[[], int]) -> Callable[[], None]:
        """An organization is worked for from now on, until what comes back is called."""
        measured = _Measured(metrics, waiting)
        with self._lock:
            self._organizations[organization] = measured

        def ended() -> None:
            with self._lock:
                if self._organizations.get(organization) is measured:
                    del self._organizations[organization]

        return ended

    def reviewed(self, answer: Answer, seconds: float) -> None:
        """A review was answered."""
        result = "warned" if answer.warnings else "allowed"
        if not answer.allowed:
            result = _RESULTS.get(answer.code, "refused")
        with self._lock:
            self._reviews[result] += 1
        self._durations.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            organizations, reviews = sorted(self._organizations.items()), sorted(self._reviews.items())
        replica = self._replica
        yield _one("fleetform_shards", "Parts that replicas share.", replica.shards)
        yield _one("fleetform_shards_held", "Parts whose lease this replica holds.", len(replica.held()))
        yield _one("fleetform_organizations", "Organizations that this replica works for.", len(organizations))
        restarts = CounterMetricFamily("fleetform_watch_restarts", "Watches that could not go on.", labels=("kind",))
        for kind, count in sorted(replica.restarts().items()):
            restarts.add_metric((kind,), count)
        yield restarts
        labels = ("server", "method", "code")
        requests = CounterMetricFamily("fleetform_api_requests", "Requests to API servers.", labels=labels)
        for key, count in sorted(self._requests.counts().items()):
            requests.add_metric(key, count)
        yield requests
        answered = CounterMetricFamily("fleetform_admission_requests", "Reviews, by answer.", labels=("result",))
        for result, count in reviews:
            answered.add_metric((result,), count)
        yield answered
        yield from self._durations.collect()
        yield from _of_all(organizations)


def _of_all(organizations: Collection[tuple[str, Collector]]) -> Iterator[Metric]:
    """What organizations tell, each metric once, with samples of all of them."""
    found: dict[str, Metric] = {}
    for name, collector in organizations:
        for metric in collector.collect():
            samples = [each._replace(labels={"organization": name, **each.labels}) for each in metric.samples]
            known = found.setdefault(metric.name, metric)
            known.samples = [*(known.samples if known is not metric else ()), *samples]
    yield from found.values()


def _one(name: str, help_: str, value: float) -> Metric:
    return gauge(name, help_, (), [((), value)])
