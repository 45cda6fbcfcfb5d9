"""What an API server holds, as `kubectl get fleetform -A -o yaml` prints it: definitions have earlier versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Runner
from support.fleets import CLUSTERS, DEFINITION, PRESET, codes, fleet_of

PINNED = PRESET.replace("pluginDefinition: {name: web}", "pluginDefinition: {name: web, version: 1.0.0}")
NEWEST = DEFINITION.replace("1.0.0", "2.0.0").replace("replicas", "copies")
CHANGES = "  changes: {breaking: false, migrations: [{rename: {from: replicas, to: copies}}]}\n"


@pytest.fixture
def dumped(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(tmp_path, capsys, monkeypatch)


def revision(version: str, name: str = "", labels: str = "") -> str:
    return f"""
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinitionRevision
metadata: {{name: {name or "web-" + version}, namespace: acme, labels: {{{labels}}}}}
spec:
  number: 1
  version: {version}
  contentHash: 'sha256:00'
  options: [{{name: replicas, type: int, default: 1}}]
  source: {{manifests: {{path: ./manifests}}, digest: 'sha256:00'}}
"""


def dump(*revisions: str, definition: str = NEWEST + CHANGES, preset: str = PINNED) -> dict[str, str]:
    return {"fleet": "---".join((CLUSTERS, definition, preset, *revisions))}


@pytest.mark.rule("S28")
def test_a_plugin_on_an_earlier_version_is_explained_from_a_dump(dumped: Runner) -> None:
    dumped.write(**dump(revision("1.0.0"), revision("2.0.0")))
    explained = dumped("explain", "web", "-c", "eu-1", "replicas", "-n", "acme", "-f", "fleet.yaml")
    assert (explained.code, explained.err) == (0, "")
    assert "replicas" in explained.out
    found = dumped("validate", "-n", "acme", "-f", "fleet.yaml")
    assert "missing-version" not in found.out
    assert "duplicate" not in found.out


def test_a_version_that_the_definition_has_counts_once_and_as_somebody_wrote_it() -> None:
    fleet = fleet_of(dump(revision("2.0.0"), revision("1.0.0"), revision("1.0.0")))
    versions = fleet.decisions.revisions["acme", "web"]
    assert sorted(versions) == ["1.0.0", "2.0.0"]
    assert versions["2.0.0"].object.spec.changes is not None
    # A revision that is given twice is told of itself, and not of what is made of it.
    twice = [each for each in fleet.findings.all if each.code == "duplicate-object"]
    assert [each.object.kind for each in twice if each.object] == ["PluginDefinitionRevision"]


def test_versions_of_a_definition_that_is_gone_are_offered_to_nobody() -> None:
    fleet = fleet_of("---".join((CLUSTERS, PRESET, revision("1.0.0"))))
    assert fleet.decisions.revisions == {}
    assert "missing-definition" in codes(fleet)


def test_a_version_that_is_no_part_of_a_name_is_known_by_its_label() -> None:
    named = revision("1.0.0-RC.1", "web-1-0-0-rc-1-0a1b2c3d", "fleetform.dev/definition: web")
    assert set(fleet_of(dump(named)).decisions.revisions["acme", "web"]) == {"2.0.0", "1.0.0-RC.1"}


def test_a_major_version_of_which_only_options_are_known_is_not_blamed_for_what_it_does_not_say() -> None:
    newest = NEWEST.replace("2.0.0", "2.1.0") + CHANGES
    assert "unsaid-breaking" not in codes(fleet_of(dump(revision("1.0.0"), revision("2.0.0"), definition=newest)))


def test_an_option_of_a_plugin_without_a_version_is_answered_with_what_is_missing(dumped: Runner) -> None:
    asked = ("explain", "web", "-c", "eu-1", "replicas", "-n", "acme", "-f", "fleet.yaml")
    dumped.write(**dump())
    assert "web has no version 1.0.0; there is 2.0.0" in dumped(*asked).err
    bare = DEFINITION.partition("  options:")[0]
    dumped.write(**dump(definition=bare))
    assert "it has no options" in dumped(*asked).err
