"""Questions as people ask them: without a cluster, without an organization, of another version, half typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetform.cli.text import Painter, table
from support.command import Runner

_FLEET = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: c1, namespace: acme, labels: {tier: gold}}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: c2, namespace: acme}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: c3, namespace: acme}
---
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: d1, namespace: other}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: fleetform-system}
spec: {version: 1.0.0, source: {manifests: {path: ./one}}, options: [{name: replicas, type: int, default: 2}]}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: web, namespace: fleetform-system}
spec: {version: 1.1.0, source: {manifests: {path: ./two}}, options: [{name: replicas, type: int, default: 2}]}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: web, namespace: acme}
spec: {clusterSelector: {}, plugin: {pluginDefinition: {name: web, version: 1.0.0}}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: shop, namespace: other}
spec: {clusterSelector: {}, plugin: {pluginDefinition: {name: web, version: 1.0.0}}}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: gold, namespace: acme}
spec: {clusterSelector: {matchLabels: {tier: gold}}, overrides: [{path: replicas, value: 4}]}
---
apiVersion: fleetform.dev/v1alpha1
kind: PluginOverride
metadata: {name: same, namespace: other}
spec: {overrides: [{path: replicas, value: 2}]}
"""


_CLUSTER_WITHOUT_NAMESPACE = """
apiVersion: fleetform.dev/v1alpha1
kind: Cluster
metadata: {name: e1}
"""


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    run = Runner(tmp_path, capsys, monkeypatch)
    run.write(all=_FLEET)
    for folder, name in (("one", "first"), ("two", "second")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.yaml").write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
    return run


def test_an_option_of_a_preset_is_explained_over_its_clusters(fleet: Runner) -> None:
    result = fleet("explain", "web", "replicas", "-n", "acme", "-q")
    assert result.out.splitlines() == [
        "replicas of web on 3 clusters",
        "  2 on 2 clusters (c2, c3)   default of 1.0.0   all.yaml:21",
        "  4 on 1 cluster (c1)   override gold   all.yaml:41",
    ]
    answer = fleet("explain", "web", "replicas", "-n", "acme", "-o", "json").json
    assert (answer["kind"], answer["plugins"]) == ("OptionEverywhere", 3)
    assert [(each["clusters"], each["option"]["value"]) for each in answer["groups"]] == [
        (["c2", "c3"], 2),
        (["c1"], 4),
    ]
    assert fleet("explain", "web", "replica", "-n", "acme").code == 1


@pytest.mark.rule("S7")
def test_the_organization_is_found_where_a_name_is_unique(fleet: Runner) -> None:
    assert "on c1 · acme" in fleet("explain", "web", "-c", "c1").out
    assert "on d1 · other" in fleet("explain", "shop", "-c", "d1").out
    assert fleet("explain", "shop-d1", "-o", "name").out == "plugin/shop-d1\n"
    assert fleet("render", "shop", "-o", "name").out == "d1/shop-d1 ConfigMap/first\n"
    missing = fleet("explain", "nothing", "-c", "c1")
    assert missing.code == 1
    assert missing.err.startswith("error: there is no plugin or preset nothing on c1 in acme\n")


@pytest.mark.rule("S7")
def test_an_organization_called_default_is_one_among_others(fleet: Runner) -> None:
    fleet.write(more=_CLUSTER_WITHOUT_NAMESPACE)
    assert "on d1 · other" in fleet("explain", "shop", "-c", "d1").out
    assert fleet("get", "presets").err.splitlines() == [
        "no presets in default",
        "the input also holds acme, other: choose one with -n, or -A for all",
    ]
    assert fleet("get", "presets", "-n", "default").err == "no presets in default\n"
    fleet.write(twice=_CLUSTER_WITHOUT_NAMESPACE.replace("name: e1", "name: d1, namespace: acme"))
    ambiguous = fleet("get", "plugins", "-c", "d1")
    assert ambiguous.err == "error: there is no cluster d1 in default\n  there is one in acme, other: choose with -n\n"


def test_a_definition_that_another_organization_has_is_pointed_at(fleet: Runner) -> None:
    fleet.write(
        more="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {name: lone}
        spec: {version: 1.0.0, source: {manifests: {path: ./one}}}
        ---
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginPreset
        metadata: {name: lone, namespace: acme}
        spec: {clusterSelector: {}, plugin: {pluginDefinition: lone}}
        """
    )
    assert "there is one in default, which acme does not see: write namespace: acme into it" in fleet("validate").out


def test_another_version_can_be_rendered(fleet: Runner) -> None:
    assert "name: first" in fleet("render", "shop").out
    assert "name: second" in fleet("render", "shop", "--version", "v1.1.0").out
    missing = fleet("render", "shop", "--version", "3.0.0")
    assert missing.code == 1
    assert missing.err == "error: web has no version 3.0.0\n  there are 1.0.0, 1.1.0\n"


@pytest.mark.rule("S21")
def test_only_overrides_with_findings_are_listed_if_asked_for(fleet: Runner) -> None:
    assert fleet("get", "overrides", "-n", "acme", "--findings").err == "no overrides with findings in acme\n"
    lines = fleet("get", "overrides", "-A", "--findings").out.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["same"]
    (item,) = fleet("get", "overrides", "-n", "other", "-o", "json").json["items"]
    assert item["status"]["findings"] == [{"finding": "redundant"}]
    assert fleet("get", "plugins", "--findings").code == 2


def test_hints_say_what_to_write(fleet: Runner) -> None:
    fleet.write(
        all="""
        apiVersion: fleetform.dev/v1alpha1
        kind: PluginDefinition
        metadata: {name: y, namespace: acme}
        spec: {version: 1.0.0, source: {helm: {path: ./charts/web}}}
        """
    )
    result = fleet("validate")
    assert "write repository: ./charts and chart: web" in result.out
    # One slip is one error.
    assert "2 errors" in result.out
    assert 'y, yes, on and true without quotes are the boolean true (YAML 1.1): write "y"' in result.out
    fleet.write(all="apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n")
    assert "this looks like a Helm template: render it first" in fleet("validate").out


def test_a_table_fits_the_terminal() -> None:
    rows = [("a-rather-long-name-of-a-plugin", "x" * 60, "blocked by something that has a long name", "1")]
    header = ("NAME", "CLUSTERS", "BLOCKED", "N")
    for width in (60, 80, 120):
        lines = table(header, rows, width=width)
        assert max(map(len, lines)) <= width
        assert lines[1].startswith("a-rath")
    assert max(map(len, table(header, rows, width=22))) == 22
    assert max(map(len, table(header, rows))) > 120
    painted = table(("NAME", "BLOCKED"), [("a", "2"), ("b", "-")], paint=Painter(True))
    assert "\x1b[31m" in painted[1]
    assert "\x1b" not in painted[2]
    places = table(("OPTION", "WHERE"), [("global.image.registry", "presets/acme-cert-manager.yaml:21")], width=30)
    assert places[1] == "…mage.registry  …nager.yaml:21"


def test_an_explanation_fits_the_terminal(fleet: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetform.cli.options.width_of", lambda _: 40)
    assert fleet("explain", "web", "replicas", "-n", "acme", "-c", "c1").out.splitlines() == [
        "replicas = 4  web 1.0.0 (1.0.0) on c1 · acme",
        "  ● 4  override gold     cluster",
        "      all.yaml:41",
        "  ○ 2  default of 1.0.0",
        "      all.yaml:21",
    ]
    everywhere = fleet("explain", "web", "replicas", "-n", "acme").out.splitlines()
    assert everywhere[1:3] == ["  2 on 2 clusters (c2, c3)   default of 1.0.0", "      all.yaml:21"]
    whole = fleet("explain", "web", "-n", "acme", "-c", "c1", "-q").out.splitlines()
    assert max(map(len, whole[2:])) <= 40


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("get pl", ["placements", "plugins"]),
        ("get clusters -n a", ["acme"]),
        ("get clusters -c c", ["c1", "c2", "c3"]),
        ("get preset w", ["web"]),
        ("explain -n other s", ["shop"]),
        ("explain web rep", ["replicas"]),
        ("render we", ["web"]),
        ("why d", ["d1"]),
    ],
)
def test_what_is_half_typed_is_completed(
    fleet: Runner,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    offered: list[str],
) -> None:
    words = f"fleetform {typed}"
    monkeypatch.setenv("_FLEETFORM_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        fleet()
    assert [line.partition(",")[2] for line in capsys.readouterr().out.splitlines()] == offered


def test_what_cannot_be_read_offers_nothing(
    fleet: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_FLEETFORM_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "fleetform get clusters -f nowhere -c c")
    monkeypatch.setenv("COMP_CWORD", "6")
    with pytest.raises(SystemExit):
        fleet()
    assert tuple(capsys.readouterr()) == ("\n", "")
