"""`make run` shows what it says: a staged rollout, a failure and its way back, another try that succeeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.kit import kit


def test_the_demonstration_tells_the_whole_story(root: Path, tmp_path: Path) -> None:
    command = tmp_path / "fleetform"
    command.write_text(f"#!{sys.executable}\nfrom fleetform.cli.main import main\nmain()\n")
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{kit()}:{os.environ['PATH']}"}
    shown = [str(root / "tools" / "demo"), str(root / "examples" / "fleet"), str(tmp_path / "demo"), str(command)]
    done = subprocess.run(shown, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    events = [line.split()[2:6] for line in done.stdout.split("\n") if line[:4].strip().isalpha() and ":" in line[:9]]
    story = [event[0] for event in events if event and event[0] in ("Started", "Failed", "RolledBack", "Healthy")]
    assert story.index("Started") < story.index("Failed") < story.index("RolledBack")
    assert "cert-manager is tried again" in done.stdout
    assert "1.14.2   Healthy" in done.stdout
    delivered = tmp_path / "demo" / "fleet-out" / "globex" / "iad-prod-2" / "cert-manager-iad-prod-2"
    assert "1.14.2" in "".join(each.read_text() for each in delivered.glob("*.yaml"))
