"""fleetform serve: a folder becomes a running fleet, and whatever goes wrong is said and survived."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx2
import pytest

from fleetform.cli.options import Flags
from fleetform.cli.serve_log import ServeLog
from fleetform.loop.control import PassReport
from fleetform.model.objects import Ref
from fleetform.outside.log import Log
from fleetform.store.sqlite import SqliteStore
from fleetform.wiring.plane import open_plane
from support.command import Runner
from support.fleets import BASE, NOW, override
from support.repositories import Repository

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {replicas: '${replicas}'}\n"
POLICY = """
apiVersion: fleetform.dev/v1alpha1
kind: RolloutPolicy
metadata: {name: standard, namespace: acme}
spec:
  stages:
  - {name: dev, clusterSelector: {matchLabels: {tier: dev}}, minSuccessTime: 1h}
  - {name: gold, remainder: true}
"""


@pytest.fixture
def fleet(run: Runner) -> Runner:
    """A fleet of three clusters in two stages, its manifests beside it."""
    preset = BASE["preset.yaml"].replace("spec:\n", "spec:\n  rolloutPolicy: standard\n", 1)
    run.write(clusters=BASE["clusters.yaml"], definition=BASE["definition.yaml"], preset=preset, policy=POLICY)
    (run.folder / "manifests").mkdir()
    (run.folder / "manifests" / "web.yaml").write_text(CONFIG_MAP)
    return run


def delivered(folder: Path) -> dict[str, str]:
    found = sorted((folder / "out").rglob("*.yaml"))
    return {each.relative_to(folder / "out").parts[1]: each.read_text() for each in found}


@pytest.mark.rule("S49")
def test_once_does_what_is_due_and_ends(fleet: Runner) -> None:
    first = fleet("serve", "--once", "--at", "2026-11-01T12:00:00Z")
    assert first.code == 0
    assert list(delivered(fleet.folder)) == ["eu-2"]
    assert "Started    web 1.0.0 on eu-2" in first.err
    later = fleet("serve", "--once", "--at", "2026-11-01T13:00:00Z")
    assert later.code == 0
    assert list(delivered(fleet.folder)) == ["eu-1", "eu-2", "us-1"]
    assert "replicas: 2" in delivered(fleet.folder)["eu-1"]


@pytest.mark.rule("S49")
def test_once_with_invalid_files_changes_nothing_and_says_what_is_wrong(fleet: Runner) -> None:
    fleet("serve", "--once")
    preset = (fleet.folder / "preset.yaml").read_text()
    (fleet.folder / "preset.yaml").write_text(preset.replace("clusterSelector", "clusterSelektor"))
    result = fleet("serve", "--once")
    assert result.code == 2
    assert "the fleet stays as it was" in result.err
    assert "preset.yaml:7: spec has no field clusterSelektor" in result.err
    assert list(delivered(fleet.folder)) == ["eu-2"]


@pytest.mark.rule("S49")
@pytest.mark.parametrize("form", ["text", "json"])
def test_errors_are_said_even_if_it_is_to_be_quiet(fleet: Runner, form: str) -> None:
    quiet = fleet("serve", "-q", "--once", "--log-format", form)
    assert (quiet.code, quiet.err) == (0, "")
    preset = (fleet.folder / "preset.yaml").read_text()
    (fleet.folder / "preset.yaml").write_text(preset.replace("clusterSelector", "clusterSelektor"))
    result = fleet("serve", "-q", "--once", "--log-format", form)
    assert result.code == 2
    assert "the fleet stays as it was" in result.err
    assert "preset.yaml:7: spec has no field clusterSelektor" in result.err


@pytest.mark.rule("S49")
def test_once_says_by_its_exit_code_that_something_could_not_be_delivered(fleet: Runner) -> None:
    in_the_way = fleet.folder / "out" / "acme"
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file where the folder should be")
    result = fleet("serve", "-q", "--once", "--at", "2026-11-01T12:00:00Z", "--log-format", "json")
    assert result.code == 4
    [line] = [json.loads(each) for each in result.err.splitlines()]
    assert (line["event"], line["level"], line["organizations"]) == ("CannotDeliver", "error", ["acme"])
    assert (line["clusters"], line["names"]) == (1, ["eu-2"])
    [change] = line["changeIds"]
    assert change.startswith("c1:")
    in_the_way.unlink()
    assert fleet("serve", "-q", "--once", "--at", "2026-11-01T13:00:00Z").code == 0
    assert "replicas" in delivered(fleet.folder)["eu-2"]


@pytest.mark.rule("S49")
def test_files_that_are_invalid_from_the_start_are_no_fleet_that_stays(fleet: Runner) -> None:
    preset = (fleet.folder / "preset.yaml").read_text()
    (fleet.folder / "preset.yaml").write_text(preset.replace("clusterSelector", "clusterSelektor"))
    result = fleet("serve", "--once")
    assert result.code == 2
    assert "the files are invalid; nothing was accepted yet, so nothing is delivered" in result.err


@pytest.mark.rule("S49", "B22")
def test_once_on_an_empty_folder_warns_and_deletes_nothing(fleet: Runner) -> None:
    fleet("serve", "--once")
    for file in fleet.folder.glob("*.yaml"):
        file.unlink()
    (fleet.folder / "manifests" / "web.yaml").unlink()
    result = fleet("serve", "--once")
    assert result.code == 0
    assert "taken for a mistake" in result.err
    assert list(delivered(fleet.folder)) == ["eu-2"]


@pytest.mark.rule("S49")
def test_a_database_that_another_one_holds_is_refused(fleet: Runner) -> None:
    store = SqliteStore(str(fleet.folder / ".fleetform" / "fleet.db"))
    result = fleet("serve", "--once")
    store.close()
    assert result.code == 4
    assert "another Fleetform holds" in result.err


def test_a_state_that_is_no_database_is_refused(fleet: Runner) -> None:
    (fleet.folder / "fleet.db").write_bytes(b"hello" * 1000)
    result = fleet("serve", "--once", "--state", "sqlite:fleet.db")
    assert result.code == 2
    assert "is not a database" in result.err


@pytest.mark.rule("S49", "B22")
def test_an_empty_folder_is_warned_of_at_the_first_start_too(run: Runner) -> None:
    (run.folder / "empty").mkdir()
    result = run("serve", "-f", "empty", "--once")
    assert result.code == 0
    assert "the source is empty, which is taken for a mistake" in result.err


def test_where_each_organization_has_a_plane_of_its_own_lines_say_whose_they_are(
    fleet: Runner, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet.folder)
    flags = cast("Flags", SimpleNamespace(quiet=False, color=False))
    for form, database in ((Log("text"), "one.db"), (Log("json"), "other.db")):
        log = ServeLog(flags, form, "acme")
        plane = open_plane(
            ["."], str(fleet.folder / database), log.told, log.failed, print, print, at="2026-11-01T12:00:00Z"
        )
        try:
            plane.driver.run_once()
        finally:
            plane.close()
        first = capsys.readouterr().err.splitlines()[0]
        if form.format == "text":
            assert first == "Sun 12:00:00  acme: accepted the objects as they are now: 6 objects"
        else:
            told = json.loads(first)
            assert (told["message"], told["organization"]) == (
                "accepted the objects as they are now: 6 objects",
                "acme",
            )


def test_clusters_that_no_longer_answer_and_do_again_are_told_once_for_each_cause(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = ServeLog(cast("Flags", SimpleNamespace(quiet=False, color=False)), Log())

    def told(**silent: str) -> list[str]:
        found = {Ref("Cluster", "acme", name.replace("_", "-")): because for name, because in silent.items()}
        log.told(PassReport(NOW, False, None, silent=found))
        return capsys.readouterr().err.splitlines()

    refused, unknown = "connection refused by 10.0.0.1", "the token is not known"
    assert told() == []
    assert told(eu_1=refused, eu_2="connection refused by 10.0.0.2", us_1=unknown) == [
        "Sun 12:00:00  2 clusters (eu-1, eu-2) do not answer: connection refused by 10.0.0.…",
        "Sun 12:00:00  cluster us-1 does not answer: the token is not known",
    ]
    assert told(eu_1="another cause", eu_2=refused, us_1=unknown) == [], "it is told once"
    assert told(us_1=unknown) == ["Sun 12:00:00  2 clusters (eu-1, eu-2) answer again"]
    assert told(us_1=unknown, us_2="") == ["Sun 12:00:00  cluster us-2 does not answer"]
    assert told(us_2="") == ["Sun 12:00:00  cluster us-1 answers again"]


@pytest.mark.rule("B22")
def test_files_that_are_refused_say_what_to_do_and_it_is_said_when_all_is_well_again(
    fleet: Runner, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet.folder)
    log = ServeLog(cast("Flags", SimpleNamespace(quiet=False, color=False)), Log())
    database = str(fleet.folder / "fleet.db")
    plane = open_plane(["."], database, log.told, log.failed, print, print, at="2026-11-01T12:00:00Z")

    def told() -> str:
        plane.driver.run_once()
        return capsys.readouterr().err

    try:
        assert "accepted the files as they are now: 6 objects\n" in told()
        sound = (fleet.folder / "preset.yaml").read_text()
        fleet.write(preset=sound.replace("clusterSelector", "clusterSelektor"))
        said = told()
        assert "the files are invalid; the fleet stays as it was" in said
        assert "preset.yaml:" in said
        assert "(did you mean clusterSelector?)" in said
        # Other files that are refused for the same reason are no news.
        fleet.write(other="# nothing")
        assert told() == ""
        (fleet.folder / "other.yaml").unlink()
        fleet.write(preset=sound)
        assert "the files are as they were last accepted again" in told()
        fleet.write(preset=sound.replace("clusterSelector", "clusterSelektor"))
        told()
        fleet.write(preset=sound.replace("value: 2", "value: 9"))
        assert "accepted the files as they are now: changed PluginPreset web\n" in told()
        fleet.write(more=override("more", "[{path: replicas, value: 3}]"), policy=POLICY.replace("1h", "2h"))
        said = told()
        assert "accepted the files as they are now: added PluginOverride more; changed RolloutPolicy standard" in said
        (fleet.folder / "more.yaml").unlink()
        assert "accepted the files as they are now: removed PluginOverride more\n" in told()
        fleet.write(preset="# a comment\n" + (fleet.folder / "preset.yaml").read_text())
        assert "accepted the files as they are now: they say the same as before\n" in told()
        for number in range(9):
            fleet.write(**{f"more-{number}": override(f"more-{number}", "[{path: host, value: x}]")})
        assert "added PluginOverride more-0, PluginOverride more-1, PluginOverride more-2, PluginOverride more-3, " in (
            said := told()
        )
        assert "PluginOverride more-4 and 4 more\n" in said
    finally:
        plane.close()


def test_a_trial_jumps_from_due_time_to_due_time(fleet: Runner) -> None:
    result = fleet("serve", "--fast-forward", "2h", "--at", "2026-11-01T12:00:00Z")
    assert result.code == 0
    assert list(delivered(fleet.folder)) == ["eu-1", "eu-2", "us-1"]
    lines = [line for line in result.err.split("\n") if "Started" in line]
    assert [line.split()[1] for line in lines] == ["12:00:00", "13:00:00"]


def test_a_running_one_follows_the_folder_and_ends_on_sigterm(fleet: Runner) -> None:
    fleet.write(policy=POLICY.replace(", minSuccessTime: 1h", ""))
    command = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "serve", "--interval", "1s"]
    process = subprocess.Popen(command, cwd=fleet.folder, stderr=subprocess.PIPE, text=True)
    try:
        _until(lambda: "eu-2" in delivered(fleet.folder))
        preset = (fleet.folder / "preset.yaml").read_text()
        (fleet.folder / "preset.yaml").write_text(preset.replace("value: 2", "value: 9"))
        _until(lambda: "9" in delivered(fleet.folder)["eu-2"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        assert process.stderr is not None
        process.stderr.close()
        process.wait()


def test_killed_and_started_again_it_goes_on(fleet: Runner) -> None:
    command = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "serve", "--interval", "1s"]
    process = subprocess.Popen(command, cwd=fleet.folder, stderr=subprocess.DEVNULL)
    try:
        _until(lambda: os.path.exists(fleet.folder / ".fleetform" / "fleet.db"))
    finally:
        process.kill()
        process.wait()
    assert fleet("serve", "--once").code == 0
    assert list(delivered(fleet.folder)) == ["eu-2"]


def test_a_health_command_that_reads_nothing_ends_nothing_but_itself(fleet: Runner) -> None:
    """Whoever runs programs writes to pipes that these may close."""
    probes = fleet.folder / ".probes"
    probes.mkdir()
    (probes / "probe").write_text("#!/bin/sh\nexec <&-\nexit 1\n")
    (probes / "probe").chmod(0o755)
    clusters = (fleet.folder / "clusters.yaml").read_text()
    spec = "tier: dev}}\nspec: {health: {command: probe}}"
    (fleet.folder / "clusters.yaml").write_text(clusters.replace("tier: dev}}", spec))
    command = [sys.executable, "-c", "from fleetform.cli.main import main; main()", "serve", "--once"]
    for _ in range(3):
        done = subprocess.run([*command, "--health-dir", ".probes"], cwd=fleet.folder, capture_output=True, text=True)
        assert done.returncode == 0, done
    assert "Failed     web 1.0.0 on eu-2" in done.stderr or "Failed" in fleet("history", "eu-2").out


def test_an_output_that_nobody_reads_to_the_end_ends_quietly(fleet: Runner) -> None:
    program = f"{sys.executable} -c 'from fleetform.cli.main import main; main()'"
    script = f"{program} explain web -c eu-2 -o json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=fleet.folder, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout[1:].strip() in ("0", "141")


def _until(holds: object, seconds: float = 60.0) -> None:
    assert callable(holds)
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, "it took too long"
        time.sleep(0.1)


@pytest.mark.rule("S49")
def test_a_repository_elsewhere_is_served_and_history_tells_the_commit(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "")
    monkeypatch.delenv("GIT_DIR")
    repository = Repository(tmp_path / "elsewhere", bare=True)
    delivery = "  delivery: {directory: {path: ../delivered}}\n"
    files = {f"fleet/{name}": text for name, text in BASE.items()}
    files["fleet/preset.yaml"] = BASE["preset.yaml"].replace("spec:\n", f"spec:\n{delivery}", 1)
    commit = repository.commit({**files, "fleet/manifests/web.yaml": CONFIG_MAP})
    arguments = ("serve", "--once", "-f", "git:main:fleet", "--repository", repository.url)
    assert run(*arguments).code == 0
    placed = run.folder / "delivered" / "eu-1" / "web-eu-1" / "configmap-web.yaml"
    assert "replicas: 2" in placed.read_text()
    told = run("history", "eu-1", "-o", "json").json
    assert (told["running"][0]["revision"], told["items"][-1]["revision"]) == (commit, commit)
    assert commit[:12] in run("history", "eu-1").out
    second = repository.commit({"fleet/preset.yaml": files["fleet/preset.yaml"].replace("value: 2", "value: 7")})
    assert run(*arguments).code == 0
    assert "replicas: 7" in placed.read_text()
    assert run("history", "eu-1", "-o", "json").json["running"][0]["revision"] == second
    repository.folder.rename(tmp_path / "gone")
    failed = run(*arguments)
    assert failed.code == 2
    assert "git cannot fetch" in failed.err
    assert "replicas: 7" in placed.read_text()
    assert run("serve", "--once", "--repository", repository.url).code == 2


@pytest.mark.rule("R2-35")
def test_other_bytes_under_a_version_that_runs_are_refused_by_name(fleet: Runner) -> None:
    fleet("serve", "-q", "--at", "2026-11-01T12:00:00Z", "--fast-forward", "1d")
    (fleet.folder / "manifests" / "web.yaml").write_text(CONFIG_MAP + "immutable: true\n")
    preset = (fleet.folder / "preset.yaml").read_text()
    (fleet.folder / "preset.yaml").write_text(preset.replace("value: 2", "value: 7"))
    fleet("serve", "-q", "--at", "2026-11-03T12:00:00Z", "--once")
    state = ("--state", "sqlite:.fleetform/fleet.db")
    found = fleet("why", "eu-1", *state, "-o", "json")
    assert "artifact-mutated" in [each["gate"] for each in found.json["items"][0]["reasons"]]
    assert found.code == 3
    assert "immutable" not in delivered(fleet.folder)["eu-1"]


def drifted(fleet: Runner, mode: str) -> Path:
    """Delivered everywhere; then a file of eu-1 is edited and one of eu-2 deleted. The folder of what was delivered."""
    (fleet.folder / "delivery.yaml").write_text(
        "apiVersion: fleetform.dev/v1alpha1\nkind: Organization\nmetadata: {name: acme, namespace: acme}\n"
        f"spec: {{defaultDelivery: {{directory: {{path: ./out/acme, drift: {mode}}}}}}}\n"
    )
    fleet("serve", "-q", "--at", "2026-11-01T12:00:00Z", "--fast-forward", "1d")
    out = fleet.folder / "out" / "acme"
    edited = out / "eu-1" / "web-eu-1" / "configmap-web.yaml"
    edited.write_text(edited.read_text().replace("2", "99"))
    (out / "eu-2" / "web-eu-2" / "configmap-web.yaml").unlink()
    return out


def test_what_somebody_changed_in_a_folder_is_found_told_and_brought_back(fleet: Runner) -> None:
    out = drifted(fleet, "Correct")
    result = fleet("serve", "--at", "2026-11-02T12:30:00Z", "--once")
    assert result.code == 0
    assert "Drifted    web 1.0.0 on eu-1  configmap-web.yaml was changed" in result.err
    for cluster in ("eu-1", "eu-2"):
        assert "replicas: 2" in (out / cluster / f"web-{cluster}" / "configmap-web.yaml").read_text()
    events = fleet("history", "eu-1", "-o", "json").json["items"]
    assert [each["event"] for each in events[:2]] == ["DriftEnded", "Drifted"]
    assert events[1]["reason"] == "configmap-web.yaml was changed"
    assert fleet("history", "eu-2", "-o", "json").json["items"][1]["reason"] == "configmap-web.yaml is missing"
    again = fleet("serve", "--at", "2026-11-02T12:40:00Z", "--once")
    assert "rift" not in again.err


def test_what_is_only_to_be_reported_stays_and_is_shown(fleet: Runner) -> None:
    out = drifted(fleet, "Report")
    for minute in (30, 40):
        fleet("serve", "-q", "--at", f"2026-11-02T12:{minute}:00Z", "--once")
    assert "replicas: 99" in (out / "eu-1" / "web-eu-1" / "configmap-web.yaml").read_text()
    assert not (out / "eu-2" / "web-eu-2" / "configmap-web.yaml").exists()
    events = fleet("history", "eu-1", "-o", "json").json["items"]
    assert [each["event"] for each in events].count("Drifted") == 1
    state = ("--state", "sqlite:.fleetform/fleet.db")
    (item,) = fleet("why", "eu-1", *state, "-o", "json").json["items"]
    assert item["summary"].endswith("; drifted: configmap-web.yaml not as delivered")
    listed = fleet("get", "plugins", *state, "-o", "json").json["items"]
    conditions = {each["spec"]["clusterName"]: [c["type"] for c in each["status"]["conditions"]] for each in listed}
    assert conditions == {"eu-1": ["Resolved", "Drifted"], "eu-2": ["Resolved", "Drifted"], "us-1": ["Resolved"]}
    (out / "eu-1" / "web-eu-1" / "configmap-web.yaml").write_text(
        (out / "us-1" / "web-us-1" / "configmap-web.yaml").read_text()
    )
    fleet("serve", "-q", "--at", "2026-11-02T12:50:00Z", "--once")
    assert fleet("history", "eu-1", "-o", "json").json["items"][0]["event"] == "DriftEnded"


def test_the_log_as_json_is_a_document_a_line_with_the_change(fleet: Runner) -> None:
    found = fleet("serve", "--once", "--at", "2026-11-01T12:00:00Z", "--log-format", "json")
    lines = [json.loads(line) for line in found.err.splitlines()]
    started = next(each for each in lines if each.get("event") == "Started")
    assert started["time"] == "2026-11-01T12:00:00Z"
    assert (started["level"], started["organization"], started["version"]) == ("info", "acme", "1.0.0")
    assert (started["clusters"], started["names"]) == (1, ["eu-2"])
    assert started["rollout"].startswith("web-")
    healthy = next(each for each in lines if each.get("event") == "Healthy")
    assert healthy["changeId"] == started["changeId"]
    assert started["changeId"].startswith("c1:")


def test_the_log_as_json_tells_what_is_wrong_with_files_in_one_line(fleet: Runner) -> None:
    fleet.write(preset=BASE["preset.yaml"].replace("clusterSelector", "clusterSelektor"))
    found = fleet("serve", "--once", "--log-format", "json")
    [refused] = [each for each in map(json.loads, found.err.splitlines()) if each.get("event") == "Refused"]
    assert (found.code, refused["level"]) == (2, "error")
    assert any("clusterSelektor" in each for each in refused["findings"])


def test_what_cannot_be_delivered_is_said_once(fleet: Runner) -> None:
    (fleet.folder / "out").mkdir()
    (fleet.folder / "out" / "acme").write_text("this is no folder")
    first = fleet("serve", "--once", "--at", "2026-11-01T12:00:00Z")
    assert first.err.count("cannot deliver 1 plugin") == 1


@pytest.mark.rule("R2-27")
def test_metrics_are_served_by_the_loop_on_a_port_of_their_own(fleet: Runner) -> None:
    program = [sys.executable, "-c", "from fleetform.cli.main import main; main()"]
    command = [*program, "serve", "--metrics", "127.0.0.1:0", "--log-format", "json"]
    process = subprocess.Popen(command, cwd=fleet.folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        port = ""
        for line in process.stderr:
            told = json.loads(line)
            if told["message"].startswith("metrics at port "):
                port = told["message"].removeprefix("metrics at port ").partition(",")[0]
            if told.get("event") == "Healthy":
                break
        text = httpx2.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=30).text
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert 'fleetform_plugins{organization="acme",preset="web"} 3.0' in text
    assert "fleetform_pass_duration_seconds_bucket" in text
