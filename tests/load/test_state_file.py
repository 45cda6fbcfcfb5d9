"""A state export brings stamps and what runs; anything else is refused in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fleetform.app.errors import StateError
from fleetform.app.stored_state.reading import LONG_AGO
from fleetform.engine.bindings.value_sources import OUTPUT
from fleetform.load.state import load_state
from fleetform.model.objects import Ref
from fleetform.model.state import Attempt, Deployed, PluginState
from fleetform.ports.state import KnownState

STAMP = {"kind": "PluginOverride", "organization": "acme", "name": "more", "created": "2026-01-01T00:00:00Z"}
RUNS = {"organization": "acme", "cluster": "eu-1", "plugin": "web-eu-1", "admitted": {"inputHash": "h1:0"}}
EU_1 = Ref("Cluster", "acme", "eu-1")
STOPPED = {**RUNS, "plugin": "old-eu-1", "admitted": None}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def refusal(file: Path | str) -> StateError:
    with pytest.raises(StateError) as caught:
        load_state(str(file))
    return caught.value


def test_no_state_is_an_empty_one() -> None:
    assert load_state(None) == KnownState({}, {})


def test_stamps_and_admitted_states_are_read_by_their_keys(file: Path) -> None:
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [STAMP], "plugins": [RUNS, STOPPED]}))
    assert load_state(str(file)) == KnownState(
        {Ref("PluginOverride", "acme", "more"): "2026-01-01T00:00:00Z"},
        {EU_1: {"old-eu-1": PluginState(), "web-eu-1": PluginState(Deployed(None, input_hash="h1:0"))}},
    )


def test_a_stamp_may_say_where_its_object_is_written(file: Path) -> None:
    stamp = {**STAMP, "place": {"file": "overrides/more.yaml", "line": 1, "column": 1}}
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [stamp]}))
    assert load_state(str(file)).stamps == {Ref("PluginOverride", "acme", "more"): "2026-01-01T00:00:00Z"}


def test_what_was_seen_on_a_cluster_is_read(file: Path) -> None:
    seen: dict[str, Any] = {**RUNS, "lastHealthy": {"version": "1.0.0", "inputHash": "h1:1"}}
    seen["observed"] = {"bindings": {"NODE": "n1", "GONE": None}, "outputs": {"ip": 4}, "failed": "h1:2"}
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], "plugins": [seen]}))
    assert load_state(str(file)).plugin(EU_1, "web-eu-1") == PluginState(
        Deployed(None, input_hash="h1:0"),
        Deployed("1.0.0", input_hash="h1:1"),
        {"NODE": "n1", "GONE": None, f"{OUTPUT}ip": 4},
        Attempt("h1:2", "", LONG_AGO, LONG_AGO, "Failed", 1),
    )


def test_a_plugin_says_which_definition_runs_and_how_its_last_change_went(file: Path) -> None:
    runs = {**RUNS, "admitted": {"version": "v1.0.0", "definition": "web"}, "lastHealthy": {"version": "odd"}}
    runs |= {"phase": "Healthy", "since": "2026-01-01T00:00:00Z"}
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], "plugins": [runs]}))
    found = load_state(str(file)).plugin(EU_1, "web-eu-1")
    assert (found.admitted, found.last_healthy) == (Deployed("1.0.0", "web"), Deployed(None))
    assert found.attempt is not None
    assert (found.attempt.phase, found.attempt.since) == ("Healthy", datetime(2026, 1, 1, tzinfo=UTC))


def test_a_state_without_plugins_is_read(file: Path) -> None:
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": []}))
    assert load_state(str(file)) == KnownState({}, {})


@pytest.mark.parametrize(
    "tree", [[], {}, {"kind": "State"}, {"kind": "State", "version": 2, "stamps": []}, {"kind": "Fleet", "version": 1}]
)
def test_what_is_no_state_of_version_1_is_refused(file: Path, tree: Any) -> None:
    file.write_text(json.dumps(tree))
    error = refusal(file)
    assert error.message == f"{file} is not a state export of version 1"
    assert error.hint == "give a file that holds a State of version 1"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"stamps": None},
        {"stamps": ["x"]},
        {"stamps": [{"kind": "A"}]},
        {"stamps": [], "plugins": None},
        {"stamps": [], "plugins": [{"admitted": {}}]},
        {"stamps": [], "plugins": ["x"]},
    ],
)
def test_a_damaged_state_is_refused(file: Path, more: dict[str, Any]) -> None:
    file.write_text(json.dumps({"kind": "State", "version": 1, **more}))
    error = refusal(file)
    assert error.message.startswith(f"{file} is damaged: ")
    assert error.hint == "export it again"


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe"], ids=["broken", "empty", "not-text"])
def test_what_is_no_json_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert refusal(file).message.startswith(f"{file} is not a state export: ")


def test_a_missing_state_is_refused(file: Path) -> None:
    error = refusal(file)
    assert (error.message, error.hint) == (f"cannot read {file}: no such file or directory", "check --state")


def test_a_folder_is_no_state(tmp_path: Path) -> None:
    assert refusal(tmp_path).message == f"cannot read {tmp_path}: it is a folder"


@pytest.mark.parametrize(
    "more",
    [
        {"plugins": [{**RUNS, "admited": {}}]},
        {"rejcted": []},
        {"rejected": [{"organization": "acme", "name": "web", "verion": "1.0.0"}]},
    ],
)
def test_a_field_that_is_spelt_wrong_is_refused_and_named(file: Path, more: dict[str, Any]) -> None:
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], **more}))
    assert "unknown field" in refusal(file).message


@pytest.mark.parametrize(
    ("written", "attempt"),
    [
        ({}, None),
        ({"observed": {"failed": "h1:2"}}, ("h1:2", "Failed", 1)),
        ({"phase": "Failed"}, ("h1:0", "Failed", 1)),
        ({"phase": "Failed", "observed": {"failed": "h1:2"}}, ("h1:2", "Failed", 1)),
        ({"phase": "Healthy"}, ("h1:0", "Healthy", 0)),
        ({"phase": "Healthy", "observed": {"failed": "h1:2"}}, ("h1:0", "Healthy", 0)),
        ({"phase": "Applying", "admitted": None}, ("", "Applying", 0)),
        ({"phase": "Failed", "admitted": None, "observed": {"failed": "h1:2"}}, ("h1:2", "Failed", 1)),
    ],
)
def test_an_older_export_that_tells_no_attempt_means_what_is_installed_or_what_failed(
    file: Path, written: dict[str, Any], attempt: tuple[str, str, int] | None
) -> None:
    file.write_text(json.dumps({"kind": "State", "version": 1, "stamps": [], "plugins": [{**RUNS, **written}]}))
    found = load_state(str(file)).plugin(EU_1, "web-eu-1").attempt
    assert (found and (found.input_hash, found.phase, found.failures)) == attempt
