"""What tests of rendered plugins share: the command line in a fleet of charts, with the real tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Runner
from support.kit import path_with, tools, write_files

FLEET = {
    "clusters.yaml": """\
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme, labels: {zone: eu}}
spec: {facts: {host: eu.example.com}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: us-1, namespace: acme, labels: {zone: us}}
spec: {facts: {host: us.example.com}}
""",
    "secret.yaml": """\
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: acme}
stringData: {password: canary-7f3a9c}
""",
    "web.yaml": """\
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  source: {helm: {repository: ./charts, chart: web}}
  options:
  - {name: replicas, type: int, default: 2}
  - {name: host, type: string}
  - {name: mode, type: string, default: plain}
  - {name: debug, type: bool, default: false}
  - {name: extra, type: string}
  - {name: auth.token, type: secret}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  controlPlaneBindings: []
  plugin:
    pluginDefinition: {name: web}
    optionValues:
    - {name: host, value: "web.$(cluster.facts.host)"}
""",
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/values.yaml": "extra: from-the-chart\n",
    "charts/web/templates/all.yaml": """\
{{- if eq .Values.mode "broken" }}{{ fail "the mode broken is not supported" }}{{ end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  annotations: {fixed: as-written, size: {{ ternary "large" "small" (gt (int .Values.replicas) 5) }}}
spec:
  replicas: {{ .Values.replicas }}
  paused: {{ .Values.debug }}
  template: {spec: {containers: [{name: web, args: [--host, {{ .Values.host | quote }}, {{ .Values.extra }}]}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {token: {{ .Values.auth | default dict | dig "token" "" | b64enc | quote }}}
""",
}


@pytest.fixture(scope="session")
def tools_folder() -> Path:
    return tools()


@pytest.fixture
def fleet(
    tmp_path: Path, tools_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Runner:
    """The command line in a fleet of one chart on two clusters, with a cache of its own beside it."""
    folder = tmp_path / "fleet"
    write_files(folder, FLEET)
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", path_with(tools_folder))
    for name in ("FLEETFORM_HELM", "FLEETFORM_KUSTOMIZE"):
        monkeypatch.delenv(name, raising=False)
    return Runner(folder, capsys, monkeypatch)


def change(fleet: Runner, file: str, old: str, new: str) -> None:
    """Edit a file of the fleet."""
    path = fleet.folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
