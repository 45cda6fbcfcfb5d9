"""The page about dialects has a row for every kind that one of them reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fleetform.dialects.fleeet import read as fleeet
from fleetform.dialects.greenhouse import read as greenhouse
from fleetform.dialects.ocm import read as ocm

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "dialects.md"

KINDS = {
    "Greenhouse": {*greenhouse._TRANSLATIONS, *greenhouse._UNREAD, "PluginOverride"},
    "Open Cluster Management": {*ocm._KINDS, *(kind for kinds in ocm._KEPT.values() for kind in kinds)},
    "Fleeet": {*fleeet._KINDS},
    "Cluster API": {"Cluster"},
}


def rows(title: str) -> dict[str, list[str]]:
    """The cells of each row of the first table below a title, by the first of them."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    table = re.search(r"^\| kind \|.*\n\|---.*\n((?:\|.*\n)+)", below.partition("\n## ")[0], re.MULTILINE)
    assert table is not None, f"{title} has no table of kinds"
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[1].splitlines()]
    return {first.strip("| "): rest for first, *rest in cells}


@pytest.mark.rule("R3-30")
@pytest.mark.parametrize("title", KINDS)
def test_every_kind_that_is_read_has_a_row(title: str) -> None:
    found = rows(title)
    assert found.keys() == KINDS[title]
    for kind, cells in found.items():
        assert [bool(cell) for cell in cells] == [True, True], f"{kind} does not say what it becomes, and what is lost"


@pytest.mark.rule("R3-30")
def test_every_dialect_has_a_table() -> None:
    """A room of the code that reads somebody's manifests is a section of the page."""
    sections = {"greenhouse": "Greenhouse", "ocm": "Open Cluster Management", "fleeet": "Fleeet"}
    sections |= {"cluster_api": "Cluster API"}
    reading = PAGE.parents[2] / "src" / "fleetform" / "app" / "reading" / "documents.py"
    text = reading.read_text(encoding="utf-8")
    found = re.findall(r"        from fleetform\.dialects\.([\w.]+) import read_", text)
    assert {each.removesuffix(".read").split(".")[-1] for each in found} == sections.keys()
    assert set(KINDS) == set(sections.values())
    assert "\n## Any other Kubernetes object\n" in PAGE.read_text(encoding="utf-8")
