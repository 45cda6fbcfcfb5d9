"""Runs the command line in this process, as `main` does, and keeps what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from fleetform.cli import main as front


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Runner:
    """fleetform in a folder: `run("validate", "-o", "json")`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def __call__(self, *arguments: str) -> Result:
        self._monkeypatch.chdir(self.folder)
        self._monkeypatch.setattr("sys.argv", ["fleetform", *arguments])
        self._capsys.readouterr()
        code = front.run()
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)
