"""YAML is written so that kubectl and Helm read it back: what they quote is quoted here."""

from __future__ import annotations

import json

import pytest
import yaml
from yaml.events import ScalarEvent

from data.oracles.tables import Row, number_forms, rows_named, rows_of, table
from fleetform.syntax.hashing import canonical_json
from fleetform.syntax.yaml_in import read_one
from fleetform.syntax.yaml_out import write_yaml

# Quoted here although kubectl leaves them plain: other YAML readers take them for dates, or for a merge.
QUOTED_ONLY_HERE = {
    "yaml_out-130": "a: '2001-12-14 21:59:43.10 -5'\n",
    "yaml_out-131": "a: '2024-02-30'\n",
    "yaml_out-146": "a: '<<'\n",
}
# Numbers have one form everywhere here: the one Go's JSON has, which is hashed, too.
OTHER_NUMBER_FORM = {"yaml_out-257": "a: 1e-7\n"}
OURS = {**QUOTED_ONLY_HERE, **OTHER_NUMBER_FORM}
ROUND_TRIPS = [row.id for row in table("yaml_out").values() if row.answer.get("roundTrips")]


def scalars(text: str) -> list[tuple[str, bool]]:
    """Every scalar of a document, and whether it stands there unquoted."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    return [(event.value, not event.style) for event in events if isinstance(event, ScalarEvent)]


@pytest.mark.parametrize("row", rows_of("yaml_out", without=OURS))
def test_a_scalar_is_plain_only_where_kubectl_writes_it_plain(row: Row) -> None:
    assert scalars(write_yaml(json.loads(row.given["json"]))) == scalars(row.answer["yaml"])


@pytest.mark.parametrize("row", rows_named("yaml_out", OURS))
def test_a_scalar_that_is_written_differently_here(row: Row) -> None:
    written = write_yaml(json.loads(row.given["json"]))
    assert written == OURS[row.id]
    assert scalars(written) != scalars(row.answer["yaml"])


@pytest.mark.parametrize("row", rows_of("yaml_out"))
def test_what_is_written_means_what_kubectl_writes(row: Row) -> None:
    written = read_one(write_yaml(json.loads(row.given["json"])))
    assert number_forms(canonical_json(written)) == number_forms(canonical_json(read_one(row.answer["yaml"])))


@pytest.mark.parametrize("row", rows_named("yaml_out", ROUND_TRIPS))
def test_what_is_written_reads_back_as_it_was(row: Row) -> None:
    tree = json.loads(row.given["json"])
    assert read_one(write_yaml(tree)) == tree
