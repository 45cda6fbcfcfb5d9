"""Tools are found on the path or where the environment says, and are told by their version."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fleetform.renderers.failures import error_of_tool
from support.kit import CONFIG, Place, chart_files, input_of

KUSTOMIZATION = {"kustomization.yaml": "resources: [config.yaml]\n", "config.yaml": CONFIG}


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_no_helm(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = place.chart()
    monkeypatch.setenv("PATH", str(tmp_path))
    failure = place.failure(input_of("helm", chart))
    assert failure.message == "helm is not on the PATH"
    assert failure.hint == "install Helm 3 or 4, or set FLEETFORM_HELM to it"
    assert failure.unavailable


def test_no_kustomize(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = place.kustomization(KUSTOMIZATION)
    monkeypatch.setenv("PATH", str(tmp_path))
    failure = place.failure(input_of("kustomize", source))
    assert failure.message == "neither kustomize nor kubectl is on the PATH"
    assert failure.unavailable


def test_manifests_need_no_tool(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert place.objects(input_of("manifests", place.manifests({"a.yaml": CONFIG})))


@pytest.mark.parametrize("name", ["FLEETFORM_HELM", "FLEETFORM_KUSTOMIZE"])
def test_the_environment_names_what_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/no/such/tool")
    chosen = input_of("helm", place.chart()) if name == "FLEETFORM_HELM" else None
    failure = place.failure(chosen or input_of("kustomize", place.kustomization(KUSTOMIZATION)))
    assert failure.message == f"{name} is /no/such/tool, which is not a program"
    assert failure.unavailable


def test_the_environment_names_the_tool(place: Place, tools_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETFORM_HELM", str(tools_folder / "helm"))
    monkeypatch.setenv("FLEETFORM_KUSTOMIZE", str(tools_folder / "kubectl"))
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("git") or ""))
    assert place.objects(input_of("helm", place.chart()))
    assert place.objects(input_of("kustomize", place.kustomization(KUSTOMIZATION)))


def test_kustomize_itself_is_called_its_own_way(
    place: Place, tools_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    building = f'build) shift; exec {tools_folder}/kubectl kustomize "$@"'
    script = f'case "$1" in version) echo v5.8.1;; {building};; *) exit 9;; esac'
    program(tmp_path / "bin/kustomize", script)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    assert place.objects(input_of("kustomize", place.kustomization(KUSTOMIZATION)))
    bad = place.kustomization({"kustomization.yaml": "resource: []\n"})
    assert place.failure(input_of("kustomize", bad)).message.startswith("kustomize v5.8.1: ")


ODD = {
    "nothing": ("true", " does not report its version"),
    "no version": ("echo hello", " does not report its version"),
    "an error": ("echo 'Error: no' >&2; exit 1", " does not report its version: no"),
}


@pytest.mark.parametrize(("script", "message"), ODD.values(), ids=ODD)
def test_a_tool_that_tells_no_version(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    odd = program(tmp_path / "odd", script)
    monkeypatch.setenv("FLEETFORM_HELM", str(odd))
    failure = place.failure(input_of("helm", place.chart()))
    assert failure.message == f"{odd}{message}"
    assert failure.unavailable


@pytest.mark.rule("B2")
def test_what_is_known_starts_no_program(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.objects(input_of("helm", place.chart()))
    monkeypatch.setattr("fleetform.outside.processes.Programs.run", None)
    assert place.objects(input_of("helm", place.chart()))


def test_a_tool_is_asked_once_for_many_inputs(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f'if [ "$1" = version ]; then echo asked >> {tmp_path}/asked; echo v4.0.0; else cat > /dev/null; fi'
    monkeypatch.setenv("FLEETFORM_HELM", str(program(tmp_path / "helm", script)))
    charts = [place.chart(chart_files(CONFIG), f"chart-{number}") for number in range(3)]
    answers = place.render(*(input_of("helm", chart) for chart in charts))
    assert len(answers) == 3
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_what_tools_put_before_a_line_of_their_log_is_left_out() -> None:
    said = b"W0612 10:11:12.123456    1234 warnings.go:70] old\nE0612 10:11:12.123456 1234 run.go:7] no such field\n"
    assert error_of_tool(said, "/tmp/x") == "old\nno such field"
