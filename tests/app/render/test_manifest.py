"""explain --manifest: from a field of a rendered object back to the options behind it."""

from __future__ import annotations

from typing import Any

import pytest

from app.render.conftest import change
from support.command import Runner


def traced(fleet: Runner, field: str) -> dict[str, Any]:
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", field, "-o", "json")
    assert result.code == 0, result.err
    found: dict[str, Any] = result.json["manifest"]
    return found


@pytest.mark.parametrize(
    ("field", "causes"),
    [
        ("Deployment/web:/spec/replicas", [("replicas", "passed", True)]),
        ("deployment/web/web:/spec/template/spec/containers/0/args/1", [("host", "passed", True)]),
        ("Deployment/web:/spec/paused", [("debug", "decides", True)]),
        ("Deployment/web:/metadata/annotations/size", [("replicas", "decides", True)]),
        ("Deployment/web:/spec/template/spec/containers/0/args/2", [("extra", "passed", False)]),
        # Of several it is those that somebody set, before the chart's own.
        ("Deployment/web:/spec/template/spec/containers/0/args", [("host", "passed", True)]),
        ("Deployment/web:/metadata/annotations/fixed", []),
    ],
)
def test_the_options_behind_a_field_are_found(fleet: Runner, field: str, causes: list[tuple[str, str, bool]]) -> None:
    found = traced(fleet, field)
    assert [(each["path"], each["how"], each["set"]) for each in found["causes"]] == causes


def test_values_that_together_take_another_way_through_a_template_are_looked_at_alone(fleet: Runner) -> None:
    branches = '{{ if eq .Values.mode "plain" }}{{ .Values.host }}{{ else }}{{ .Values.extra }}{{ end }}'
    change(fleet, "charts/web/templates/all.yaml", "fixed: as-written", f"fixed: {branches}")
    change(fleet, "web.yaml", "    - {name: host,", "    - {name: extra, value: other}\n    - {name: host,")
    found = traced(fleet, "Deployment/web:/metadata/annotations/fixed")
    assert [(each["path"], each["how"]) for each in found["causes"]] == [("host", "passed"), ("mode", "decides")]


def test_a_number_in_a_text_is_passed(fleet: Runner) -> None:
    change(fleet, "charts/web/templates/all.yaml", "fixed: as-written", "fixed: {{ .Values.replicas | quote }}")
    found = traced(fleet, "Deployment/web:/metadata/annotations/fixed")
    assert [(each["path"], each["how"]) for each in found["causes"]] == [("replicas", "passed")]


def test_a_name_may_hold_a_colon(fleet: Runner) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: system:web}\nrules: []\n---\n"
    template = fleet.folder / "charts/web/templates/all.yaml"
    template.write_text(f"{template.read_text(encoding='utf-8')}---\n{role}", encoding="utf-8")
    assert traced(fleet, "ClusterRole/system:web:/rules")["value"] == []


def test_a_field_that_the_release_makes_is_told(fleet: Runner) -> None:
    assert traced(fleet, "Deployment/web:/metadata/name")["release"] == ["releaseName"]
    assert traced(fleet, "Deployment/web:/metadata/namespace")["release"] == ["releaseNamespace"]


def test_options_whose_effect_is_unknown_are_named(fleet: Runner) -> None:
    change(
        fleet,
        "charts/web/templates/all.yaml",
        '{{- if eq .Values.mode "broken" }}',
        '{{- if ne .Values.mode "plain" }}',
    )
    assert traced(fleet, "Deployment/web:/metadata/annotations/fixed")["untold"] == ["mode"]
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/metadata/annotations/fixed")
    assert "no option changes it among those that could be tried" in result.out
    assert "unknown for mode" in result.out


def test_the_layer_that_set_it_is_shown(fleet: Runner) -> None:
    result = fleet(
        "explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/spec/template/spec/containers/0/args/1"
    )
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith("Deployment/web:/spec/template/spec/containers/0/args/1 = web.eu.example.com")
    assert lines[1] == "  host is passed there:"
    assert "● web.eu.example.com  preset web" in lines[2]
    assert lines[2].endswith("web.yaml:24")


def test_a_variable_of_a_kustomization_is_traced_to_where_it_is_written(fleet: Runner) -> None:
    (fleet.folder / "base").mkdir()
    (fleet.folder / "base/kustomization.yaml").write_text("resources: [all.yaml]\n")
    (fleet.folder / "base/all.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\ndata: {zone: '${ZONE}', mode: '${mode}'}\n"
    )
    change(fleet, "web.yaml", "helm: {repository: ./charts, chart: web}", "kustomize: {path: ./base}")
    change(fleet, "web.yaml", "  controlPlaneBindings: []\n", "  substitute: {ZONE: eu}\n  controlPlaneBindings: []\n")
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "ConfigMap/it:/data/zone")
    assert "the variable ZONE is passed there: PluginPreset web, web.yaml:20" in result.out
    assert [each["path"] for each in traced(fleet, "ConfigMap/it:/data/mode")["causes"]] == ["mode"]


def test_an_object_or_field_that_is_not_there_is_answered_with_those_that_are(fleet: Runner) -> None:
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Deployment/wbe:/spec")
    assert result.code == 1
    assert "did you mean Deployment/web?" in result.err
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/spec/replica")
    assert result.code == 1
    assert "it has /spec/paused, /spec/replicas, /spec/template" in result.err


@pytest.mark.parametrize("field", ["Deployment", "Deployment/web", "Deployment/web:spec", "a/b/c/d:/x", "/web:/x"])
def test_a_question_that_cannot_be_read_is_refused(fleet: Runner, field: str) -> None:
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", field)
    assert result.code == 2
    assert "write KIND/NAME:/pointer" in result.err


def test_a_plugin_that_does_not_render_has_no_fields(fleet: Runner) -> None:
    change(fleet, "web.yaml", "default: plain", "default: broken")
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/spec/replicas")
    assert result.code == 3
    assert "the mode broken is not supported" in result.err
