"""What Flux gets: the objects of native plugins and of Fleeet's modules, and the same substitution as our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools.flux_schemas import Schemas, folder

from command import Runner
from fleetform.engine.envsubst import substitute_resource
from fleetform.formats.yaml_in import read_one
from fleetform.formats.yaml_out import write_unfolded
from rendering.conftest import change
from repositories import Repository

MODULE = """\
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata: {name: podinfo, namespace: default}
spec:
  selector: {}
  controlPlaneBindings:
  - name: ZONE
    objectFieldReference: {kind: ConfigMap, name: zones, path: .data.$(CLUSTER_NAME)}
  - name: API
    objectFieldRef: {kind: Cluster, name: $(CLUSTER_NAME), fieldPath: /spec/controlPlaneEndpoint/host}
  - {name: PORT, value: 3030}
  sync:
    source: {git: {url: https://git.example.com/podinfo, version: {tag: v1.2.3}}}
    package:
      kustomize:
        path: ./deploy
        substitute: [{ZONE: $(ZONE)}, {name: API}, {name: ADDR, value: "$(API):$(PORT)"}]
"""
CLUSTERS = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: one, namespace: default}
spec: {controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: two, namespace: default}
spec: {controlPlaneEndpoint: {host: 10.0.0.2, port: 6443}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: zones, namespace: default}
data: {one: "eu $(API)", two: us}
"""


@pytest.fixture(scope="session")
def schemas() -> Schemas:
    return Schemas(folder())


@pytest.fixture
def fleeet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("FLEETFORM_CACHE_DIR", str(tmp_path / "cache"))
    runner = Runner(tmp_path / "fleet", capsys, monkeypatch)
    runner.folder.mkdir()
    runner.write(module=MODULE, clusters=CLUSTERS)
    return runner


def objects(runner: Runner, *question: str) -> list[dict[str, Any]]:
    result = runner("render", *question, "-o", "json")
    assert result.code == 0, result.err
    return [tree for item in result.json["items"] for tree in item["objects"]]


@pytest.mark.rule("S38", "R3-9", "R3-1")
def test_a_module_becomes_a_repository_and_a_kustomization_for_each_cluster(fleeet: Runner, schemas: Schemas) -> None:
    found = objects(fleeet, "podinfo")
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("GitRepository", "podinfo-one"),
        ("Kustomization", "podinfo-one"),
        ("GitRepository", "podinfo-two"),
        ("Kustomization", "podinfo-two"),
    ]
    assert [problem for each in found for problem in schemas.problems(each)] == []
    assert found[0]["spec"]["ref"] == {"tag": "v1.2.3"}
    assert found[1]["spec"]["path"] == "./deploy"
    assert found[1]["spec"]["postBuild"] == {
        "substitute": {"ADDR": "10.0.0.1:3030", "API": "10.0.0.1", "ZONE": "eu $(API)"}
    }
    assert found[3]["spec"]["postBuild"]["substitute"]["ADDR"] == "10.0.0.2:3030"
    assert "kubeConfig" not in found[1]["spec"]


@pytest.mark.rule("S38")
def test_a_bootstrap_module_reaches_its_cluster_by_kubeconfig(fleeet: Runner, schemas: Schemas) -> None:
    change(fleeet, "module.yaml", "kind: Module", "kind: BootstrapModule")
    found = objects(fleeet, "podinfo", "-c", "two")
    assert [problem for each in found for problem in schemas.problems(each)] == []
    assert found[1]["spec"]["kubeConfig"] == {"secretRef": {"name": "two-kubeconfig", "key": "value"}}


@pytest.mark.rule("S38", "R3-9", "R3-25")
def test_a_module_with_names_of_the_cluster_travels_as_an_assemblage(fleeet: Runner) -> None:
    change(
        fleeet,
        "module.yaml",
        "  sync:\n",
        "  sync:\n    bindings:\n    - name: NODE\n"
        "      objectFieldRef: {kind: ConfigMap, name: node-$(ZONE), fieldPath: /data/ip}\n",
    )
    change(fleeet, "module.yaml", "{name: API},", "{name: API}, {NODE: $(NODE)},")
    [assemblage] = objects(fleeet, "podinfo", "-c", "one")
    assert (assemblage["kind"], assemblage["metadata"]["name"]) == ("Assemblage", "one")
    [sync] = assemblage["spec"]["syncs"]
    assert sync["name"] == "podinfo"
    assert sync["bindings"] == [
        {"name": "API", "value": "10.0.0.1"},
        {"name": "CLUSTER_NAME", "value": "one"},
        {"name": "PORT", "value": "3030"},
        # What was read stays what it is: it is escaped, so that the cluster does not expand it.
        {"name": "ZONE", "value": "eu $$(API)"},
        {"name": "NODE", "objectFieldRef": {"kind": "ConfigMap", "name": "node-$(ZONE)", "fieldPath": "/data/ip"}},
    ]
    assert sync["package"]["kustomize"]["substitute"]["NODE"] == "$(NODE)"


@pytest.mark.rule("S38")
def test_an_assemblage_that_comes_out_can_go_in(fleeet: Runner) -> None:
    change(
        fleeet,
        "module.yaml",
        "  sync:\n",
        "  sync:\n    bindings:\n    - {name: NODE, objectFieldRef: {kind: Node, name: first, fieldPath: /data/ip}}\n",
    )
    [assemblage] = objects(fleeet, "podinfo", "-c", "one")
    (fleeet.folder / "module.yaml").unlink()
    (fleeet.folder / "assemblage.yaml").write_text(write_unfolded(assemblage), encoding="utf-8")
    bound = fleeet("explain", "podinfo-one", "-c", "one", "-o", "json").json["bindings"]
    assert {each["name"]: each["value"] for each in bound} == {
        "API": "10.0.0.1",
        "CLUSTER_NAME": "one",
        "PORT": "3030",
        "ZONE": "eu $(API)",
        "NODE": None,
    }


@pytest.mark.rule("R3-26")
def test_a_key_that_one_cluster_lacks_blocks_that_cluster_alone(fleeet: Runner) -> None:
    change(fleeet, "clusters.yaml", ", two: us", "")
    result = fleeet("render", "podinfo")
    assert result.code == 3
    assert "name: podinfo-one" in result.out
    assert "ZONE stands for nothing: ConfigMap zones has no .data.two" in result.err
    assert "it has /data/one" in result.err


def test_a_native_chart_on_a_hub_goes_into_the_namespace_of_its_organization(fleet: Runner, schemas: Schemas) -> None:
    remote = "repository: https://charts.example.com, chart: web, version: 1.0.0"
    change(fleet, "web.yaml", "repository: ./charts, chart: web", remote)
    change(fleet, "web.yaml", "  clusterSelector: {}\n", "  clusterSelector: {}\n  delivery: {flux: {}}\n")
    repository, release = objects(fleet, "web", "-c", "eu-1")
    assert schemas.problems(repository) + schemas.problems(release) == []
    assert repository["metadata"]["namespace"] == release["metadata"]["namespace"] == "acme"
    assert release["spec"]["kubeConfig"]["secretRef"]["name"] == "eu-1-kubeconfig"
    assert release["spec"]["values"]["host"] == "web.eu.example.com"


def test_an_organization_can_deliver_everything_through_flux(fleet: Runner) -> None:
    fleet.write(
        organization="""\
        apiVersion: fleetform.dev/v1alpha1
        kind: Organization
        metadata: {name: acme, namespace: acme}
        spec: {defaultDelivery: {flux: {mode: Pull}}}
        """
    )
    result = fleet("render", "web", "-c", "eu-1")
    assert result.code == 3
    assert "Flux cannot fetch the chart in the folder ./charts/web" in result.err


@pytest.mark.rule("R3-27", "R3-9")
def test_our_own_substitution_and_the_one_we_give_flux_come_to_the_same(
    fleet: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we render equals what Flux's substitution makes of the same build with the variables that we give it."""
    template = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: it, annotations: {note: "${ZONE:-none} ${host^^} $${kept} ${mode%ain}"}}
data:
  port: ${PORT}
  quoted: "${PORT}"
  length: "${#host}"
  default: ${EMPTY:-x}
  mode: ${mode/pl/PL}
"""
    repository = Repository(tmp_path / "repository")
    repository.commit({"deploy/kustomization.yaml": "resources: [all.yaml]\n", "deploy/all.yaml": template})
    repository.tag("v1.0.0")
    source = f"kustomize: {{git: {{url: '{repository.url}', ref: {{tag: v1.0.0}}, path: deploy}}}}"
    change(fleet, "web.yaml", "helm: {repository: ./charts, chart: web}", source)
    substitute = "  substitute: {ZONE: $(cluster.labels.zone), PORT: 8080, EMPTY: ''}\n  substitution: {only: All}\n"
    change(fleet, "web.yaml", "  controlPlaneBindings: []\n", f"{substitute}  controlPlaneBindings: []\n")
    [ours] = objects(fleet, "web", "-c", "eu-1")
    change(fleet, "web.yaml", repository.url, "https://git.example.com/web")
    change(fleet, "web.yaml", "  clusterSelector: {}\n", "  clusterSelector: {}\n  delivery: {flux: {mode: Pull}}\n")
    kustomization = objects(fleet, "web", "-c", "eu-1")[1]
    theirs = substitute_resource(
        read_one(template),
        kustomization["spec"]["postBuild"]["substitute"],
        write=write_unfolded,
        read=read_one,
        strict=True,
    )
    assert theirs == ours
    assert ours["data"] == {"port": 8080, "quoted": 8080, "length": 18, "default": "x", "mode": "PLain"}
