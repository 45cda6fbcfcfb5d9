"""No input ends in an internal error: manifests spoilt by chance get an answer or an error of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fleetform.syntax.yaml_out import write_documents
from support.command import Runner
from support.from_schemas import Kinds
from support.mutations import documents_of, spoilt

# More under `make soak`, or by hand: SPOILT_INPUTS=5000 pytest tests/cli/test_spoilt_input.py
_ROUNDS = int(os.environ.get("SPOILT_INPUTS", "20"))
_FIRST = int(os.environ.get("SPOILT_FROM", "0"))
_FLEETS = ("fleet", "seed-0", "seed-1/native", "seed-1/ocm", "seed-2", "seed-3/native", "seed-3/fleeet")
_KINDS = (
    "addons", "catalogs", "clusters", "definitions", "organizations", "overrides", "placements", "plugins", "policies",
    "presets", "revisions", "rollouts", "windows",
)  # fmt: skip


def _questions(dice: Random, run: Runner) -> Iterator[tuple[str, ...]]:
    """Everything that can be asked, as far as time allows: what is wrong always, of the rest a few."""
    yield "validate", "-v"
    yield "validate", "-o", "markdown"
    yield "get", dice.choice(_KINDS), "-A", "-o", dice.choice(("table", "wide", "json", "yaml", "name"))
    yield "diff", "sound", "spoilt", "-o", dice.choice(("table", "wide", "json", "markdown"))
    yield "convert", "spoilt", "-n", "acme", "--check"
    yield "convert", "spoilt", "--migrate", "--dry-run"
    names = run("get", "plugins", "-f", "spoilt", "-A", "-o", "name").out.split()
    if len(names) < 30:
        yield dice.choice((("plan", "-A"), ("why", "-A", "--partial"), ("simulate", "-A", "--from", "sound")))
    for name in dice.sample(names, min(2, len(names))):
        yield "explain", name.partition("/")[2], "-f", "spoilt", "-A", "-o", dice.choice(("table", "wide", "json"))
        yield "explain", name.partition("/")[2], "-f", "spoilt", dice.choice(("--bindings", "--configs"))


@pytest.mark.parametrize("fleet", _FLEETS)
def test_no_input_ends_in_an_internal_error(
    root: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fleet: str,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    documents = documents_of(root / "examples" / fleet)
    run = Runner(tmp_path, capsys, monkeypatch)
    run.write(sound__all=write_documents(documents))
    rounds = _ROUNDS if len(documents) < 40 else max(1, _ROUNDS // 4)
    for seed in range(_FIRST, _FIRST + rounds):
        dice = Random(f"{fleet} {seed}")
        _ask_all(run, spoilt(documents, dice), dice, seed)


def test_no_field_of_any_kind_ends_in_an_internal_error(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run, kinds = Runner(tmp_path, capsys, monkeypatch), Kinds(root / "schemas")
    sound = documents_of(root / "examples" / "seed-0")
    run.write(sound__all=write_documents(sound))
    for seed in range(_FIRST, _FIRST + _ROUNDS):
        dice = Random(f"kinds {seed}")
        _ask_all(run, write_documents([*sound, *kinds.some(dice)]), dice, seed)


def _ask_all(run: Runner, text: str, dice: Random, seed: int) -> None:
    (run.folder / "spoilt").mkdir(exist_ok=True)
    (run.folder / "spoilt" / "all.yaml").write_text(text, encoding="utf-8")
    for question in _questions(dice, run):
        given = question if question[0] in ("diff", "convert") or "-f" in question else (*question, "-f", "spoilt")
        result = run(*given)
        assert result.code in range(6), (seed, given, result.err)
        assert "internal error" not in result.err, (seed, given, result.err)
