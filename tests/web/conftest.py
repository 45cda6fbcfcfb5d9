from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Runner
from support.fleets import BASE


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """The command line in a folder that holds the base fleet."""
    runner = Runner(tmp_path, capsys, monkeypatch)
    runner.write(**{name.removesuffix(".yaml"): text for name, text in BASE.items()})
    return runner
