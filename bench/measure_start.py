"""How long a person waits for the command line, beside a bare interpreter's start. Wall time, unlike the others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.calibrate import calibrate, median_wait
from bench.fresh import ROOT
from bench.table import Row, at_most, plainly

RUNS = 9
FLEETFORM = Path(sys.executable).parent / "fleetform"
EXPLAIN = "explain cert-manager -n acme -c eu-prod-1 replicaCount -f examples/fleet"
TITLE = f"Start-up: wall time, median of {RUNS} runs"


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        # As on any machine after the first start: with compiled modules, even where writing them is switched off.
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        bare = [sys.executable, "-c", "pass"]
        return [
            plainly("python -c pass", _median_ms(bare, environment), "ms", calibrate()),
            _row("--help", 150, environment),
            _row(EXPLAIN, 300, environment),
        ]


def _row(arguments: str, goal: float, environment: dict[str, str]) -> Row:
    what, command = f"fleetform {arguments}", [str(FLEETFORM), *arguments.split()]
    if not FLEETFORM.exists() or _run(command, environment) != 0:
        return Row(what, "not available", f"≤ {goal} ms")
    return at_most(what, _median_ms(command, environment), goal, "ms", calibrate())


def _run(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True).returncode


def _median_ms(command: list[str], environment: dict[str, str]) -> float:
    return median_wait(RUNS, lambda: _run(command, environment)) * 1000
