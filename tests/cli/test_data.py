"""Answers as JSON: the same text whether it is written whole or as a stream."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetform.app.get import get, kinds
from fleetform.app.scope import Scope
from fleetform.cli.data import json_text
from fleetform.syntax.printable import escaped_json
from fleetform.wiring.fleets import open_fleet
from support.command import Runner

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TREES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4), max_leaves=20
)


@given(TREES)
def test_json_is_what_the_standard_library_writes_with_escapes_for_what_is_not_printable(tree: Any) -> None:
    assert json_text(tree) == escaped_json(json.dumps(tree, indent=2, ensure_ascii=False))
    # Compared as text: NaN is no value that equals itself.
    assert repr(json.loads(json_text(tree))) == repr(tree)


@pytest.mark.parametrize("tree", ["half \ud83d", [float("nan")], {"\ud83d": [float("-inf")]}])
def test_json_of_what_is_no_proper_text_or_number_is_what_the_standard_library_writes(tree: Any) -> None:
    assert json_text(tree) == json.dumps(tree, indent=2)


@pytest.mark.parametrize("kind", kinds())
def test_a_streamed_listing_is_the_encoding_of_its_record(example: Runner, kind: str) -> None:
    at = "2026-11-16T12:00:00Z"
    printed = example("get", kind, "-n", "acme", "-o", "json", "--at", at).out
    whole = get(open_fleet(["."], "acme", at), Scope("acme"), kind)
    assert printed == json.dumps(msgspec.to_builtins(whole), indent=2, ensure_ascii=False) + "\n"


def test_a_listing_with_nothing_in_it_is_the_encoding_of_its_record(run: Runner) -> None:
    assert run("get", "windows", "-o", "json").out == '{\n  "kind": "List",\n  "items": [],\n  "diagnostics": []\n}\n'


def test_a_table_of_plugins_makes_no_trees_of_values(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise AssertionError("a tree of values was made")

    monkeypatch.setattr("fleetform.app.listing.list_plugins.values_tree", make)
    monkeypatch.setattr("fleetform.engine.desired.values_tree", make)
    assert "web-eu-1" in run("get", "plugins").out
    assert "web-eu-1" in run("get", "plugins", "-o", "wide").out
    assert run("get", "plugins", "-o", "name").out.startswith("plugin/web-eu-1\n")


OWN_VALUES = """
apiVersion: fleetform.dev/v1alpha1
kind: Plugin
metadata: {name: web-eu-2, namespace: acme}
spec:
  presetRef: {name: web}
  clusterName: eu-2
  optionValues:
  - {name: host, value: own.example.com}
"""
OVERRIDE = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: more, namespace: acme}
spec:
  overrides:
  - {path: replicas, value: 7}
"""


def test_rows_say_what_whole_plugins_say(run: Runner) -> None:
    run.write(own=OWN_VALUES, override=OVERRIDE)
    rows = {line.split()[0]: line.split() for line in run("get", "plugins", "-o", "wide").out.splitlines()[1:]}
    for item in run("get", "plugins", "-o", "json").json["items"]:
        status, spec = item["status"], item["spec"]
        release = f"{spec['releaseNamespace']}/{spec['releaseName']}"
        owner = f"{status['owner']['kind']}/{status['owner']['name']}"
        taken = [each["name"] for each in status["appliedOverrides"]]
        row = [item["metadata"]["name"], spec["clusterName"], "web", status["version"], str(len(taken))]
        assert rows[item["metadata"]["name"]] == [*row, "-", status["state"] or "-", release, owner, *taken]
    assert run("get", "plugins", "-o", "json").json["items"][1]["status"]["values"]["host"] == "own.example.com"
