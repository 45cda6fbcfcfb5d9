"""The API beside a loop: explanations a second on 100,000 plugins, while plugins' states change in the store.

This process stands in for the loop: it holds the database, decides what each observation reaches, and commits it. The
API is the real one, in its own process, over HTTP on this machine; who asks is a third process. A latency counts from
the time at which a request was due, so that a slow answer is not hidden by asking later.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread

from msgspec import structs

from bench.calibrate import calibrate
from bench.folders import SIZE, write_fleet
from bench.fresh import resident_mb
from bench.table import Row, at_most, plainly
from fleetform.loop.asking import Reply, RolloutRequest
from fleetform.loop.deciding import decided
from fleetform.loop.image import Extras, Image, commit_image
from fleetform.model.objects import Ref
from fleetform.model.state import Deployed, PluginState
from fleetform.outside.listening import listen
from fleetform.outside.tokens import find_token
from fleetform.ports.state import KnownState
from fleetform.store.sqlite import SqliteStore
from fleetform.syntax.names import generated_name
from fleetform.web.process import Api, Served
from fleetform.wiring.access import AccessSettings
from fleetform.wiring.views import open_stored_fleet

TITLE = "API: explanations of 100,000 plugins at 200 requests/s, beside a loop that commits 20 observations/s"
FIRST_SECONDS, SECONDS, PER_SECOND, CONNECTIONS = 3, 20, 200, 8
OBSERVATIONS_PER_SECOND = 20


def rows() -> list[Row]:
    loop = calibrate()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        write_fleet(folder / "fleet")
        with _served(folder) as (address, image, process):
            # Where things stand in files is found when the first place is asked for, and kept.
            first = _asked(address, FIRST_SECONDS)
            quiet = _asked(address, SECONDS)
            before = _cpu(process)
            end = Event()
            busy: list[float] = []
            writer = Thread(target=lambda: busy.append(image.observe_until(end)))
            writer.start()
            beside = _asked(address, SECONDS)
            end.set()
            writer.join()
            used = _cpu(process) - before
            memory = _resident(process)
        both = memory + resident_mb()
    return [
        plainly("explain, p99 of the first seconds after a start", _p99(first), "ms", loop),
        at_most("explain, p99, nothing else happens", _p99(quiet), 20.0, "ms", loop),
        at_most("explain, p99, beside the loop", _p99(beside), 20.0, "ms", loop),
        plainly("  median", quantiles(beside, n=2)[0], "ms", loop),
        plainly("  CPU of the API for each request, views included", used / len(beside) * 1000, "ms", loop),
        plainly("  observations that were committed", busy[0], ""),
        plainly("memory of the API", memory, "MB"),
        at_most("memory of both", both, 900.0, "MB"),
    ]


class _Loop:
    """The stand-in for the loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder / "fleet")
        self.store = SqliteStore(str(folder / "fleet.db"))
        now = datetime.now(UTC).replace(microsecond=0)
        files = {str(each): each.read_bytes() for each in sorted(Path(self._folder).rglob("*.yaml"))}
        opened = open_stored_fleet([self._folder], None, None)(files, now, KnownState())
        self._fleet = decided(
            opened, KnownState(plugins=_running(opened.snapshot.clusters, opened.snapshot.presets)), now, None
        )
        image = Image(self._fleet.state, files, {}, {})
        commit_image(self.store, Image(KnownState(), {}, {}, {}), image, Extras(), now)
        self._image = Image(image.known, {}, {}, {})

    def observe_until(self, end: Event) -> float:
        """Commits observations, one plugin each; how many."""
        number = 0
        clusters = list(self._fleet.snapshot.clusters)
        while not end.wait(1 / OBSERVATIONS_PER_SECOND):
            cluster = clusters[number * 37 % len(clusters)]
            name, state = next(iter(self._image.known.plugins[cluster].items()))
            seen = structs.replace(state, observed={"HOST": str(number)})
            now = datetime.now(UTC).replace(microsecond=0)
            after = self._image.with_plugins({(cluster.organization, cluster.name, name): seen})
            self._fleet = decided(self._fleet, after.known, now, self._fleet.decisions)
            commit_image(self.store, self._image, after, Extras(), now)
            self._image = after
            number += 1
        return number


def _running(clusters: object, presets: object) -> dict[Ref, dict[str, PluginState]]:
    """Everything runs and is healthy."""
    healthy = Deployed("1.0.0")
    assert isinstance(clusters, dict)
    assert isinstance(presets, dict)
    return {
        ref: {generated_name(preset.name, ref.name): PluginState(healthy, healthy) for preset in presets}
        for ref in clusters
    }


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, _Loop, int]]:
    """The API over a database with the fleet: its address, what writes, and its process."""
    loop = _Loop(folder)
    listening = listen("127.0.0.1:0")
    served = Served((str(folder / "fleet"),), str(folder / "fleet.db"), None, None, None, AccessSettings())

    def nothing(_: RolloutRequest) -> Reply:
        return Reply()

    between: Callable[[Callable[[], None]], None] = lambda work: work()  # noqa: E731
    api = Api(listening, served, nothing, between, lambda: None, print, lambda error: None, lambda: None)
    try:
        process = api.pid
        _wait_until_ready(listening.address)
        yield listening.address, loop, process
    finally:
        api.close()
        loop.store.close()


def _wait_until_ready(address: str) -> None:
    ends = time.monotonic() + 300
    while time.monotonic() < ends:
        try:
            connection = HTTPConnection(address, timeout=300)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.5)
    raise TimeoutError("the API is not ready")


def _asked(address: str, seconds: int) -> list[float]:
    """How long answers took, in milliseconds."""
    command = [sys.executable, "-m", "bench.measure_api", address, find_token(address) or "", str(seconds)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent)
    found: list[float] = json.loads(done.stdout)
    return found


def _ask(address: str, token: str, seconds: int, number: int, begin: float, found: list[float]) -> None:
    """One of several connections: a request whenever its turn comes."""
    connection = HTTPConnection(address, timeout=60)
    headers = {"Authorization": f"Bearer {token}"}
    for turn in range(seconds * PER_SECOND // CONNECTIONS):
        due = begin + (turn * CONNECTIONS + number) / PER_SECOND
        time.sleep(max(due - time.monotonic(), 0.0))
        cluster = (turn * 7919 + number * 31) % SIZE.clusters
        path = f"/api/v1/explain?organization=acme&cluster=c{cluster}&plugin=p{turn % SIZE.plugins}"
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status
        found.append((time.monotonic() - due) * 1000)


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[98]


def _cpu(process: int) -> float:
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> float:
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    times: list[float] = []
    begin = time.monotonic() + 0.5
    address, token, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    threads = [
        Thread(target=_ask, args=(address, token, seconds, number, begin, times)) for number in range(CONNECTIONS)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print(json.dumps(times))
