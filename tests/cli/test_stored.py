"""history, backup and restore: what a control plane's database tells, and how it is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from cli.test_serve import delivered, fleet  # noqa: F401
from fleetform.syntax.times import parse_time
from support.command import Runner

AT = ("--at", "2026-11-01T12:00:00Z")
LATER = ("--at", "2026-11-01T13:00:00Z")


@pytest.fixture
def served(fleet: Runner) -> Runner:  # noqa: F811
    """A fleet whose first version went through both stages an hour apart, and whose second is in the first."""
    fleet("serve", "--once", *AT)
    fleet("serve", "--once", *LATER)
    definition = (fleet.folder / "definition.yaml").read_text()
    (fleet.folder / "definition-2.yaml").write_text(definition.replace("version: 1.0.0", "version: 1.1.0"))
    fleet("serve", "--once", "--at", "2026-11-01T20:00:00Z")
    return fleet


def test_history_tells_what_a_cluster_ran_at_a_time_and_which_rollout_brought_it(served: Runner) -> None:
    then = served("history", "eu-2", "--at", "2026-11-01T19:00:00Z", "-o", "json").json
    assert [(each["version"], each["health"]) for each in then["running"]] == [("1.0.0", "Healthy")]
    now = served("history", "eu-2", "-o", "json", "--at", "2026-11-02").json
    assert [each["version"] for each in now["running"]] == ["1.1.0"]
    assert [each["event"] for each in now["items"]] == ["Healthy", "Started", "Healthy", "Started"]
    assert now["running"][0]["changeId"].startswith("c1:")


def test_history_of_an_hour_ago_needs_no_reckoning(served: Runner) -> None:
    answer = served("history", "eu-2", "--at", "-1h", "-o", "json").json
    assert "." not in answer["at"]
    ago = datetime.now(UTC) - parse_time(answer["at"])
    assert timedelta(hours=1) <= ago < timedelta(hours=1, minutes=10)
    assert [each["version"] for each in answer["running"]] == ["1.1.0"]


def test_history_reads_well(served: Runner) -> None:
    result = served("history", "eu-2", "--at", "2026-11-02")
    assert result.code == 0
    assert result.out.split("\n")[0] == "eu-2 at 2026-11-02T00:00:00Z"
    assert "web-eu-2  1.1.0" in result.out
    assert "stage dev" in result.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("history", "eu-9"), 1, "nothing is known of cluster eu-9 in organization default"),
        (("history", "eu-2", "--at", "-9soon"), 2, "or -1h for an hour ago"),
        (("history", "eu-2", "--at", "2020-01-01"), 1, "up to then"),
        (("history", "eu-2", "--state", "sqlite:none.db"), 2, "there is no database none.db"),
        (("history", "eu-2", "--state", "state.json"), 2, "is a state export, no database"),
    ],
)
def test_what_is_not_known_is_said(served: Runner, arguments: tuple[str, ...], code: int, words: str) -> None:
    result = served(*arguments)
    assert result.code == code
    assert words in result.err


def test_a_backup_is_restored_elsewhere_and_goes_on_from_there(served: Runner) -> None:
    assert served("backup", "copy.db").code == 0
    assert served("backup", "copy.db").code == 2
    assert served("restore", "copy.db", "--dry-run", "--state", "sqlite:elsewhere/fleet.db").code == 0
    assert not (served.folder / "elsewhere").exists()
    restored = served("restore", "copy.db", "--state", "sqlite:elsewhere/fleet.db")
    assert (restored.code, restored.err) == (0, "elsewhere/fleet.db restored from copy.db\n")
    result = served("serve", "--once", "--at", "2026-11-01T21:00:00Z", "--state", "sqlite:elsewhere/fleet.db")
    assert result.code == 0
    assert "Started    web 1.1.0 on eu-1, us-1" in result.err


def test_a_redacted_backup_is_what_state_reads(served: Runner) -> None:
    assert served("backup", "--redacted", "state.json").code == 0
    state = json.loads((served.folder / "state.json").read_text())
    assert state["kind"] == "State"
    assert {each["admitted"]["version"] for each in state["plugins"]} == {"1.0.0", "1.1.0"}
    asked = served("explain", "web", "-c", "eu-2", "-o", "json", "--state", "state.json")
    assert asked.code == 0, asked.err
    told = asked.json
    assert told["admitted"]["version"] == "1.1.0"


def test_an_existing_database_is_replaced_only_if_asked_for(served: Runner) -> None:
    served("backup", "copy.db")
    refused = served("restore", "copy.db")
    assert refused.code == 2
    assert "--yes" in refused.err
    for name in ("fleet.db.before-restore", "fleet.db.before-restore-2"):
        restored = served("restore", "copy.db", "--yes")
        assert restored.code == 0
        assert restored.err.endswith(f"what was there is kept as .fleetform/{name}\n")
        assert (served.folder / ".fleetform" / name).exists()
