"""What somebody meets who uses it for the first time, and not always as it was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.render.conftest import change
from support.bound import config_map
from support.command import Runner


def use_manifests(fleet: Runner, text: str) -> None:
    """The fleet with one manifest instead of its chart."""
    (fleet.folder / "manifests").mkdir(exist_ok=True)
    (fleet.folder / "manifests/all.yaml").write_text(text, encoding="utf-8")
    change(fleet, "web.yaml", "helm: {repository: ./charts, chart: web}", "manifests: {path: ./manifests}")


def test_writing_into_the_fleets_own_folder_takes_nothing_from_it(fleet: Runner) -> None:
    before = fleet("validate", "-o", "json").json["counts"]
    assert fleet("render", "web", "--output-dir", ".").code == 0
    assert fleet("validate", "-o", "json").json["counts"] == before
    assert fleet("render", "web", "--output-dir", ".", "--yes").code == 0


def test_a_folder_of_somebody_elses_does_not_become_ours(fleet: Runner) -> None:
    fleet.write(**{"out__eu-1__web-eu-1__kept": config_map("kept")})
    before = fleet("validate", "-o", "json").json["counts"]["objects"]
    fleet("render", "web", "-c", "eu-1", "--output-dir", "out")
    assert fleet("validate", "-o", "json").json["counts"]["objects"] == before + 2


def test_an_output_folder_has_a_name(fleet: Runner) -> None:
    result = fleet("render", "web", "--output-dir", "")
    assert (result.code, "--output-dir needs a folder" in result.err) == (2, True)


def test_nothing_is_written_through_links(fleet: Runner, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (fleet.folder / "out").mkdir()
    (fleet.folder / "out/eu-1").symlink_to(tmp_path / "elsewhere")
    result = fleet("render", "web", "-c", "eu-1", "--output-dir", "out", "--yes")
    assert result.code == 2
    assert "nothing is written through links" in result.err
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.rule("R3-27", "S39")
@pytest.mark.parametrize(
    ("mention", "code"),
    [("${extra}", 3), ("${extra^^}", 3), ("${extra:-there}", 0), ("$${extra}", 0), ("${somebody_elses}", 0)],
)
def test_a_declared_variable_without_a_value_is_an_error(fleet: Runner, mention: str, code: int) -> None:
    use_manifests(fleet, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: it}}\ndata: {{a: '{mention}'}}\n")
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == code
    assert ("the variable extra is not set" in result.err) == (code == 3)


@pytest.mark.rule("R3-27")
def test_where_it_need_not_be_strict_it_is_empty(fleet: Runner) -> None:
    use_manifests(fleet, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\ndata: {a: '<${extra}>'}\n")
    change(fleet, "web.yaml", "  clusterSelector: {}\n", "  clusterSelector: {}\n  substitution: {strict: false}\n")
    assert "a: <>\n" in fleet("render", "web", "-c", "eu-1").out


@pytest.mark.parametrize("repository", ["https://charts.example.com", "oci://registry.example.com/charts"])
def test_flux_gets_one_version_and_no_range(fleet: Runner, repository: str) -> None:
    change(
        fleet, "web.yaml", "repository: ./charts, chart: web", f"repository: '{repository}', chart: web, version: ^1"
    )
    change(fleet, "web.yaml", "  clusterSelector: {}\n", "  clusterSelector: {}\n  delivery: {flux: {}}\n")
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 3
    assert "^1 of the chart web is a range" in result.err
    assert "--> web.yaml:6" in result.err


@pytest.mark.parametrize("value", ["'$(A)$(A)'", "[$(A), $(A)]", "{a: $(A), b: $(A)}"])
def test_names_that_double_with_every_step_end_somewhere(fleet: Runner, value: str) -> None:
    steps = "".join(f"  - {{name: B{n}, value: {value.replace('$(A)', f'$(B{n - 1})')}}}\n" for n in range(1, 60))
    first = "  - {name: B0, value: some text to begin with}\n"
    change(fleet, "web.yaml", "  controlPlaneBindings: []\n", f"  controlPlaneBindings:\n{first}{steps}")
    result = fleet("validate")
    assert result.code == 0
    assert "larger than any manifest" in result.out


def test_a_chart_that_checks_a_secret_is_said_to_meet_a_placeholder(fleet: Runner) -> None:
    secret = "    - {name: auth.token, valueFrom: {secret: {name: db, key: password}}}\n"
    change(fleet, "web.yaml", "    - {name: host,", f"{secret}    - {{name: host,")
    change(fleet, "web.yaml", "default: plain", "default: broken")
    assert "secrets are placeholders here" in fleet("render", "web", "-c", "eu-1").err


@pytest.mark.rule("R3-18", "R3-26")
def test_a_secret_that_cannot_be_read_is_not_missing(fleet: Runner) -> None:
    change(fleet, "secret.yaml", "stringData: {password: canary-7f3a9c}", "data: {password: not-base-64!}")
    ref = "objectFieldRef: {kind: Secret, name: db, fieldPath: /data/password}"
    change(fleet, "web.yaml", "controlPlaneBindings: []", f"controlPlaneBindings: [{{name: A, {ref}, default: x}}]")
    change(fleet, "web.yaml", "    - {name: host,", "    - {name: auth.token, value: $(A)}\n    - {name: host,")
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 3
    assert "Secret db, key password: it is not base64 text" in result.err


def test_a_field_of_several_objects_is_asked_back(fleet: Runner) -> None:
    objects = [
        f"apiVersion: {each}/v1\nkind: Thing\nmetadata: {{name: it}}\nspec: {{by: {each}}}\n" for each in ("a.b", "c.d")
    ]
    use_manifests(fleet, "---\n".join(objects))
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Thing/it:/spec/by")
    assert result.code == 2
    assert "Thing/it of a.b/v1" in result.err
    result = fleet("explain", "web", "-c", "eu-1", "--manifest", "Thing.c.d/it:/spec/by", "-o", "json")
    assert result.json["manifest"]["value"] == "c.d"


def test_one_reason_on_many_clusters_is_told_once(fleet: Runner) -> None:
    change(fleet, "web.yaml", "default: plain", "default: broken")
    change(fleet, "web.yaml", "web.$(cluster.facts.host)", "same")
    result = fleet("render", "web")
    assert result.err.count("the mode broken is not supported") == 1
    assert "web-eu-1 (web 1.0.0 on eu-1 and 1 more)" in result.err
    assert "0 of 2 plugins rendered, 2 not" in result.err


def test_what_a_cluster_lacks_is_told_where_it_is_mentioned(fleet: Runner) -> None:
    change(fleet, "web.yaml", "cluster.facts.host", "cluster.facts.hots")
    assert "--> web.yaml:24" in fleet("render", "web", "-c", "eu-1").err


def test_labels_that_no_cluster_has_are_said_to_be_the_reason(fleet: Runner) -> None:
    result = fleet("render", "web", "-l", "zone=nowhere")
    assert result.code == 1
    assert "on a cluster that -l selects" in result.err


def test_a_plugin_that_renders_to_nothing_says_so(fleet: Runner) -> None:
    use_manifests(fleet, "# nothing here\n")
    result = fleet("render", "web", "-c", "eu-1")
    assert (result.code, result.out) == (0, "")
    assert "web-eu-1 renders to nothing" in result.err
