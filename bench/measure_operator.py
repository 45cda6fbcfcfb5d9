"""The operator on a real API server: from an event of a watch to what is decided of it, and leases that change hands.

A whole replica runs in this process, as `fleetform operator` does, for one organization. Nothing is delivered: its
rollouts wait for an approval, so that every pass has all of them. Events are about one more preset, on one cluster: of
a preset on all of them each plugin would have to tell of the rollout that replaces the one that waits. An event is
received when a watch has brought an object that says something else than before; it is decided when the pass that took
it has ended, its commits in the journal among it. First each comes when everything about the one before is written;
then each as soon as the one before is decided, so that it waits for its turn, too. For leases two processes run, and
one of them is told to end or killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from bench.calibrate import calibrate
from bench.fresh import resident_mb, run_fresh
from bench.table import Row, at_most, plainly
from fleetform.loop.control import PassReport
from fleetform.model.kinds import API_VERSION
from fleetform.outside.log import Log
from fleetform.outside.promptness import answer_promptly
from fleetform.wiring.operator import Operator
from fleetform.wiring.organizations import OperatorLog, OperatorSettings

if TYPE_CHECKING:
    from fleetform.outside.kubernetes.resources import Resource
    from support.management import Management

ROOT = Path(__file__).parent.parent
CLUSTERS, PRESETS, EVENTS = 1_000, 10, 100
ENDED, KILLED = 3, 2
TITLE = f"Operator: {CLUSTERS * PRESETS:,} plugins on a real API server"
_PATIENCE = 1800.0


def rows() -> list[Row]:
    found = run_fresh("bench.measure_operator", CLUSTERS)
    loop = found["loop"]
    return [
        plainly("everything written: each plugin, its status", found["first"], "s", loop),
        at_most("an override of one plugin, from event to decision, p99", found["decided"], 100, "ms", loop),
        plainly("  median", found["decided_median"], "ms", loop),
        plainly("  of one that comes as soon as the one before is decided, p99", found["in_a_row"], "ms", loop),
        plainly("    median", found["in_a_row_median"], "ms", loop),
        plainly("  processor time of a replica until it rests again", found["cpu"], "ms", loop),
        plainly("  from the write until its status is written, median", found["shown"], "ms", loop),
        plainly("memory of the replica", found["memory"], "MB"),
        at_most("a lease of a replica that was told to end, until another has it", found["ended"], 3, "s"),
        at_most("a lease of a replica that was killed, until another has it", found["killed"], 20, "s"),
    ]


def measure(clusters: int) -> dict[str, float]:
    # Real servers, as tests have them.
    sys.path.insert(0, str(ROOT / "tests"))
    from support.api_servers import ApiServers
    from support.management import management_cluster

    with ApiServers() as servers, tempfile.TemporaryDirectory() as folder:
        found: dict[str, float] = {"loop": calibrate()}
        with management_cluster(servers, "leases", Path(folder)) as management:
            found |= _leases(management, Path(folder))
        with management_cluster(servers, "management", Path(folder)) as management:
            found |= _events(management, Path(folder), clusters)
        return found


# ---- Events


class _Timed(Operator):
    """Notes when it hears of something."""

    def __init__(self, settings: OperatorSettings, log: OperatorLog) -> None:
        self.heard: list[float] = []
        super().__init__(settings, log)

    def _changed(self) -> None:
        self.heard.append(time.perf_counter())
        super()._changed()


def _events(management: Management, folder: Path, clusters: int) -> dict[str, float]:
    from support.many_plugins import many_plugins, override_of_one

    for each in many_plugins(clusters, PRESETS):
        management.client.apply(each)
    decided: list[float] = []

    def told(report: PassReport) -> None:
        assert report.refusal is None, report.refusal.findings
        if report.accepted is not None:
            decided.append(time.perf_counter())

    log = OperatorLog(lambda _: told, _complain, lambda _: None, _note, Log())
    settings = OperatorSettings(
        management.client.access, "fleetform-system", str(folder / "state"), interval=timedelta(hours=1)
    )
    answer_promptly()
    operator, stop = _Timed(settings, log), Event()
    begun = time.perf_counter()
    running = Thread(target=operator.run, args=(stop,))
    running.start()
    plugins, overrides = (management.client.resource(API_VERSION, each) for each in ("Plugin", "PluginOverride"))

    def status(kind: Resource, name: str) -> dict[str, Any]:
        return (management.client.get(kind, "acme", name) or {}).get("status") or {}

    def rests() -> bool:
        told = [each for each in operator.metrics.collect() if each.name == "fleetform_status_waiting"]
        return [sample.value for each in told for sample in each.samples] == [0]

    def is_shown(generation: int) -> bool:
        return bool(decided) and status(overrides, "one").get("observedGeneration") == generation

    _until(lambda: bool(status(plugins, f"p-{PRESETS - 1}-c-{clusters - 1}")) and bool(decided) and rests())
    found = {"first": time.perf_counter() - begun}
    took, shown, cpu = [], [], []
    for number in range(EVENTS):
        time.sleep(0.3)
        operator.heard.clear()
        decided.clear()
        written, spent = time.perf_counter(), time.process_time()
        applied = management.client.apply(override_of_one(number + 10), force=True)
        _until(partial(is_shown, applied["metadata"]["generation"]), 0.005)
        shown.append(time.perf_counter() - written)
        _until(rests)
        took.append(decided[0] - operator.heard[0])
        cpu.append(time.process_time() - spent)
    in_a_row = []
    for number in range(EVENTS):
        operator.heard.clear()
        decided.clear()
        management.client.apply(override_of_one(number + 10 + EVENTS), force=True)
        _until(lambda: bool(decided), 0.001)
        in_a_row.append(decided[0] - operator.heard[0])
    found["memory"] = resident_mb()
    stop.set()
    running.join()
    found["decided"], found["decided_median"] = _p99(took) * 1000, median(took) * 1000
    found["in_a_row"], found["in_a_row_median"] = _p99(in_a_row) * 1000, median(in_a_row) * 1000
    found["shown"], found["cpu"] = median(shown) * 1000, median(cpu) * 1000
    return found


def _p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[-1 - EVENTS // 100]


def _complain(organization: str, error: Exception) -> None:
    raise AssertionError(f"{organization}: {error}")


def _note(line: str) -> None:
    print(line, file=sys.stderr)


# ---- Leases


def _leases(management: Management, folder: Path) -> dict[str, float]:
    leases = management.client.resource("coordination.k8s.io/v1", "Lease")

    def holder() -> str:
        found = management.client.get(leases, "fleetform-system", "fleetform-shard-0") or {"spec": {}}
        return str(found["spec"].get("holderIdentity") or "")

    with ExitStack() as ends:
        replicas = [_Replica(management, folder / f"replica-{each}", ends) for each in range(2)]

        def handed_over(by: signal.Signals) -> float:
            """Seconds until another has the lease of the one that ends, which is then replaced."""
            _until(lambda: any(each.identity == holder() for each in replicas))
            (ending,) = (each for each in replicas if each.identity == holder())
            _until(lambda: all(each.is_whole() for each in replicas))
            replicas.remove(ending)
            ending.process.send_signal(by)
            begun = time.perf_counter()
            _until(lambda: holder() == replicas[0].identity, 0.02)
            took = time.perf_counter() - begun
            replicas.append(_Replica(management, folder / f"replica-{time.monotonic_ns()}", ends))
            return took

        ended = max(handed_over(signal.SIGTERM) for _ in range(ENDED))
        return {"ended": ended, "killed": max(handed_over(signal.SIGKILL) for _ in range(KILLED))}


class _Replica:
    def __init__(self, management: Management, folder: Path, ends: ExitStack) -> None:
        folder.mkdir()
        self._log = folder / "log"
        command = [str(Path(sys.executable).with_name("fleetform")), "operator"]
        command += ["--kubeconfig", str(management.kubeconfig), "--state-dir", str(folder / "state")]
        with self._log.open("wb") as log:
            environment = {**os.environ, "HOSTNAME": folder.name}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        ends.callback(self.process.wait)
        ends.callback(self.process.kill)
        _until(lambda: "operator " in self._said())
        self.identity = self._said().split("operator ", 1)[1].split()[0]

    def is_whole(self) -> bool:
        return self.process.poll() is None

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8")


def _until(is_so: Callable[[], bool], every: float = 0.1) -> None:
    end = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(every)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
