"""Two sides of a comparison share what both say: decided once, and still found where each side has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.app.comparing.beside import beside
from fleetform.app.scope import Scope
from fleetform.wiring.fleets import open_fleet
from support.answers import diff
from support.command import Runner
from support.fleets import BASE, CLUSTERS, fleet_of, fleet_with, override

ORGANIZATION = """
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme, namespace: acme}
spec: {defaultDelivery: {directory: {path: %s}}}
"""
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {color: %s}\n"


def test_what_both_sides_say_is_decided_once() -> None:
    before = fleet_with(one=override("one", "[{path: replicas, value: 3}]", "clusterSelector: {clusterNames: [eu-1]}"))
    after = fleet_with(one=override("one", "[{path: replicas, value: 4}]", "clusterSelector: {clusterNames: [eu-1]}"))
    shared = beside(after, before)
    same = [ref.name for ref, each in shared.decisions.clusters.items() if each is before.decisions.clusters[ref]]
    assert same == ["eu-2", "us-1"]
    assert beside(shared, before) is shared


def test_a_shared_object_is_found_where_its_own_side_has_it() -> None:
    before = fleet_of(BASE)
    lower = {f"b/{name}": f"# a comment\n\n{text}" for name, text in BASE.items()}
    after = beside(fleet_of(lower), before)
    (preset,) = after.snapshot.presets.values()
    assert preset is next(iter(before.snapshot.presets.values()))
    at = preset.at("spec", "plugin")
    then, now = before.input.locator.place(at), after.input.locator.place(at)
    assert (then.file, now.file) == ("preset.yaml", "b/preset.yaml")
    assert now.line == then.line + 2
    assert after.as_read(preset).origin.file == "b/preset.yaml"


def test_an_object_with_something_to_say_about_it_stays_its_own() -> None:
    odd = (
        "kind: PluginOverride\nname: odd\nspec: {overrides: [{path: replicas, value: 1}]}\nmetadata: {namespace: acme}"
    )
    before, after = fleet_with(odd=odd), fleet_with(odd=odd)
    (mine,) = beside(after, before).snapshot.overrides.values()
    assert mine is next(iter(after.snapshot.overrides.values()))


def test_what_an_organization_says_of_delivery_is_a_change_of_plugins_that_are_decided_as_before() -> None:
    before, after = (fleet_with(organization=ORGANIZATION % path) for path in ("one", "two"))
    changes = diff(before, after, Scope("acme"))["changes"]
    assert [(each["cluster"], each["also"]) for each in changes] == [
        (cluster, ["delivery"]) for cluster in ("eu-1", "eu-2", "us-1")
    ]


def test_a_cluster_that_moves_into_the_scope_is_neither_new_nor_gone() -> None:
    moved = CLUSTERS.replace("{region: eu, tier: dev}", "{region: us, tier: dev}")
    before, after = fleet_with(), fleet_with(clusters=moved)
    assert diff(before, after, Scope("acme"))["changes"] == []


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Two folders that say the same, with other files for a definition to render."""
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    runner = Runner(tmp_path, capsys, monkeypatch)
    for side, color in (("a", "red"), ("b", "blue")):
        runner.write(**{f"{side}__{name.removesuffix('.yaml')}": text for name, text in BASE.items()})
        runner.write(**{f"{side}__manifests__object": OBJECT % color})
    return runner


def test_a_shared_definition_renders_the_files_of_each_side(run: Runner) -> None:
    answer = run("diff", "a", "b", "--render", "-o", "json").json
    assert {gate["gate"] for change in answer["changes"] for gate in change["blocked"]} == {"artifact-mutated"}
    (patch,) = answer["changes"][0]["manifests"][0]["patch"]
    assert (patch["path"], patch["was"], patch["value"]) == ("/data/color", "red", "blue")


def test_files_that_a_definition_renders_are_hashed_on_each_side(run: Runner) -> None:
    before, after = open_fleet([str(run.folder / "a")]), open_fleet([str(run.folder / "b")])
    shared = beside(after, before)
    (key,) = shared.snapshot.definitions
    assert shared.snapshot.definitions[key] is before.snapshot.definitions[key]
    assert shared.digests(key) == after.digests(key) != before.digests(key)
    run.write(b__manifests__object=OBJECT % "red")
    assert run("diff", "a", "b", "--exit-code").code == 0
