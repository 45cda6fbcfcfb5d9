"""A change that leaves the version as it is says what it changes: which object, which options, and no value."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fleetform.cli.rollout.view import span_text
from fleetform.model.answers.planning import ObjectChange
from loop.test_control import STAGES
from support.api import ServedPlane
from support.fleets import BASE, override
from web.test_server_flag import Ask, ask  # noqa: F401

PRESET = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
FILES = {**BASE, "preset.yaml": PRESET, "policy.yaml": STAGES}
MORE = override("more", "[{path: replicas, value: 7}, {path: host, value: there}]")


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    """A fleet on which everything is installed."""
    found = ServedPlane(tmp_path, FILES)
    found.plane.wait(days=3)
    assert found.plane.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0", "us-1": "1.0.0"}
    return found


def changes(served: ServedPlane) -> list[tuple[str, str, str, list[str]]]:
    """What the open rollout of the preset changes, as its status and the plan tell it."""
    told = served.get("rollouts/web")["changes"]
    assert [each["changes"] for each in served.get("plan")["rollouts"]] == [told]
    return [(each["kind"], each["name"], each["change"], each["options"]) for each in told]


def edit(served: ServedPlane, **files: str | None) -> None:
    for name, text in files.items():
        if text is None:
            del served.plane.files.files[f"{name}.yaml"]
        else:
            served.plane.files.files[f"{name}.yaml"] = text
    refusal = served.plane.settle().refusal
    assert refusal is None, refusal


def test_an_override_that_comes_changes_what_it_sets(served: ServedPlane, ask: Ask) -> None:  # noqa: F811
    edit(served, more=MORE)
    assert changes(served) == [("PluginOverride", "more", "added", ["host", "replicas"])]
    told = "1.0.0, values changed: host, replicas (PluginOverride more)"
    assert told in ask("plan").out
    assert told in ask("rollout", "status", "web").out


def test_an_override_that_is_edited_changes_only_what_it_sets_otherwise(served: ServedPlane) -> None:
    edit(served, more=MORE)
    served.plane.wait(days=3)
    assert [each["name"] for each in served.get("rollouts/web")["changes"]] == ["more"], "also when it is over"
    edit(served, more=MORE.replace("7", "8"))
    assert changes(served) == [("PluginOverride", "more", "changed", ["replicas"])]
    served.plane.wait(days=3)
    edit(served, more=None)
    assert changes(served) == [("PluginOverride", "more", "removed", ["host", "replicas"])]


def test_a_preset_changes_what_its_groups_and_clusters_get(served: ServedPlane) -> None:
    preset = FILES["preset.yaml"]
    one = "  clusterOptionOverrides:\n  - clusterName: eu-1\n    overrides: [{name: host, value: here}]\n"
    served.plane.health.says["eu-1"] = "Unknown"
    edit(served, preset=preset + one)
    assert changes(served) == [("PluginPreset", "web", "changed", ["host"])]


def test_what_was_started_says_in_the_history_what_was_changed(served: ServedPlane) -> None:
    edit(served, more=MORE)
    served.plane.wait(days=3)
    started = next(each for each in served.get("history", cluster="eu-1")["items"] if each["event"] == "Started")
    assert started["version"] == "1.0.0"
    assert started["reason"].endswith("values changed: host, replicas (PluginOverride more)")
    first = served.get("history", cluster="eu-1")["items"][-1]
    assert "values changed" not in first["reason"]


def test_what_waited_for_another_change_does_not_tell_what_that_one_changed(tmp_path: Path) -> None:
    """The first fails with nothing to go back to, and what waited for it begins in the same pass."""
    served = ServedPlane(tmp_path, FILES)
    served.plane.health.says["us-1"] = "Unknown"
    served.plane.wait(days=1)
    edit(served, more=MORE)
    served.plane.health.says["us-1"] = "Failed"
    served.plane.wait(days=3)
    events = [(each["event"], each["reason"]) for each in served.get("history", cluster="eu-2")["items"]]
    told = "values changed: host, replicas (PluginDefinition web, PluginOverride more and 1 more)"
    assert [reason for event, reason in events if event == "Started"] == [f"stage dev, {told}", "stage dev"]


def test_of_a_secret_only_its_option_is_told(served: ServedPlane) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme}\nstringData: {k: correct-horse}\n"
    edit(served, secret=secret, more=override("more", "[{path: token, valueFrom: {secret: {name: s, key: k}}}]"))
    assert changes(served) == [("PluginOverride", "more", "added", ["token"])]
    assert "correct-horse" not in str(served.get("plan"))


def test_a_first_install_changes_nothing(tmp_path: Path) -> None:
    served = ServedPlane(tmp_path, FILES)
    served.plane.settle()
    told = served.get("rollouts/web")
    assert (told["from"], told["to"]) == (None, "1.0.0"), "it comes from nothing, though one cluster has it by now"
    assert span_text("1.0.0", "1.0.0", msgspec.convert(told["changes"], list[ObjectChange])) == "1.0.0"
    assert span_text("1.0.0", "1.0.0", []) == "1.0.0"


def test_another_version_is_told_as_that(served: ServedPlane, ask: Ask) -> None:  # noqa: F811
    newer = BASE["definition.yaml"].replace("1.0.0", "1.1.0")
    edit(served, newer=newer)
    assert "1.0.0 → 1.1.0" in ask("plan").out
    assert "values changed" not in ask("plan").out
    assert changes(served) == [("PluginDefinition", "web", "changed", [])], "once, and not as removed and added"


def test_asked_for_a_time_before_the_first_the_history_says_when_that_was(served: ServedPlane) -> None:
    found = served.send("GET", "/api/v1/history", params={"cluster": "eu-1", "at": "2026-10-01T00:00:00Z"})
    assert found.status_code == 404
    assert found.json()["hint"] == "the first that happened there was at 2026-11-01T13:00:00Z"


@pytest.mark.parametrize(
    "listed",
    ["[a, b]", "[{weight: 1}, {weight: 2}]", "[{name: a, value: 1}]"],
    ids=["texts", "maps without a name", "maps with a name"],
)
def test_a_list_inside_a_default_that_is_called_like_our_lists_names_no_options(
    served: ServedPlane, listed: str
) -> None:
    default = "default: {team: none}"
    assert default in BASE["definition.yaml"]
    newer = BASE["definition.yaml"].replace("1.0.0", "1.1.0")
    edit(served, newer=newer.replace(default, f"default: {{overrides: {listed}}}"))
    assert changes(served) == [("PluginDefinition", "web", "changed", [])]
