"""YAML is read as kubectl and Helm read it, row by row."""

from __future__ import annotations

import pytest

from data.oracles.tables import Row, number_forms, rows_named, rows_of
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.yaml_in import YamlError, read_one

# Duplicate keys are errors here: of two values, the lenient reader silently drops one (and not always the same one).
# Nothing in a manifest is nested 200 levels deep; what is would exhaust the stack somewhere.
REFUSED_HERE = {
    "yaml-265": "duplicate key a",
    "yaml-267": "duplicate key 1",
    "yaml-272": "duplicate key true",
    "yaml-426": "nested more than 200 levels deep",
    "yaml-428": "nested more than 200 levels deep",
}
# JSON allows \/ inside a text, and JSON documents are YAML here.
READ_HERE = {"yaml-390": '{"a":"/"}'}


@pytest.mark.parametrize("row", rows_of("yaml", without={*REFUSED_HERE, *READ_HERE}))
def test_yaml_is_read_as_kubectl_reads_it(row: Row) -> None:
    if "error" in row.answer:
        with pytest.raises(YamlError):
            read_one(row.given["yaml"])
    else:
        read = canonical_json(read_one(row.given["yaml"]))
        assert number_forms(read) == number_forms(row.answer["json"])


@pytest.mark.parametrize("row", rows_named("yaml", REFUSED_HERE))
def test_yaml_that_only_fleetform_refuses(row: Row) -> None:
    assert "json" in row.answer
    with pytest.raises(YamlError, match=REFUSED_HERE[row.id]):
        read_one(row.given["yaml"])


@pytest.mark.parametrize("row", rows_named("yaml", READ_HERE))
def test_yaml_that_only_fleetform_reads(row: Row) -> None:
    assert "error" in row.answer
    assert canonical_json(read_one(row.given["yaml"])).decode() == READ_HERE[row.id]
