"""Charts, rendered by helm itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleetform.outside.processes import Limits
from support.kit import ABOUT, CONFIG, TEMPLATE, Place, chart_files, input_of


def test_a_chart_becomes_objects(place: Place) -> None:
    assert place.objects(input_of("helm", place.chart(), values={"replicas": 3})) == [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": "apps"},
            "data": {"replicas": "3"},
        }
    ]


def pod(name: str, hook: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{helm.sh/hook: {hook}}}}}\n"


def test_crds_and_hooks_are_kept_and_tests_and_notes_are_not(place: Place) -> None:
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ones.x}\n"
    files = chart_files(
        CONFIG,
        crds__one_yaml=crd,
        templates__hook_yaml=pod("hook", "pre-install"),
        templates__test_yaml=pod("test", "test"),
        templates__gone_yaml=pod("gone", "test-success"),
        templates__NOTES_txt="kind: Thanks\n",
    )
    found = place.objects(input_of("helm", place.chart(files)))
    assert [each["metadata"]["name"] for each in found] == ["ones.x", "web", "hook"]


VALUES: dict[str, Any] = {
    "text": "a: b #c 'd' \"e\"\n\tf\\",
    "unicode": "ä 😀 \u2028 \u2029 \x85 \x7f \ufeff",
    "like a number": "0o17",
    "date": "2026-01-01",
    "none": None,
    "yes": True,
    "number": 12345678,
    "float": 1.5,
    "large": 1e30,
    "list": [1, "1", {"a": []}],
    "<<": "x",
}


def test_values_arrive_as_they_are(place: Place) -> None:
    template = CONFIG + "data: {values: {{ .Values.given | toJson | quote }}}\n"
    (found,) = place.objects(input_of("helm", place.chart(chart_files(template)), values={"given": VALUES}))
    assert json.loads(found["data"]["values"]) == VALUES


def test_values_of_the_chart_stay_where_nothing_is_given(place: Place) -> None:
    assert place.objects(input_of("helm", place.chart()))[0]["data"] == {"replicas": "1"}


def test_no_variable_is_filled_in(place: Place) -> None:
    chart = place.chart(chart_files(CONFIG + "data: {a: '${replicas}'}\n"))
    assert place.objects(input_of("helm", chart, variables={"replicas": 3}))[0]["data"] == {"a": "${replicas}"}


FAILURES = {
    "fail": ('{{ fail "no good" }}', "execution error at (web/templates/all.yaml:1:3): no good"),
    "required": ('a: {{ required "set it" .Values.x }}', "execution error at (web/templates/all.yaml:1:6): set it"),
    "nil": ("a: {{ .Values.x.y.z }}", "nil pointer evaluating interface {}.y"),
    "unclosed": ("a: {{ .Values.x", "unclosed action"),
    "function": ("a: {{ nofunc }}", 'function "nofunc" not defined'),
    "yaml": ("a: [", "YAML parse error on web/templates/all.yaml"),
    "no kind": (
        "# one\na: b",
        "web/templates/all.yaml, line 2 of what it renders: this is not an object: it has no apiVersion",
    ),
    "twice": (CONFIG + "data: {a: b, a: c}", "web/templates/all.yaml, line 4 of what it renders: duplicate key a"),
    "no name": ("apiVersion: v1\nkind: Pod", "this Pod has no metadata.name"),
}


@pytest.mark.parametrize(("template", "message"), FAILURES.values(), ids=FAILURES)
def test_a_template_that_fails_says_what_helm_says(place: Place, template: str, message: str) -> None:
    failure = place.failure(input_of("helm", place.chart(chart_files(template))))
    assert message in failure.message
    assert "Error:" not in failure.message
    assert "--debug" not in failure.message
    assert not failure.unavailable


def test_the_tool_and_its_version_are_named(place: Place) -> None:
    failure = place.failure(input_of("helm", place.chart(chart_files('{{ fail "no" }}'))))
    assert failure.message.startswith("helm v")


def test_messages_end_somewhere(place: Place) -> None:
    failure = place.failure(input_of("helm", place.chart(chart_files('{{ fail (repeat 9000 "x") }}'))))
    assert (len(failure.message) < 1100, failure.message[-1]) == (True, "…")


def test_a_schema_is_held(place: Place) -> None:
    files = chart_files(values_schema_json='{"properties": {"replicas": {"type": "integer"}}}')
    failure = place.failure(input_of("helm", place.chart(files), values={"replicas": "many"}))
    assert all(word in failure.message for word in ("replicas", "string", "integer"))
    assert "values.schema.json" in failure.hint


def test_a_chart_whose_dependencies_are_not_there(place: Place) -> None:
    about = ABOUT + "dependencies: [{name: common, version: 1.0.0, repository: 'https://charts.example.org'}]\n"
    failure = place.failure(input_of("helm", place.chart(chart_files() | {"Chart.yaml": about})))
    assert "missing in charts/ directory: common" in failure.message
    assert "helm dependency build" in failure.hint


def test_a_folder_without_a_chart(place: Place) -> None:
    failure = place.failure(input_of("helm", place.chart({"values.yaml": "a: 1\n"})))
    assert failure.message == f"there is no Chart.yaml in the folder charts/web beside {place.folder}/definition.yaml"


def test_a_chart_that_helm_cannot_read(place: Place) -> None:
    failure = place.failure(input_of("helm", place.chart(chart_files() | {"Chart.yaml": "name: [\n"})))
    assert failure.message.startswith("helm v")
    assert "fleetform-" not in failure.message


@pytest.mark.parametrize("name", ["Web", "-x", "x" * 60, "--post-renderer=/bin/sh"])
def test_a_release_name_that_helm_refuses(place: Place, name: str) -> None:
    failure = place.failure(input_of("helm", place.chart(), release_name=name))
    assert "release name" in failure.message
    assert failure.hint == "give the release another name"


def test_two_of_one_object_are_refused(place: Place) -> None:
    template = CONFIG + "---\n" + CONFIG.replace("{name: web}", "{name: web, namespace: apps}")
    failure = place.failure(input_of("helm", place.chart(chart_files(template))))
    assert failure.message == "ConfigMap apps/web (v1) is rendered twice"
    other = CONFIG + "---\n" + CONFIG.replace("{name: web}", "{name: web, namespace: other}")
    assert len(place.objects(input_of("helm", place.chart(chart_files(other))))) == 2


def test_lists_are_unfolded(place: Place) -> None:
    template = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
    found = place.objects(input_of("helm", place.chart(chart_files(template))))
    assert [each["kind"] for each in found] == ["Pod"]


@pytest.mark.rule("B20")
def test_a_chart_that_takes_all_memory_fails(place: Place) -> None:
    chart = place.chart(chart_files('{{- $x := repeat 200000000 "xxxxxxxxxx" }}\n' + CONFIG + "data: {a: {{ $x }}}\n"))
    failure = place.failure(input_of("helm", chart), limits=Limits(memory=500_000_000))
    assert failure.message == "helm ran out of memory (500 MB)"


@pytest.mark.rule("B20")
def test_a_chart_that_prints_too_much_fails(place: Place) -> None:
    chart = place.chart(chart_files(CONFIG + 'data: {a: {{ repeat 2000000 "x" }}}\n'))
    assert (
        place.failure(input_of("helm", chart), limits=Limits(output=1_000_000)).message == "helm printed more than 1 MB"
    )


@pytest.mark.rule("B20")
def test_a_helm_that_takes_too_long_is_ended(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "helm"
    program.write_text('#!/bin/sh\nif [ "$1" = version ]; then echo v4.0.0; else sleep 300; fi\n')
    program.chmod(0o755)
    monkeypatch.setenv("FLEETFORM_HELM", str(program))
    failure = place.failure(input_of("helm", place.chart()), limits=Limits(seconds=1))
    assert failure.message == "helm took longer than 1 s"


def test_nothing_of_the_machine_is_seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")
    monkeypatch.setenv("HELM_NAMESPACE", "elsewhere")
    monkeypatch.setenv("HELM_KUBETOKEN", "secret")
    template = TEMPLATE + '# {{ lookup "v1" "Pod" "" "" }}{{ getHostByName "localhost" }}.\n'
    (found,) = place.objects(input_of("helm", place.chart(chart_files(template))))
    assert found["metadata"]["namespace"] == "apps"


def test_what_helmignore_says_counts(place: Place) -> None:
    files = chart_files(templates__old_bak='{{ fail "old" }}')
    assert "old" in place.failure(input_of("helm", place.chart(files))).message
    assert place.objects(input_of("helm", place.chart({**files, ".helmignore": "*.bak\n"})))
