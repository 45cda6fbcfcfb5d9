"""What Flux gets: the objects of native plugins and of Fleeet's modules, and the same substitution as our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tools.flux_schemas import Schemas, folder

from app.render.conftest import change
from fleetform.app.rendering import flux_delivery
from fleetform.syntax.envsubst import substitute_resource
from fleetform.syntax.yaml_in import read_one
from fleetform.syntax.yaml_out import write_unfolded
from support.command import Runner
from support.repositories import Repository

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
    change(fleeet, "module.yaml", "{name: API},", "{name: API}, {NODE: $(NODE)},")
    [assemblage] = objects(fleeet, "podinfo", "-c", "one")
    (fleeet.folder / "module.yaml").unlink()
    (fleeet.folder / "assemblage.yaml").write_text(write_unfolded(assemblage), encoding="utf-8")
    bound = fleeet("explain", "podinfo-one", "-c", "one", "-o", "json").json["bindings"]
    assert {each["name"]: each["value"] for each in bound} == {
        "API": "10.0.0.1",
        "PORT": "3030",
        "ZONE": "eu $(API)",
        "NODE": None,
    }


def travelling(name: str, more: str = "") -> str:
    """A Module that selects all clusters and waits for something there."""
    return f"""\
apiVersion: fleet.squaremo.dev/v1alpha1
kind: Module
metadata: {{name: {name}, namespace: default}}
spec:
  selector: {{}}
{more}  sync:
    source: {{git: {{url: https://git.example.com/{name}, version: {{tag: v1.2.3}}}}}}
    bindings: [{{name: NODE, objectFieldRef: {{kind: Node, name: first, fieldPath: /x}}}}]
    package: {{kustomize: {{substitute: {{NODE: $(NODE)}}}}}}
"""


@pytest.mark.rule("S38")
def test_all_that_travels_to_a_cluster_is_in_its_assemblage(fleeet: Runner) -> None:
    (fleeet.folder / "module.yaml").unlink()
    # A Module reaches clusters of its own namespace only.
    elsewhere = travelling("c").replace("namespace: default", "namespace: other")
    fleeet.write(a=travelling("a"), b=travelling("b"), c=elsewhere)
    found = objects(fleeet, "-c", "one")
    assert [each["metadata"]["namespace"] for each in found] == ["default", "default"]
    assert [[sync["name"] for sync in each["spec"]["syncs"]] for each in found] == [["a", "b"], ["a", "b"]]
    assert found[0] == found[1]


def test_what_travels_is_looked_for_once(fleeet: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    (fleeet.folder / "module.yaml").unlink()
    clusters = [f"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c{n}}}\n" for n in range(10)]
    fleeet.write(clusters="---\n".join(clusters), a=travelling("a"), b=travelling("b"))
    asked = Mock(wraps=flux_delivery.travels)
    monkeypatch.setattr(flux_delivery, "travels", asked)
    assert len(objects(fleeet, "-A")) == 20
    assert asked.call_count <= 3 * 20


@pytest.mark.rule("S38", "S40")
def test_one_that_cannot_travel_holds_up_the_others_by_name(fleeet: Runner) -> None:
    (fleeet.folder / "module.yaml").unlink()
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: default}\nstringData: {k: canary-7f3a9c}\n"
    )
    reads = (
        "  controlPlaneBindings:\n  - {name: TOKEN, objectFieldRef: {kind: Secret, name: login, fieldPath: /data/k}}\n"
    )
    fleeet.write(a=travelling("a"), guilty=travelling("guilty", reads), secret=secret)
    result = fleeet("render", "-c", "one", "-o", "json")
    assert result.code == 3
    a, guilty = result.json["items"]
    assert (a["objects"], guilty["objects"]) == ([], [])
    [own], [held_up] = guilty["blocked"], a["blocked"]
    assert own["message"] == "TOKEN is a secret, and would be written in plain text"
    assert held_up["message"] == f"guilty, which travels in the same Assemblage, holds it up: {own['message']}"
    assert (held_up["gate"], held_up["object"]["name"]) == ("plain-secret", "guilty")
    assert held_up["object"]["place"]["file"] == "guilty.yaml"
    assert "canary" not in result.out + result.err


def test_a_long_name_of_a_cluster_is_cut_in_labels(fleeet: Runner, schemas: Schemas) -> None:
    long = "one-" + "x" * 70
    change(fleeet, "clusters.yaml", "{name: one,", f"{{name: {long},")
    change(fleeet, "clusters.yaml", "{one:", f"{{{long}:")
    found = objects(fleeet, "podinfo", "-c", long)
    assert [problem for each in found for problem in schemas.problems(each)] == []
    assert {len(each["metadata"]["labels"]["fleetform.dev/cluster"]) for each in found} == {63}


def test_a_variable_that_two_secrets_of_the_input_have_is_refused(fleeet: Runner) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: default}\nstringData: {%s}\n"
    fleeet.write(a=secret % ("a", "USER: x, TOKEN: y"), b=secret % ("b", "TOKEN: z"))
    read = "  - {name: %s, objectFieldRef: {kind: Secret, name: %s, fieldPath: /data/%s}}\n"
    plain = "  - {name: PLAIN, value: x}\n"
    names = plain + read % ("USER", "a", "USER") + read % ("TOKEN", "b", "TOKEN")
    change(fleeet, "module.yaml", "  - {name: PORT", f"{names}  - {{name: PORT")
    change(fleeet, "module.yaml", "[{ZONE: $(ZONE)},", "[{name: PLAIN}, {name: USER}, {name: TOKEN}, {ZONE: $(ZONE)},")
    result = fleeet("render", "podinfo", "-c", "one")
    assert result.code == 3
    assert "the variable TOKEN is a key of b and of a: Flux reads both whole" in result.err
    change(fleeet, "a.yaml", ", TOKEN: y", "")
    assert objects(fleeet, "podinfo", "-c", "one")[1]["spec"]["postBuild"]["substituteFrom"] == [
        {"kind": "Secret", "name": "a"},
        {"kind": "Secret", "name": "b"},
    ]


@pytest.mark.rule("R3-26")
def test_a_key_that_one_cluster_lacks_blocks_that_cluster_alone(fleeet: Runner) -> None:
    change(fleeet, "clusters.yaml", ", two: us", "")
    result = fleeet("render", "podinfo")
    assert result.code == 3
    assert "name: podinfo-one" in result.out
    assert "ZONE cannot be resolved: ConfigMap zones has no .data.two" in result.err
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


ADD_ON = """\
apiVersion: fleetform.dev/v1alpha1
kind: PluginDefinition
metadata: {name: %(name)s, namespace: acme}
spec:
  version: 1.0.0
  source: {%(source)s}
%(more)s---
apiVersion: fleetform.dev/v1alpha1
kind: PluginPreset
metadata: {name: %(name)s, namespace: acme}
spec:
  clusterSelector: {}
  plugin: {pluginDefinition: {name: %(name)s}}
  controlPlaneBindings: [%(bindings)s]
%(delivery)s"""
CHART = "helm: {repository: https://charts.example.com, chart: it, version: 1.0.0}"
KUSTOMIZATION = "kustomize: {git: {url: https://git.example.com/it, ref: {tag: v1.0.0}}}"
PULLED = "  delivery: {flux: {mode: Pull}}\n"


def add_on(name: str, source: str = CHART, more: str = "", bindings: str = "", delivery: str = PULLED) -> str:
    return ADD_ON % {"name": name, "source": source, "more": more, "bindings": bindings, "delivery": delivery}


def waits_for(runner: Runner, name: str = "app") -> list[str]:
    """What Flux waits for before it installs a plugin on eu-1."""
    return [each["name"] for each in objects(runner, name, "-c", "eu-1")[1]["spec"].get("dependsOn", [])]


def test_flux_waits_for_what_a_definition_depends_on(fleet: Runner, schemas: Schemas) -> None:
    needs = "  dependsOn: [{name: crds}, {name: dns}, {name: nowhere}]\n"
    fleet.write(app=add_on("app", more=needs), crds=add_on("crds"), dns=add_on("dns"), other=add_on("other"))
    assert waits_for(fleet) == ["crds-eu-1", "dns-eu-1"]
    assert waits_for(fleet, "crds") == []
    assert [each for tree in objects(fleet, "app") for each in schemas.problems(tree)] == []


@pytest.mark.parametrize(
    "crds",
    [
        add_on("crds", KUSTOMIZATION),
        add_on("crds", delivery=""),
        add_on("crds", delivery="  delivery: {flux: {mode: Hub, namespace: flux-system}}\n"),
        add_on("crds", delivery="  delivery: {flux: {mode: Pull, namespace: other}}\n"),
        add_on("crds").replace("clusterSelector: {}", "clusterSelector: {clusterNames: [us-1]}"),
    ],
    ids=["another-kind", "not-through-flux", "on-the-hub", "another-namespace", "another-cluster"],
)
def test_flux_waits_only_for_objects_that_it_finds_beside(fleet: Runner, crds: str) -> None:
    fleet.write(app=add_on("app", more="  dependsOn: [{name: crds}]\n"), crds=crds)
    assert waits_for(fleet) == []
    fleet.write(crds=add_on("crds"))
    assert waits_for(fleet) == ["crds-eu-1"]


@pytest.mark.rule("R3-4")
def test_flux_waits_for_the_plugin_whose_output_is_read(fleet: Runner) -> None:
    reads = "{name: CA, pluginOutputRef: {definition: ca, output: it}}"
    fleet.write(
        app=add_on("app", KUSTOMIZATION, bindings=reads),
        ca=add_on("ca", KUSTOMIZATION, "  outputs: [{name: it, value: x}]\n"),
    )
    assert waits_for(fleet) == ["ca-eu-1"]


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
