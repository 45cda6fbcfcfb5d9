"""The command line on folders of 10,000 clusters × 10 plugins, one file a cluster: CPU time and memory of verbs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.calibrate import calibrate
from bench.folders import CLUSTER, OPTION, PRESET, edit_one_line, write_fleet
from bench.table import Row, at_most

FLEETFORM = Path(sys.executable).parent / "fleetform"
TITLE = "Folders: 10,000 clusters × 10 plugins, one file a cluster; CPU time of a command, and its peak memory"


class _Goal(NamedTuple):
    """A command, and what it may take; warm: after another command has kept what it parsed."""

    what: str
    command: str
    seconds: float
    megabytes: float | None = None
    warm: bool = False


_EXPLAIN = f"explain {PRESET} -c {CLUSTER} {OPTION} -f before"
_GOALS = (
    _Goal("get plugins", "get plugins -f before", 8, 300),
    _Goal("get plugins -o json", "get plugins -f before -o json", 40, 500),
    _Goal("explain one option", _EXPLAIN, 3.5),
    _Goal("explain one option, nothing changed since", _EXPLAIN, 1.5, warm=True),
    _Goal("diff of one line", "diff before after", 10),
    _Goal("diff of one line, -c one", f"diff before after -c {CLUSTER}", 6),
    _Goal("validate", "validate before", 5),
)


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side in ("before", "after"):
            write_fleet(folder / side)
        edit_one_line(folder / "after")
        environment = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {
            "PYTHONPYCACHEPREFIX": str(folder / "modules"),
            "FLEETFORM_CACHE_DIR": str(folder / "cache"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        # As on any machine after the first start: with compiled modules, and parses that were kept.
        _run(folder, environment, _EXPLAIN)
        return [row for goal in _GOALS for row in _rows(folder, environment, goal)]


def _rows(folder: Path, environment: dict[str, str], goal: _Goal) -> list[Row]:
    loop = calibrate()
    seconds, megabytes = _run(folder, environment, goal.command if goal.warm else f"{goal.command} --no-cache")
    found = [at_most(goal.what, seconds, goal.seconds, "s", loop)]
    if goal.megabytes is not None:
        found.append(at_most("  peak memory", megabytes, goal.megabytes, "MB"))
    return found


def _run(folder: Path, environment: dict[str, str], command: str) -> tuple[float, float]:
    """The CPU seconds and the peak memory of one command."""
    with (folder / "out").open("wb") as out:
        started = subprocess.Popen([str(FLEETFORM), *command.split()], cwd=folder, env=environment, stdout=out)
        _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    assert started.returncode == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
