"""Five thousand plugins on a real API server: each is made and told once, and an edit writes what it reaches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from fleetform.loop.control import PassReport
from fleetform.model.kinds import API_VERSION
from fleetform.outside.log import Log
from fleetform.wiring.operator import Operator
from fleetform.wiring.organizations import OperatorLog, OperatorSettings
from support.api_servers import ApiServers
from support.management import Management, management_cluster
from support.many_plugins import many_plugins, override_of_one

CLUSTERS, PRESETS = 500, 10
SECONDS = 300.0


@pytest.fixture
def management(api_servers: ApiServers, tmp_path: Path) -> Iterator[Management]:
    with management_cluster(api_servers, "many", tmp_path) as found:
        yield found


class Replica:
    """The whole operator, in this process."""

    def __init__(self, management: Management, folder: Path) -> None:
        self._management, self.failures = management, list[str]()
        settings = OperatorSettings(
            management.client.access, "fleetform-system", str(folder / "state"), interval=timedelta(hours=1)
        )
        log = OperatorLog(lambda _: self._told, self._failed, lambda _: None, lambda _: None, Log())
        self._operator, self._stop = Operator(settings, log), Event()
        self._running = Thread(target=self._operator.run, args=(self._stop,))
        self._running.start()

    def _told(self, report: PassReport) -> None:
        self.failures += [str(report.refusal.findings)] if report.refusal is not None else []

    def _failed(self, organization: str, error: Exception) -> None:
        self.failures.append(f"{organization}: {error}")

    def rests(self) -> bool:
        """Whether everything that is to be told is written."""
        told = [each for each in self._operator.metrics.collect() if each.name == "fleetform_status_waiting"]
        return [sample.value for each in told for sample in each.samples] == [0]

    def end(self) -> None:
        self._stop.set()
        self._running.join()


@pytest.fixture
def replica(management: Management, tmp_path: Path) -> Iterator[Replica]:
    for each in many_plugins(CLUSTERS, PRESETS):
        management.client.apply(each)
    found = Replica(management, tmp_path)
    yield found
    found.end()


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.2)


@pytest.mark.rule("R0-19", "B1")
def test_five_thousand_plugins_are_told_and_an_edit_writes_what_it_reaches(
    management: Management, replica: Replica
) -> None:
    client = management.client
    plugins, overrides = (client.resource(API_VERSION, each) for each in ("Plugin", "PluginOverride"))

    def listed() -> Mapping[str, dict[str, Any]]:
        return {each["metadata"]["name"]: each for each in client.items(plugins, "acme")}

    def is_told(generation: int) -> bool:
        found = client.get(overrides, "acme", "one") or {}
        return bool((found.get("status") or {}).get("observedGeneration") == generation) and replica.rests()

    until(lambda: is_told(1) and len(listed()) == CLUSTERS * PRESETS + 1)
    first = listed()
    assert all(each["status"]["conditions"] for each in first.values())
    applied = client.apply(override_of_one(7), force=True)
    until(lambda: is_told(applied["metadata"]["generation"]))
    second = listed()
    written = [name for name, each in second.items() if each["metadata"] != first[name]["metadata"]]
    assert written == ["p-one-c-0"]
    assert replica.failures == []
