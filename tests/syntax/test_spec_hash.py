"""Hashes of config objects: the table of what Open Cluster Management's own code answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.ports.inputs import Document
from fleetform.syntax.hashing import spec_hash

TABLE = Path(__file__).parents[1] / "data" / "oracles" / "spechash.jsonl"
# Rows that we answer otherwise on purpose: such documents are refused, or are no object, when they are read.
REFUSED = {
    "spechash-033": "a key stands twice",
    "spechash-042": "half of a surrogate pair",
    "spechash-043": "half of a surrogate pair",
    "spechash-123": "a list of objects is its objects",
    "spechash-130": "there is no document",
}
ROWS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").strip().split("\n")[1:]]


def read(text: str | None) -> Any:
    found = list(read_file(InputFile("config.json", (text or "").encode()), FileLocator()))
    tree = found[0].tree if found and isinstance(found[0], Document) else None
    # What is no map is no object, and is skipped.
    return tree if isinstance(tree, dict) else None


@pytest.mark.rule("R1-11")
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_an_object_hashes_as_it_does_there(row: dict[str, Any]) -> None:
    tree = read(row["in"]["doc"])
    if row["id"] in REFUSED or "decodeError" in row["out"]:
        assert tree is None
        return
    if row["id"] == "spechash-059":
        # -0.0 is read as 0, which is what kubectl sends of it.
        assert spec_hash(tree) == spec_hash({"spec": {"a": 0}})
        return
    assert spec_hash(tree) == row["out"]["hash"]
    assert hashlib.sha256(row["out"]["preimage"].encode()).hexdigest() == row["out"]["hash"]


@pytest.mark.rule("R1-11")
@pytest.mark.parametrize(
    ("number", "written"),
    [
        (2**63 - 1, "9223372036854775807"),
        (2**63, "9223372036854776000"),
        (-(2**63), "-9223372036854775808"),
        (-(2**63) - 1, "-9223372036854776000"),
    ],
)
def test_whole_numbers_beyond_64_bits_hash_as_the_floats_that_go_reads(number: int, written: str) -> None:
    assert spec_hash({"spec": {"a": number}}) == hashlib.sha256(f'{{"spec":{{"a":{written}}}}}'.encode()).hexdigest()
