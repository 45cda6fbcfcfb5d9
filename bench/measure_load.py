"""Loading manifests, against PyYAML's C loader alone on the same files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from bench.calibrate import best_of, calibrate
from bench.fleets import NOW
from bench.manifests import write_manifests
from bench.table import Row, at_most, plainly
from fleetform.app.fleet import read_fleet
from fleetform.load.reader import load_input

FILES, DOCUMENTS = 500, 10
TITLE = f"Load: {FILES * DOCUMENTS:,} YAML objects in {FILES} files"


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        write_manifests(Path(folder), FILES, DOCUMENTS)
        loop = calibrate()
        alone = best_of(3, lambda: _load_with_pyyaml(folder))
        ours = best_of(3, lambda: load_input([folder]))
        loaded = load_input([folder])
        whole = best_of(3, lambda: read_fleet(loaded, NOW))
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.yaml"))
    return [
        plainly("size of the files", size / 1000, "kB"),
        plainly("PyYAML's CSafeLoader alone", alone, "s", loop),
        plainly(f"Fleetform, {len(loaded.documents):,} documents", ours, "s", loop),
        at_most("  of PyYAML's time", ours / alone, 2, "×"),
        plainly("  and from documents to records", whole, "s", loop),
    ]


def _load_with_pyyaml(folder: str) -> int:
    documents = 0
    for path in sorted(Path(folder).rglob("*.yaml")):
        with path.open("rb") as file:
            documents += sum(1 for _ in yaml.load_all(file.read(), Loader=yaml.CSafeLoader))
    return documents
