"""fleetform serve, delivering into a branch: drift there is found, told, and brought back or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Runner
from support.fleets import BASE
from support.repositories import Repository

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {replicas: '${replicas}'}\n"
FILE = "eu-1/web-eu-1/configmap-web.yaml"
GONE = "eu-2/web-eu-2/configmap-web.yaml"


class Drifted:
    """A fleet delivered into a repository, in whose branch somebody edited one file and deleted another."""

    def __init__(self, run: Runner, folder: Path, mode: str) -> None:
        self.run, self.live = run, Repository(folder / "live.git", bare=True)
        self.live.commit({"README": "of the team"})
        delivery = f"delivery: {{git: {{url: '{self.live.url}', drift: {mode}}}}}"
        run.write(preset=BASE["preset.yaml"].replace("spec:\n", f"spec:\n  {delivery}\n", 1))
        (run.folder / "manifests").mkdir()
        (run.folder / "manifests" / "web.yaml").write_text(CONFIG_MAP)
        assert run("serve", "-q", "--once", "--at", "2026-11-01T12:00:00Z").code == 0
        tip = self.live.git("rev-parse", "main")
        self.live.commit({FILE: self.text(FILE).replace("2", "99"), GONE: None}, onto=tip)

    def text(self, file: str) -> str:
        return self.live.git("show", f"main:{file}")

    def conditions(self) -> dict[str, list[str]]:
        listed = self.run("get", "plugins", "--state", "sqlite:.fleetform/fleet.db", "-o", "json").json["items"]
        return {each["spec"]["clusterName"]: [c["type"] for c in each["status"]["conditions"]] for each in listed}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def test_what_somebody_pushed_over_is_found_told_and_brought_back(
    run: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    drifted = Drifted(run, tmp_path_factory.mktemp("live"), "Correct")
    result = run("serve", "--once", "--at", "2026-11-01T13:00:00Z")
    assert "Drifted    web 1.0.0 on eu-1  configmap-web.yaml was changed" in result.err
    assert "Drifted    web 1.0.0 on eu-2  configmap-web.yaml is missing" in result.err
    assert "replicas: 2" in drifted.text(FILE)
    assert "replicas: 2" in drifted.text(GONE)
    assert drifted.text("README") == "of the team"
    assert [each["event"] for each in run("history", "eu-1", "-o", "json").json["items"][:2]] == [
        "DriftEnded",
        "Drifted",
    ]
    tip = drifted.live.git("rev-parse", "main")
    assert "rift" not in run("serve", "--once", "--at", "2026-11-01T14:00:00Z").err
    assert drifted.live.git("rev-parse", "main") == tip


def test_what_is_only_to_be_reported_stays_in_the_branch_and_is_shown(
    run: Runner, tmp_path_factory: pytest.TempPathFactory
) -> None:
    drifted = Drifted(run, tmp_path_factory.mktemp("live"), "Report")
    tip = drifted.live.git("rev-parse", "main")
    for hour in (13, 14):
        run("serve", "-q", "--once", "--at", f"2026-11-01T{hour}:00:00Z")
    assert drifted.live.git("rev-parse", "main") == tip
    events = [each["event"] for each in run("history", "eu-1", "-o", "json").json["items"]]
    assert events.count("Drifted") == 1
    assert drifted.conditions() == {
        "eu-1": ["Resolved", "Drifted"],
        "eu-2": ["Resolved", "Drifted"],
        "us-1": ["Resolved"],
    }
