"""How long a person waits for the command line, beside a bare interpreter's start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.calibrate import calibrate, median_of
from bench.fresh import ROOT
from bench.table import Row, at_most, plainly

RUNS = 9
FLEETFORM = Path(sys.executable).parent / "fleetform"
EXPLAIN = "explain cert-manager -n acme -c eu-prod-1 replicaCount -f examples/fleet"
TITLE = f"Start-up: median of {RUNS} runs"


def rows() -> list[Row]:
    loop = calibrate()
    bare = _median_ms([sys.executable, "-c", "pass"])
    return [
        plainly("python -c pass", bare, "ms", loop),
        _row("fleetform --help", 150),
        _row(f"fleetform {EXPLAIN}", 300),
    ]


def _row(command: str, goal: float) -> Row:
    words = [str(FLEETFORM), *command.split()[1:]]
    loop = calibrate()
    if not FLEETFORM.exists() or _run(words) != 0:
        return Row(command, "not available", f"≤ {goal} ms")
    return at_most(command, _median_ms(words), goal, "ms", loop)


def _run(command: list[str]) -> int:
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode


def _median_ms(command: list[str]) -> float:
    return median_of(RUNS, lambda: _run(command)) * 1000
