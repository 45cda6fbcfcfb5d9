"""fleetform render"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.render.conftest import FLEET, change
from fleetform.syntax.yaml_in import read_one
from support.command import Runner
from support.kit import write_files


def test_a_plugin_is_printed_as_manifests(fleet: Runner) -> None:
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 0
    assert result.out.startswith("# web 1.0.0 on eu-1: web-eu-1\n---\n")
    assert "replicas: 2\n" in result.out
    assert "- web.eu.example.com\n" in result.out
    assert result.err == ""


def test_the_answer_as_data_has_every_plugin_with_its_objects(fleet: Runner) -> None:
    answer = fleet("render", "-A", "-o", "json").json
    assert answer["kind"] == "Render"
    assert [(each["cluster"], each["plugin"], each["version"]) for each in answer["items"]] == [
        ("eu-1", "web-eu-1", "1.0.0"),
        ("us-1", "web-us-1", "1.0.0"),
    ]
    for item in answer["items"]:
        assert [each["kind"] for each in item["objects"]] == ["Secret", "Deployment"]
        assert item["transforms"] == {"kept": [], "ignored": [], "whiteouts": []}
        assert item["blocked"] == []
    assert answer["items"][0]["renderKey"] != answer["items"][1]["renderKey"]


def test_a_selector_and_a_cluster_choose_plugins(fleet: Runner) -> None:
    assert fleet("render", "-l", "zone=us", "-o", "name").out == (
        "us-1/web-us-1 Secret/token\nus-1/web-us-1 Deployment/web/web\n"
    )
    assert fleet("render", "web", "-o", "name").out.count("Deployment/web/web") == 2


def test_a_question_about_everything_must_be_meant(fleet: Runner) -> None:
    result = fleet("render")
    assert result.code == 2
    assert "Name a plugin, or give -c CLUSTER, -l LABELS or -A." in result.err


def test_a_typo_suggests_the_nearest(fleet: Runner) -> None:
    result = fleet("render", "wbe", "-c", "eu-1")
    assert result.code == 1
    assert "did you mean web" in result.err


def test_files_are_written_one_for_each_object(fleet: Runner) -> None:
    result = fleet("render", "web", "--output-dir", "out")
    assert result.code == 0
    assert result.out.splitlines() == [
        "out/eu-1/web-eu-1/secret-token.yaml",
        "out/eu-1/web-eu-1/deployment-web.yaml",
        "out/us-1/web-us-1/secret-token.yaml",
        "out/us-1/web-us-1/deployment-web.yaml",
    ]
    written = (fleet.folder / "out/us-1/web-us-1/deployment-web.yaml").read_text(encoding="utf-8")
    assert read_one(written)["spec"]["template"]["spec"]["containers"][0]["args"][1] == "web.us.example.com"


def test_files_that_exist_are_replaced_only_on_request(fleet: Runner) -> None:
    fleet("render", "web", "--output-dir", "../out")
    again = fleet("render", "web", "--output-dir", "../out")
    assert again.code == 2
    assert "Give --yes to replace" in again.err
    assert fleet("render", "web", "--output-dir", "../out", "--yes").code == 0


def test_a_dry_run_writes_nothing(fleet: Runner) -> None:
    result = fleet("render", "web", "--output-dir", "../out", "--dry-run")
    assert result.code == 0
    assert "4 files would be written" in result.err
    assert not (fleet.folder / "../out").exists()


def test_a_chart_that_fails_fails_its_plugin_only_and_tells_who_gave_the_values(fleet: Runner) -> None:
    fleet.write(
        override="""\
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginOverride
        metadata: {name: breaking, namespace: acme}
        spec:
          clusterSelector: {clusterNames: [eu-1]}
          overrides: [{path: mode, value: broken}]
        """
    )
    result = fleet("render", "web")
    assert result.code == 3
    assert "us.example.com" in result.out
    assert "eu.example.com" not in result.out
    assert "[render-failed]" in result.err
    assert "the mode broken is not supported" in result.err
    assert "mode  =  broken              override breaking  override.yaml:6" in result.err
    assert "1 of 2 plugins rendered, 1 not" in result.err


def test_without_helm_it_says_what_is_missing_and_what_to_do(
    fleet: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 4
    assert "helm is not on the PATH" in result.err
    assert "install Helm 3 or 4, or set FLEETFORM_HELM to it" in result.err


@pytest.mark.rule("S37", "R3-26")
def test_a_name_that_stands_for_nothing_blocks_its_plugin_only(fleet: Runner) -> None:
    change(fleet, "clusters.yaml", "spec: {facts: {host: us.example.com}}", "spec: {facts: {hots: us.example.com}}")
    result = fleet("render", "web")
    assert result.code == 3
    assert "web.eu.example.com" in result.out
    assert "the cluster has no fact host" in result.err
    assert "/hots" in result.err
    item = fleet("render", "web", "-c", "us-1", "-o", "json").json["items"][0]
    assert item["objects"] == []
    assert [each["gate"] for each in item["blocked"]] == ["config-missing"]


def test_what_is_invalid_is_not_rendered(fleet: Runner) -> None:
    change(fleet, "web.yaml", "name: host, value:", "name: hots, value:")
    result = fleet("render", "web")
    assert result.code == 2
    assert "web has no option hots" in result.err


@pytest.mark.rule("B28")
def test_a_chart_that_changes_by_itself_is_told(fleet: Runner) -> None:
    change(fleet, "charts/web/templates/all.yaml", "fixed: as-written", "fixed: {{ randAlphaNum 8 }}")
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 0
    assert "warning: web 1.0.0 renders differently every time" in result.err
    answer = fleet("render", "web", "-c", "us-1", "-o", "json").json
    assert [each["code"] for each in answer["diagnostics"]] == ["nondeterministic-chart"]


@pytest.mark.rule("B28")
def test_a_chart_that_changes_by_itself_is_told_once_beside_one_that_does_not(fleet: Runner) -> None:
    zoo = FLEET["web.yaml"].replace("name: web", "name: zoo").replace("chart: web", "chart: zoo")
    chart = FLEET["charts/web/templates/all.yaml"].replace("fixed: as-written", "fixed: {{ randAlphaNum 8 }}")
    files = {"zoo.yaml": zoo, "charts/zoo/Chart.yaml": "apiVersion: v2\nname: zoo\nversion: 1.0.0\n"}
    write_files(fleet.folder, {**files, "charts/zoo/templates/all.yaml": chart})
    answer = fleet("render", "-A", "-o", "json").json
    assert len(answer["items"]) == 4
    assert [each["code"] for each in answer["diagnostics"]] == ["nondeterministic-chart"]
    assert answer["diagnostics"][0]["message"] == "zoo 1.0.0 renders differently every time"


# ---- validate and diff


def test_validate_can_render_everything(fleet: Runner) -> None:
    assert fleet("validate", "--render").code == 0
    change(
        fleet, "web.yaml", "{name: mode, type: string, default: plain}", "{name: mode, type: string, default: broken}"
    )
    result = fleet("validate", "--render")
    assert result.code == 1
    assert result.out.count("error[render-failed]: web 1.0.0 on eu-1 and 1 more: ") == 1
    assert "the mode broken is not supported" in result.out
    assert fleet("validate").code == 0


@pytest.mark.rule("R2-7")
def test_diff_shows_what_becomes_of_the_objects(fleet: Runner, tmp_path: Path) -> None:
    shutil.copytree(fleet.folder, tmp_path / "after")
    after = tmp_path / "after" / "web.yaml"
    text = after.read_text(encoding="utf-8").replace("version: 1.0.0", "version: 1.1.0")
    after.write_text(text.replace("default: 2", "default: 7"), encoding="utf-8")
    result = fleet("diff", ".", "../after", "-c", "eu-1", "--render")
    assert result.code == 0
    assert "      Deployment/web/web\n        @@ " in result.out
    assert "        -    size: small\n        +    size: large\n" in result.out
    assert "        -  replicas: 2\n        +  replicas: 7\n" in result.out
    view = fleet("diff", ".", "../after", "-c", "eu-1", "--render", "-o", "json").json
    (manifest,) = view["changes"][0]["manifests"]
    assert manifest.pop("unified").startswith("--- a/Deployment/web/web\n+++ b/Deployment/web/web\n@@ ")
    assert [manifest] == [
        {
            "object": "Deployment/web/web",
            "patch": [
                {"op": "replace", "path": "/metadata/annotations/size", "value": "large", "was": "small"},
                {"op": "replace", "path": "/spec/replicas", "value": 7, "was": 2},
            ],
        }
    ]
    assert fleet("diff", ".", "../after", "-o", "json").json["changes"][0]["manifests"] == []


@pytest.mark.rule("R2-7")
def test_objects_that_come_and_go_are_told(fleet: Runner, tmp_path: Path) -> None:
    shutil.copytree(fleet.folder, tmp_path / "after")
    after = tmp_path / "after" / "web.yaml"
    after.write_text(after.read_text(encoding="utf-8").replace("charts, chart: web", "charts, chart: other"))
    shutil.copytree(fleet.folder / "charts/web", tmp_path / "after/charts/other")
    template = tmp_path / "after/charts/other/templates/all.yaml"
    template.write_text(
        template.read_text(encoding="utf-8").replace("metadata: {name: token}", "metadata: {name: key}")
    )
    (tmp_path / "after/charts/other/Chart.yaml").write_text("apiVersion: v2\nname: other\nversion: 1.0.0\n")
    result = fleet("diff", ".", "../after", "-c", "eu-1", "--render")
    assert "Secret/token is gone" in result.out
    assert "Secret/key is new" in result.out


@pytest.mark.rule("R2-7")
def test_what_waits_for_consent_can_be_looked_at_before(fleet: Runner, tmp_path: Path) -> None:
    shutil.copytree(fleet.folder, tmp_path / "after")
    after = tmp_path / "after" / "web.yaml"
    text = after.read_text(encoding="utf-8").replace("version: 1.0.0", "version: 2.0.0\n  changes: {breaking: true}")
    after.write_text(text.replace("default: 2", "default: 7"), encoding="utf-8")
    view = fleet("diff", ".", "../after", "-c", "eu-1", "--render", "-o", "json").json
    assert [each["gate"] for each in view["changes"][0]["blocked"]] == ["breaking"]
    assert view["changes"][0]["manifests"][0]["object"] == "Deployment/web/web"
