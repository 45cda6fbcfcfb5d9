"""Fleets in a few lines: manifests as text become a Fleet, without a file on disk."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import dedent

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.load.inputs import InputFile
from fleetform.load.locator import FileLocator
from fleetform.load.reader import read_file
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.ports.catalogs import CatalogReader
from fleetform.ports.inputs import Document, Input
from fleetform.ports.state import KnownState

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)

CLUSTERS = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-1, namespace: acme, labels: {region: eu, tier: gold}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: eu-2, namespace: acme, labels: {region: eu, tier: dev}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: us-1, namespace: acme, labels: {region: us, tier: gold}}
"""

DEFINITION = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: acme}
spec:
  version: 1.0.0
  source: {manifests: {path: ./manifests}}
  options:
  - {name: replicas, type: int, default: 1, minimum: 0, maximum: 99}
  - {name: host, type: string}
  - {name: labels, type: map, default: {team: none}}
  - {name: args, type: list, default: [a, b]}
  - {name: token, type: secret}
"""

PRESET = """
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec:
  clusterSelector: {}
  plugin:
    pluginDefinition: {name: web}
    optionValues:
    - {name: replicas, value: 2}
"""

BASE = {"clusters.yaml": CLUSTERS, "definition.yaml": DEFINITION, "preset.yaml": PRESET}


def fleet_of(
    files: dict[str, str] | str,
    strict: bool = False,
    state: KnownState | None = None,
    elsewhere: CatalogReader | None = None,
) -> Fleet:
    """The fleet that some files (name to text) hold."""
    if isinstance(files, str):
        files = {"all.yaml": files}
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    locator = FileLocator()
    for name, text in files.items():
        for found in read_file(InputFile(name, dedent(text).encode()), locator):
            if isinstance(found, Document):
                documents.append(found)
            else:
                diagnostics.append(found)
    return read_fleet(Input(documents, diagnostics, locator, len(files)), NOW, None, state, strict, elsewhere)


def fleet_with(**files: str) -> Fleet:
    """The base fleet (3 clusters, a definition `web`, a preset `web` for all) and more files, or others in place."""
    return fleet_of({**BASE, **{f"{name}.yaml": text for name, text in files.items()}})


def override(name: str, overrides: str, more: str = "", created: str | None = None) -> str:
    """A PluginOverride: overrides and more are flow-style YAML for its spec."""
    stamp = f", annotations: {{fleetform.dev/created: '{created}'}}" if created else ""
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginOverride\n"
        f"metadata: {{name: {name}, namespace: acme{stamp}}}\n"
        f"spec: {{overrides: {overrides}{', ' + more if more else ''}}}\n"
    )


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def plugin_on(fleet: Fleet, cluster: str, preset: str = "web") -> PluginDecision:
    return fleet.decisions.plugins["acme", cluster, f"{preset}-{cluster}"]


def value_on(fleet: Fleet, cluster: str, option: str) -> object:
    return plugin_on(fleet, cluster).options[option].value


def codes(fleet: Fleet) -> list[str]:
    """The codes of all findings, in file order."""
    return [each.code for each in fleet.findings.all]
