"""Secrets in what is rendered: placeholders for people and for the cache, references for Flux, nothing for folders."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from app.render.conftest import change
from support.command import Result, Runner

CANARY = "canary-7f3a9c"
FORMS = (CANARY, b64encode(CANARY.encode()).decode().rstrip("="), b64encode(f"u:{CANARY}".encode()).decode()[4:-4])


@pytest.fixture
def secretive(fleet: Runner) -> Runner:
    """The fleet with a secret that goes through two bindings into two values of the chart."""
    change(
        fleet,
        "web.yaml",
        "  controlPlaneBindings: []\n",
        """\
  controlPlaneBindings:
  - {name: PASSWORD, objectFieldRef: {kind: Secret, name: db, fieldPath: /data/password}}
  - {name: LOGIN, value: "u:$(PASSWORD)"}
""",
    )
    change(
        fleet,
        "web.yaml",
        "    - {name: host,",
        '    - {name: auth.token, value: $(LOGIN)}\n    - {name: extra, value: "x-$(LOGIN)"}\n    - {name: host,',
    )
    return fleet


def hold_no_canary(result: Result, *folders: Path) -> None:
    texts = [result.out, result.err]
    for folder in folders:
        texts += [each.read_text(encoding="utf-8", errors="replace") for each in folder.rglob("*") if each.is_file()]
    for text in texts:
        assert not [form for form in FORMS if form in text]


@pytest.mark.rule("S5", "R3-18", "B18")
@pytest.mark.parametrize(
    "question",
    [
        ("render", "web"),
        ("render", "web", "-o", "json"),
        ("render", "web", "-o", "yaml"),
        ("render", "web", "--output-dir", "../out"),
        ("explain", "web", "-c", "eu-1", "--bindings"),
        ("explain", "web", "-c", "eu-1", "-o", "json"),
        ("explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/spec/template/spec/containers/0/args/2"),
        ("explain", "web", "-c", "eu-1", "--manifest", "Secret/token:/data/token", "-o", "json"),
        ("get", "plugins", "-o", "json"),
        ("validate", "--render", "-v"),
    ],
)
def test_a_secret_through_two_bindings_appears_nowhere(
    secretive: Runner, tmp_path: Path, question: tuple[str, ...]
) -> None:
    result = secretive(*question)
    assert result.out or result.err
    hold_no_canary(result, tmp_path / "cache", tmp_path / "out")


@pytest.mark.rule("S5")
def test_a_failing_chart_does_not_print_the_secret_it_fails_on(secretive: Runner, tmp_path: Path) -> None:
    change(
        secretive,
        "charts/web/templates/all.yaml",
        '{{ fail "the mode',
        '{{ fail .Values.auth.token }}{{ fail "the mode',
    )
    change(secretive, "web.yaml", "default: plain", "default: broken")
    result = secretive("render", "web")
    assert result.code == 3
    assert "<secret>" in result.err
    hold_no_canary(result, tmp_path / "cache")


@pytest.mark.rule("S5")
def test_a_placeholder_tells_where_a_secret_comes_from(fleet: Runner) -> None:
    change(
        fleet,
        "web.yaml",
        "    - {name: host,",
        "    - {name: extra, valueFrom: {secret: {name: db, key: password}}}\n    - {name: host,",
    )
    result = fleet("render", "web", "-c", "eu-1")
    assert "- <secret db/password>\n" in result.out


@pytest.mark.rule("S40")
def test_a_folder_gets_no_plugin_with_secrets(secretive: Runner, tmp_path: Path) -> None:
    result = secretive("render", "web", "-c", "eu-1", "--output-dir", "../out")
    assert result.code == 3
    assert "[plain-secret] auth.token, extra would be written there in plain text" in result.err
    assert not (tmp_path / "out").exists()
    item = secretive("render", "web", "-c", "eu-1", "--output-dir", "../out", "-o", "json").json["items"][0]
    assert [each["gate"] for each in item["blocked"]] == ["plain-secret"]


@pytest.mark.rule("B18", "S40")
def test_flux_gets_secrets_by_reference_and_no_plain_ones(secretive: Runner) -> None:
    change(
        secretive,
        "web.yaml",
        "repository: ./charts, chart: web",
        "repository: https://charts.example.com, chart: web, version: 1.0.0",
    )
    change(
        secretive,
        "web.yaml",
        "  controlPlaneBindings:\n",
        "  delivery: {flux: {mode: Pull}}\n  controlPlaneBindings:\n",
    )
    refused = secretive("render", "web", "-c", "eu-1")
    assert refused.code == 3
    assert "[plain-secret]" in refused.err
    hold_no_canary(refused)
    change(secretive, "web.yaml", "value: $(LOGIN)", "value: $(PASSWORD)")
    change(secretive, "web.yaml", '    - {name: extra, value: "x-$(LOGIN)"}\n', "")
    result = secretive("render", "web", "-c", "eu-1", "-o", "json")
    release = result.json["items"][0]["objects"][1]
    assert release["spec"]["valuesFrom"] == [
        {"kind": "Secret", "name": "db", "valuesKey": "password", "targetPath": "auth.token", "literal": True}
    ]
    hold_no_canary(result)
    written = secretive("render", "web", "-c", "eu-1", "--output-dir", "../out")
    assert written.code == 0
