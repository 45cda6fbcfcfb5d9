"""fleetform simulate: flags, exit codes, JSON, and a timeline that fits 80 columns."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.command import Runner
from support.simulations import parsed
from support.worlds import cluster, definition, fleet_files, policy

AT = ("--at", "2026-11-16T12:00:00Z")


@pytest.fixture
def change(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Two folders, before and after: a new version of what runs on three clusters in two stages."""
    runner = Runner(tmp_path, capsys, monkeypatch)
    for folder, files in (("before", fleet_files()), ("after", fleet_files(newer=definition("1.1.0")))):
        runner.write(**{f"{folder}__{name.removesuffix('.yaml')}": text for name, text in files.items()})
    return runner


def simulate(run: Runner, *flags: str) -> tuple[str, ...]:
    return ("simulate", "--from", "before", "--to", "after", *AT, *flags)


@pytest.mark.rule("S44")
def test_the_json_is_as_documented(change: Runner) -> None:
    result = change(*simulate(change, "-o", "json"))
    assert result.code == 0
    answer = result.json
    assert (answer["kind"], answer["outcome"]) == ("Simulation", "Completed")
    assert {each["severity"] for each in answer["diagnostics"]} == {"warning"}
    assert (answer["start"], answer["end"]) == ("2026-11-16T12:00:00Z", "2026-11-16T12:20:00Z")
    assert answer["events"][-1] == {
        "at": "2026-11-16T12:20:00Z",
        "organization": "acme",
        "cluster": "eu-2",
        "plugin": "certs-eu-2",
        "event": "Succeeded",
        "reason": "",
        "rollout": answer["rollouts"][0]["name"],
        "stage": "gold",
    }
    assert [(each["name"], each["start"], each["end"]) for each in answer["stages"]] == [
        ("qa", "2026-11-16T12:00:00Z", "2026-11-16T12:10:00Z"),
        ("gold", "2026-11-16T12:10:00Z", "2026-11-16T12:20:00Z"),
    ]


@pytest.mark.rule("S44")
def test_the_timeline_fits_80_columns_and_tells_how_it_ends(change: Runner) -> None:
    result = change(*simulate(change, "--fail", "eu-1"))
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[0] == "certs 1.0.0 → 1.1.0"
    assert lines[1] == "halts Mon 16 Nov 12:20 UTC, 20 min from Mon 16 Nov 12:00"
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("  gold") and "✗" in line for line in lines)
    assert "  Mon 16 Nov 12:20  gold  eu-1 fails" in lines
    assert "fleetform rollout retry certs" in result.out


@pytest.mark.rule("S44")
def test_a_few_failures_among_many_clusters_do_not_hide_how_far_the_others_are(change: Runner) -> None:
    many = "---\n".join(cluster(f"c-{number:03}", tier="gold") for number in range(200))
    slowly = policy("{name: gold, remainder: true, maxConcurrency: 10, maxFailures: 100%}")
    for folder in ("before", "after"):
        change.write(**{f"{folder}__clusters": many, f"{folder}__policy": slowly})
    result = change(*simulate(change, "--fail", "0.1"))
    assert " fail: " in result.out
    (bar,) = (line.partition("▕")[2].partition("▏")[0] for line in result.out.splitlines() if line.startswith("  gold"))
    assert bar.count("✗") == 1
    assert set("▁▂▃▄▅▆▇") <= set(bar)


@pytest.mark.rule("S44")
@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        (("--fail", "1"), "Halted"),
        (("--fail", "0"), "Completed"),
        (("--fail", "eu-1@2027-01-01"), "Completed"),
        (("--fail", "eu-1@2026-11-16T12:05:00Z"), "Halted"),
        (("--unreachable", "eu-2"), "Stuck"),
        (("--unreachable", "eu-2@2027-01-01"), "Completed"),
        (("--until", "2026-11-16T12:12:00Z"), "Stuck"),
        (("--duration", "2h", "--until", "2026-11-16T13:00:00Z"), "Stuck"),
    ],
)
def test_flags_say_what_comes_true(change: Runner, flags: tuple[str, ...], outcome: str) -> None:
    result = change(*simulate(change, "-o", "json", *flags))
    assert (result.json["outcome"], result.code) == (outcome, 0 if outcome == "Completed" else 1)


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (("--fail", "eu-9"), 1, "did you mean eu-"),
        (("--unreachable", "eu-9"), 1, "there is no cluster eu-9"),
        (("--fail", "1.5"), 2, "is not a share of all starts"),
        (("--fail", "eu-1@tomorrow"), 2, "tomorrow is not a time"),
        (("--duration", "soon"), 2, "is not a duration"),
        (("--until", "later"), 2, "write a time such as"),
    ],
)
def test_what_cannot_be_assumed_is_refused(change: Runner, flags: tuple[str, ...], code: int, says: str) -> None:
    result = change(*simulate(change, *flags))
    assert (result.code, result.out) == (code, "")
    assert says in result.err


def test_pictures_are_written_whole_and_alone(change: Runner) -> None:
    result = change(*simulate(change, "--svg", "out.svg", "--html", "out.html"))
    assert result.code == 0
    assert result.err.splitlines() == ["written: out.svg", "written: out.html"]
    assert parsed((change.folder / "out.svg").read_text()).tag.endswith("svg")
    assert (change.folder / "out.html").read_text().startswith("<!doctype html>")


def test_a_picture_that_cannot_be_written_is_an_error_without_a_traceback(change: Runner) -> None:
    result = change(*simulate(change, "--svg", "before"))
    assert result.code in (1, 2)
    assert "before" in result.err


def test_a_side_may_be_a_commit_and_the_other_the_folder_at_hand(change: Runner) -> None:
    folder = change.folder / "after"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    newer = (folder / "newer.yaml").read_text()
    (folder / "newer.yaml").unlink()
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
        subprocess.run([*git, *arguments], check=True)
    (folder / "newer.yaml").write_text(newer)
    run = Runner(folder, change._capsys, change._monkeypatch)
    result = run("simulate", "--from", "git:HEAD", *AT, "-o", "json")
    assert (result.code, [each["clusters"] for each in result.json["stages"]]) == (0, [1, 2])
    assert result.json["from"] == "git:HEAD"


def test_without_a_side_or_a_state_everything_is_a_first_install_and_that_is_said(change: Runner) -> None:
    result = change("simulate", "-f", "after", *AT)
    assert result.code == 0
    assert "installed for the first time" in result.err
    assert result.out.splitlines()[0] == "certs 1.1.0"


def test_wide_has_every_event(change: Runner) -> None:
    lines = change(*simulate(change, "-o", "wide")).out.splitlines()
    assert sum(" Started " in line for line in lines) == 3
    assert sum(" Waiting " in line for line in lines) == 2


def test_nothing_to_do_is_said(change: Runner) -> None:
    result = change("simulate", "--from", "after", "--to", "after")
    assert (result.code, result.out) == (0, "Nothing changes\n")


def test_a_saved_state_is_what_other_verbs_read(change: Runner) -> None:
    middle = ("--until", "2026-11-16T12:12:00Z", "--save-state", "middle.json")
    assert change(*simulate(change, *middle)).code == 1
    result = change("simulate", "-f", "after", "--state", "middle.json", "--at", "2026-11-16T12:12:00Z", "-o", "json")
    assert result.code == 0
    assert [(each["name"], each["updated"]) for each in result.json["stages"]] == [("qa", 1), ("gold", 2)]
    events = [(each["cluster"], each["event"]) for each in result.json["events"]]
    assert events == [("eu-1", "Succeeded"), ("eu-2", "Succeeded")]
