"""A broken object stops what it can touch, and no more (S64)."""

from __future__ import annotations

import pytest

from support.command import Runner
from support.fleets import BASE, override

DB = BASE["definition.yaml"].replace("name: web", "name: db")
DB_PRESET = BASE["preset.yaml"].replace("name: web", "name: db").replace("{}", "{matchLabels: {region: eu}}")
EVERYTHING = ["db-eu-1", "db-eu-2", "web-eu-1", "web-eu-2", "web-us-1"]
ON_EU_1 = "clusterSelector: {clusterNames: [eu-1]}"
OTHER = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: asia-1, namespace: globex}
"""


def head(kind: str, name: str = "bad", organization: str = "acme") -> str:
    return f"apiVersion: fleetform.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {organization}}}\n"


BROKEN = {
    "a text": ("spec: [\n", EVERYTHING),
    "no kind": ("metadata: {name: a}\nspec: {}\n", EVERYTHING),
    "an unknown kind": (head("PluginPrest") + "spec: {}\n", EVERYTHING),
    "an override for all": (head("PluginOverride") + "spec: {overrides: 1}\n", EVERYTHING),
    "an override with a selector": (
        f"{head('PluginOverride')}spec:\n  {ON_EU_1}\n  overrides: 1\n",
        ["db-eu-1", "web-eu-1"],
    ),
    "an override with a selector that cannot be read": (
        f"{head('PluginOverride')}spec:\n  clusterSelector: {{clusterNames: eu-1}}\n  overrides: 1\n",
        EVERYTHING,
    ),
    "an override of a definition": (
        f"{head('PluginOverride')}spec:\n  {ON_EU_1}\n  pluginDefinitionNames: [db]\n  overrides: 1\n",
        ["db-eu-1"],
    ),
    "an override with a wrong value": (
        override("bad", "[{path: replicas, value: many}]", f"{ON_EU_1}, pluginDefinitionNames: [web]"),
        ["web-eu-1"],
    ),
    "a definition": (head("PluginDefinition", "db") + "spec: {version: 2.0.0, optoins: []}\n", ["db-eu-1", "db-eu-2"]),
    "a definition of the platform that the organization has its own of": (
        head("PluginDefinition", "db", "fleetform-system") + "spec: {version: 2.0.0, optoins: []}\n",
        [],
    ),
    "a preset": (
        head("PluginPreset") + "spec: {clusterSelector: {}, plugin: {pluginDefinition: other}, x: 1}\n",
        [],
    ),
    "a preset that wants a release of another": (
        f"{head('PluginPreset')}spec:\n  {ON_EU_1}\n  plugin: {{pluginDefinition: db}}\n  x: 1\n",
        ["db-eu-1"],
    ),
    "a Plugin of its own": (
        head("Plugin") + "spec: {pluginDefinition: db, clusterName: eu-1, releaseName: db, x: 1}\n",
        ["db-eu-1"],
    ),
    "a Plugin on a cluster that is not there": (
        head("Plugin") + "spec: {pluginDefinition: db, clusterName: eu-9, x: 1}\n",
        [],
    ),
    "a Plugin beside a preset": (
        head("Plugin", "db-eu-1") + "spec: {presetRef: {name: db}, clusterName: eu-1, x: 1}\n",
        ["db-eu-1", "db-eu-2"],
    ),
    "a cluster": (head("Cluster", "eu-3") + "spec: {timezone: x}\n", []),
    "a placement": (head("Placement") + "spec: {x: 1}\n", []),
    "a window": (head("UpdateWindow") + "spec: {x: 1}\n", []),
    "a policy": (head("LifecyclePolicy", "default") + "spec: {x: 1}\n", EVERYTHING),
    "an organization": (head("Organization", "acme") + "spec: {x: 1}\n", EVERYTHING),
    "an object of another organization": (head("PluginOverride", organization="globex") + "spec: {x: 1}\n", []),
}


@pytest.fixture
def fleet(run: Runner) -> Runner:
    run.write(db=DB, db_preset=DB_PRESET, other=OTHER)
    return run


@pytest.mark.rule("S64")
@pytest.mark.parametrize("case", BROKEN)
def test_what_a_broken_object_cannot_reach_is_answered_and_the_rest_only_with_partial(fleet: Runner, case: str) -> None:
    text, touched = BROKEN[case]
    fleet.write(broken=text)
    for name in EVERYTHING:
        result = fleet("explain", name, "-n", "acme", "-o", "json")
        assert (name, result.code) == (name, 2 if name in touched else 0)
        assert ("error" in {each["severity"] for each in result.json["diagnostics"]}) == (name in touched)
        assert fleet("explain", name, "-n", "acme", "--partial").code == 0
    listed = fleet("get", "plugins", "-n", "acme", "-o", "json")
    names = [item["metadata"]["name"] for item in listed.json.get("items", [])]
    assert names == [name for name in EVERYTHING if name not in touched]
    assert listed.code == 2 or not touched
    partial = fleet("get", "plugins", "-n", "acme", "-o", "name", "--partial")
    assert (partial.code, partial.out.split()) == (0, [f"plugin/{name}" for name in EVERYTHING])
    assert not touched or "\n  broken.yaml:" in partial.err
    assert not touched or partial.err.startswith("partial answer, without what is broken (")
    assert (fleet("validate").code, fleet("validate", "--partial").code) == (1, 1)
    assert fleet("diff", ".", ".", "--partial").code == 2
    assert fleet("render", "-c", "us-1", "-n", "acme", "--output-dir", "out", "--partial").code == 2


@pytest.mark.rule("S64")
def test_a_question_that_a_broken_object_reaches_exits_2_and_shows_only_what_reaches_it(fleet: Runner) -> None:
    fleet.write(broken=BROKEN["a definition"][0], other_broken=BROKEN["a window"][0])
    result = fleet("get", "plugins", "-n", "acme")
    assert (result.code, "web-us-1" in result.out, "db-eu-1" in result.out) == (2, True, False)
    assert "1 error; what they reach is not among these plugins; --partial" in result.err
    assert "other_broken.yaml" not in result.err
    assert fleet("get", "plugin", "web-us-1", "-n", "acme").code == 0
    assert fleet("get", "plugin", "db-eu-1", "-n", "acme").code == 2
    assert fleet("get", "plugins", "-n", "acme", "-c", "us-1").code == 2
    assert fleet("get", "windows", "-n", "acme").code == 2
    assert fleet("get", "policies", "-n", "acme").code == 0
    assert fleet("get", "clusters", "-n", "globex").code == 0


@pytest.mark.rule("S64")
def test_render_shows_what_no_error_reaches(fleet: Runner) -> None:
    fleet.folder.joinpath("manifests").mkdir()
    fleet.folder.joinpath("manifests/a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    fleet.write(broken=BROKEN["an override of a definition"][0])
    assert fleet("render", "web-eu-1", "-n", "acme").code == 0
    result = fleet("render", "-c", "eu-1", "-n", "acme")
    assert (result.code, "web-eu-1" in result.out, "db-eu-1" in result.out) == (2, True, False)
    assert fleet("render", "db-eu-1", "-n", "acme").code == 2
    assert "db-eu-1" in fleet("render", "-c", "eu-1", "-n", "acme", "--partial").out


KNOCK_ON = {
    "a definition": ("definition", DB.replace("options:", "optoins:"), "pluginDefinitionNames: [db]"),
    "a text": ("definition", DB.replace("spec:", "spec: ["), "pluginDefinitionNames: [db]"),
    "a cluster": ("clusters", BASE["clusters.yaml"].replace("region: us", "region: [us]"), ON_EU_1.replace("eu", "us")),
    "a preset": ("db_preset", DB_PRESET.replace("optionValues", "optionvalues"), ""),
}


@pytest.mark.rule("S64")
@pytest.mark.parametrize("case", KNOCK_ON)
def test_what_only_follows_from_a_broken_object_is_not_reported(fleet: Runner, case: str) -> None:
    file, text, selector = KNOCK_ON[case]
    fleet.write(
        **{"db" if file == "definition" else file: text},
        extra=override("extra", "[{path: replicas, value: 3}]", selector or "pluginDefinitionNames: [web]"),
        beside=head("Plugin", "db-eu-1") + "spec: {presetRef: {name: db}, clusterName: eu-1}\n",
    )
    found = fleet("validate", "-o", "json").json["diagnostics"]
    assert {each["place"]["file"] for each in found} == {f"{'db' if file == 'definition' else file}.yaml"}


def test_a_file_of_another_tool_is_not_taken_for_what_is_missing(fleet: Runner) -> None:
    """Its kind is none of ours and it has no apiVersion: that is a warning, and nothing that cannot be read."""
    fleet.write(
        tool="kind: Tool\nmetadata: {name: build}\nspec: {}\n",
        db_preset=DB_PRESET.replace("pluginDefinition: {name: db}", "pluginDefinition: {name: gone}"),
    )
    found = fleet("validate", "-o", "json").json["diagnostics"]
    assert [(each["code"], each["severity"]) for each in found] == [
        ("missing-definition", "warning"),
        ("missing-field", "warning"),
    ]
