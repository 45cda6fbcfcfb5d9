"""What was told once: a digest for every case of every page, in a file for each kind of case."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from recorded.pages import Page
from recorded.playing import told_of_days
from recorded.telling import told_of_an_edit

HERE = Path(__file__).parent
KINDS: Mapping[str, Callable[[Page, int], Iterator[str]]] = {"edits": told_of_an_edit, "days": told_of_days}
SEEDS = {"edits": 6, "days": 4}
# Its fleet is so much larger that fewer have to do.
FEWER = {"fleet": 2}


def seeds(kind: str, page: str) -> range:
    return range(FEWER.get(page, SEEDS[kind]))


def digest(lines: Iterator[str]) -> str:
    found = hashlib.sha256()
    for line in lines:
        found.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()[:12]


def kept(kind: str) -> dict[str, list[str]]:
    file = HERE / f"{kind}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep(kind: str, page: str, found: list[str]) -> None:
    """Tests that run at once would overwrite each other: `pytest -n 0`."""
    assert "PYTEST_XDIST_WORKER" not in os.environ
    every = {**kept(kind), page: found}
    text = json.dumps(dict(sorted(every.items())), indent=1)
    (HERE / f"{kind}.json").write_text(text + "\n", encoding="utf-8")
