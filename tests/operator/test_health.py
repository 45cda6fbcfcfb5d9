"""Whether a replica is alive and ready, and what a supervisor is answered."""

from __future__ import annotations

from threading import Event, Thread

import httpx2

from fleetform.operator.health import Health, Need, Vital
from fleetform.web.monitoring import serve_monitoring


class _Replica:
    """Threads, a clock and what it has read, as a test says."""

    def __init__(self) -> None:
        self.now, self.went_on_at = 100.0, 100.0
        self.has_read = False
        self.stop, self.ending = Event(), Event()
        self.thread = Thread(target=self.stop.wait, daemon=True)
        self.thread.start()
        self.health = Health(lambda: self.now)

    def begin(self) -> None:
        vitals = [Vital("the thread of leases", self.thread.is_alive, lambda: self.went_on_at, 60.0)]
        self.health.begin(vitals, [Need(lambda: self.has_read, "the fleet was not read yet")], self.ending.is_set)


def test_a_replica_that_starts_is_alive_and_not_ready() -> None:
    replica = _Replica()
    assert (replica.health.alive(), replica.health.ready()) == ([], ["it is starting"])
    replica.begin()
    assert (replica.health.alive(), replica.health.ready()) == ([], ["the fleet was not read yet"])
    replica.has_read = True
    assert replica.health.ready() == []


def test_a_thread_that_stands_still_or_has_ended_is_told() -> None:
    replica = _Replica()
    replica.begin()
    replica.now += 60
    assert replica.health.alive() == []
    replica.now += 1
    assert replica.health.alive() == ["the thread of leases has stood still for 61 s"]
    replica.went_on_at = replica.now
    assert replica.health.alive() == []
    replica.stop.set()
    replica.thread.join()
    assert replica.health.alive() == ["the thread of leases has ended"]


def test_a_replica_that_ends_is_not_ready_and_is_not_killed_for_it() -> None:
    replica = _Replica()
    replica.begin()
    replica.has_read = True
    replica.ending.set()
    replica.stop.set()
    replica.thread.join()
    assert (replica.health.alive(), replica.health.ready()) == ([], ["it is ending"])


def test_supervisors_are_told_what_is_wrong_and_other_addresses_what_there_is() -> None:
    replica = _Replica()
    replica.begin()
    checks = {"/healthz": replica.health.alive, "/readyz": replica.health.ready}
    served = serve_monitoring([], "127.0.0.1", 0, checks)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{served.port}", trust_env=False) as client:
            alive, ready, other = (client.get(path) for path in ("/healthz", "/readyz", "/"))
            assert (alive.status_code, alive.text) == (200, "ok\n")
            assert (ready.status_code, ready.text) == (503, "the fleet was not read yet\n")
            assert (other.status_code, other.text) == (404, "there are /metrics, /healthz, /readyz\n")
            replica.has_read = True
            assert client.get("/readyz").status_code == 200
    finally:
        served.end()
