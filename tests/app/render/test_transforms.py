"""Transforms and patches of presets and definitions: in render, in hashes, in explain and in checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import Runner

FLEET = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {{name: eu-1, namespace: acme}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {{name: web, namespace: acme}}
spec: {{version: 1.0.0, source: {{manifests: {{path: ./m}}}}{definition}}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {{name: web, namespace: acme}}
spec:
  clusterSelector: {{}}
  plugin: {{pluginDefinition: {{name: web}}}}
{preset}
"""
# Where its spec stands.
DEFINITION_LINE = 9
MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 1, template: {spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}}}
"""
MIRROR = '{plugin: registry-mirror, options: {map: "registry.example.com=mirror.example.com"}}'


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "fleet").mkdir()
    run = Runner(tmp_path / "fleet", capsys, monkeypatch)
    run.write(m__deployment=MANIFEST)
    return run


def given(run: Runner, preset: str = "", definition: str = "") -> None:
    run.write(fleet=FLEET.format(preset=preset, definition=definition))


@pytest.mark.rule("R4-18", "R3-2", "B5")
def test_somebody_elses_manifests_are_adapted_by_transform_and_by_patch(fleet: Runner) -> None:
    given(
        fleet,
        f"  transforms: [{MIRROR}]\n  patches: [{{target: {{kind: Deployment}}, patch: {{spec: {{replicas: 3}}}}}}]",
    )
    (item,) = fleet("render", "web", "-c", "eu-1", "-o", "json").json["items"]
    (made,) = item["objects"]
    assert made["spec"]["replicas"] == 3
    assert made["spec"]["template"]["spec"]["containers"] == [{"name": "web", "image": "mirror.example.com/web:1"}]
    assert [(each["by"], each["path"]) for each in item["transforms"]["kept"]] == [
        ("registry-mirror", "/spec/template/spec/containers/0/image"),
        ("patches[0]", "/spec/replicas"),
    ]


@pytest.mark.rule("R4-18")
def test_patches_of_a_definition_come_before_those_of_its_preset(fleet: Runner) -> None:
    patch = "[{{target: {{kind: Deployment}}, patch: {{spec: {{replicas: {}}}}}}}]"
    given(fleet, f"  patches: {patch.format(9)}", f", patches: {patch.format(5)}")
    assert "replicas: 9" in fleet("render", "web", "-c", "eu-1").out
    assert "replicas: 1" in fleet("render", "web", "-c", "eu-1", "--no-transform").out


@pytest.mark.rule("B3")
def test_transforms_and_patches_are_part_of_the_input_hash(fleet: Runner) -> None:
    hashes = set()
    for preset in (
        "",
        "  patches: [{target: {kind: Deployment}, patch: {spec: {replicas: 3}}}]",
        f"  transforms: [{MIRROR}]",
        "  transforms: [{plugin: registry-mirror, options: {map: a=b}}]",
    ):
        given(fleet, preset)
        hashes.add(fleet("explain", "web", "-c", "eu-1", "-o", "json").json["target"]["inputHash"])
    assert len(hashes) == 4
    assert None not in hashes


@pytest.mark.rule("B30")
def test_the_hash_is_unknown_while_an_executables_bytes_are(fleet: Runner) -> None:
    given(fleet, "  transforms: [{plugin: theirs}]")
    assert fleet("explain", "web", "-c", "eu-1", "-o", "json").json["target"]["inputHash"] is None


@pytest.mark.rule("S43")
def test_a_plugin_of_the_folder_that_is_given_runs_and_no_other(fleet: Runner) -> None:
    given(fleet, "  transforms: [{plugin: scale}]")
    (fleet.folder / "tools").mkdir()
    text = 'NAME = "scale"\ndef run(resource):\n    return [{"op": "replace", "path": "/spec/replicas", "value": 5}]\n'
    (fleet.folder / "tools" / "scale.py").write_text(text, encoding="utf-8")
    refused = fleet("render", "web", "-c", "eu-1")
    assert (refused.code, "there is no transform plugin scale" in refused.err) == (4, True)
    assert "replicas: 5" in fleet("render", "web", "-c", "eu-1", "-p", "tools").out
    explained = fleet("explain", "web", "-c", "eu-1", "-p", "tools", "--manifest", "Deployment/web:/spec/replicas")
    assert "the transform scale sets it after the render: PluginPreset web, fleet.yaml:" in explained.out


def test_a_field_that_a_patch_set_is_traced_to_it(fleet: Runner) -> None:
    given(fleet, "  patches: [{target: {kind: Deployment}, patch: {spec: {replicas: 3}}}]")
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Deployment/web:/spec/replicas", "-o", "json")
    change = result.json["manifest"]["changedBy"]
    assert (change["what"], change["name"], change["object"]["kind"]) == ("patch", "patches[0]", "PluginPreset")


def test_a_patch_whose_target_matches_nothing_warns_with_the_nearest_name(fleet: Runner) -> None:
    given(fleet, "  patches: [{target: {kind: Deployment, name: wbe}, patch: {spec: {replicas: 3}}}]")
    result = fleet("render", "web", "-c", "eu-1", "-o", "json").json
    assert [(each["code"], each["hint"]) for each in result["diagnostics"]] == [
        ("unmatched-patch", "did you mean Deployment/shop/web?")
    ]
    (message,) = [each["message"] for each in result["diagnostics"]]
    assert "kind Deployment" in message
    assert "name wbe" in message
    assert "None" not in message


def test_a_field_that_a_definitions_transform_set_is_traced_to_the_definition(fleet: Runner) -> None:
    given(fleet, definition=f", transforms: [{MIRROR}]")
    image = "Deployment/web:/spec/template/spec/containers/0/image"
    change = fleet("explain", "web", "-c", "eu-1", "--manifest", image, "-o", "json").json["manifest"]["changedBy"]
    assert (change["what"], change["name"]) == ("transform", "registry-mirror")
    assert (change["object"]["kind"], change["object"]["place"]["line"]) == ("PluginDefinition", DEFINITION_LINE)


def test_a_patch_of_a_definition_that_matches_nothing_is_told_where_it_is_written(fleet: Runner) -> None:
    given(fleet, definition=", patches: [{target: {kind: Service, name: web}, patch: {spec: {type: NodePort}}}]")
    (found,) = fleet("render", "web", "-c", "eu-1", "-o", "json").json["diagnostics"]
    assert found["message"].startswith("the patch of kind Service name web changes nothing")
    assert (found["object"], found["place"]["line"]) == ("PluginDefinition/acme/web", DEFINITION_LINE)


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ("[{target: {kind: Deployment}, patch: [{op: jump, path: /a}]}]", "the patch cannot be read"),
        ("[{target: {}, patch: {a: 1}}]", "the patch names no target"),
    ],
)
def test_a_patch_that_cannot_be_meant_so_is_refused(fleet: Runner, patches: str, message: str) -> None:
    given(fleet, f"  patches: {patches}")
    found = fleet("validate", "-o", "json").json["diagnostics"]
    assert [(each["code"], each["severity"]) for each in found] == [("bad-patch", "error")]
    assert message in found[0]["message"]


@pytest.mark.rule("B19")
@pytest.mark.parametrize(
    ("preset", "definition"),
    [
        (f"  transforms: [{MIRROR}]", ""),
        ("  patches: [{target: {kind: Deployment}, patch: {spec: {}}}]", ""),
        ("", f", transforms: [{MIRROR}]"),
    ],
)
def test_transforms_and_patches_are_refused_for_plugins_that_flux_renders(
    fleet: Runner, preset: str, definition: str
) -> None:
    given(fleet, f"  delivery: {{flux: {{mode: Hub}}}}\n{preset}", definition)
    found = fleet("validate", "-o", "json").json["diagnostics"]
    assert [each["code"] for each in found if each["severity"] == "error"] == ["flux-renders"]
