"""The chart: what it refuses, what it renders, and that an operator can do its work with the account that it makes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import YamlDocument, read_one, read_stream
from fleetform.syntax.yaml_out import write_yaml
from support.api_servers import ApiServer, ApiServers
from support.kit import tools
from support.waiting import until

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))
ACCOUNT = "system:serviceaccount:fleetform-system:fleetform"


@pytest.fixture(scope="module")
def chart() -> Path:
    return Path(__file__).parents[2] / "deploy" / "chart"


def _helm(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    found = subprocess.run([str(tools() / "helm"), *arguments], capture_output=True, text=True, check=False)
    assert not check or found.returncode == 0, found.stderr
    return found


def _rendered(chart: Path, *values: str) -> list[dict[str, Any]]:
    sets = [part for value in values for part in ("--set-json", value)]
    text = _helm("template", "ff", str(chart), "-n", "fleetform-system", *sets).stdout
    documents = [each for each in read_stream(text) if isinstance(each, YamlDocument)]
    return [each.tree for each in documents if isinstance(each.tree, dict)]


def _one(objects: Sequence[dict[str, Any]], kind: str, name: str = "fleetform") -> dict[str, Any]:
    (found,) = (each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name)
    return found


def test_it_is_linted_with_every_switch(chart: Path) -> None:
    every = [
        "--set",
        "metrics.rules.enabled=true,metrics.serviceMonitor.enabled=true,admission.certManager.enabled=true,organizations={acme,globex}",
    ]
    for values in ([], every, ["--set", "admission.enabled=false,networkPolicy.enabled=false,replicas=1"]):
        _helm("lint", "--strict", str(chart), "-n", "fleetform-system", *values)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["--set", "replica=3"], "replica"),
        (["--set", "shards=0"], "shards"),
        (["--set", "image.digest=latest"], "digest"),
        (["--set", "admission.clientCA=ca.crt"], "clientCA"),
        (["-n", "default"], "belongs into the namespace fleetform-system"),
    ],
)
def test_a_mistake_in_values_is_refused(values: list[str], said: str, chart: Path) -> None:
    given = ["template", "ff", str(chart), *([] if "-n" in values else ["-n", "fleetform-system"]), *values]
    found = _helm(*given, check=False)
    assert found.returncode != 0
    assert said in found.stderr


def test_pods_have_no_rights_on_their_node_and_write_nothing_to_their_image(chart: Path) -> None:
    pod = _one(_rendered(chart), "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert all("emptyDir" in each for each in pod["volumes"])


def test_the_flags_of_the_deployment_are_those_of_the_operator(chart: Path) -> None:
    """With every switch on: the operator knows each, and refuses none."""
    values = ['admission.certManager={"enabled":true}', "allowPrivateEndpoints=true", "greenhouse.ownStatus=true"]
    values.append('admission.clientCA="-----BEGIN CERTIFICATE-----"')
    (container,) = _one(_rendered(chart, *values), "Deployment")["spec"]["template"]["spec"]["containers"]
    known = subprocess.run([FLEETFORM, "operator", "--help"], capture_output=True, text=True, check=True).stdout
    assert container["args"][0] == "operator"
    assert all(each.split("=")[0] in known for each in container["args"][1:])
    named = {each.partition("=")[0]: each.partition("=")[2] for each in container["args"]}
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert str(Path(named["--admission-client-ca"]).parent) in mounts
    assert str(Path(named["--certificates"])) in mounts


def test_of_other_systems_objects_only_statuses_are_written(chart: Path) -> None:
    rules = [
        each for each in _one(_rendered(chart), "ClusterRole")["rules"] if "fleetform.dev" not in each["apiGroups"]
    ]
    writes = {
        f"{group}/{resource}"
        for each in rules
        if {"update", "patch"} & set(each["verbs"]) and "events.k8s.io" not in each["apiGroups"]
        for group in each["apiGroups"]
        for resource in each["resources"]
    }
    assert writes == {
        "addon.open-cluster-management.io/managedclusteraddons/status",
        "greenhouse.sap/plugins/status",
    }


def test_probes_and_scrapes_go_to_a_port_that_the_network_policy_opens(chart: Path) -> None:
    objects = _rendered(chart, 'metrics={"serviceMonitor":{"enabled":true},"from":[{"namespaceSelector":{}}]}')
    (container,) = _one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    ports = {each["name"] for each in container["ports"]}
    assert {container[each]["httpGet"]["port"] for each in ("readinessProbe", "livenessProbe")} == {"metrics"}
    opened = _one(objects, "NetworkPolicy")["spec"]["ingress"]
    assert [(each["ports"][0]["port"], "from" in each) for each in opened] == [("metrics", True), ("admission", False)]
    assert ports == {"metrics", "admission"}
    service = _one(objects, "Service", "fleetform-metrics")
    monitor = _one(objects, "ServiceMonitor")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert [each["port"] for each in monitor["endpoints"]] == [each["name"] for each in service["spec"]["ports"]]
    without = _rendered(chart, "admission.enabled=false")
    assert [each["ports"][0]["port"] for each in _one(without, "NetworkPolicy")["spec"]["ingress"]] == ["metrics"]


def test_the_kinds_stay_when_the_release_goes(chart: Path, root: Path) -> None:
    crds = [each for each in _rendered(chart) if each["kind"] == "CustomResourceDefinition"]
    assert len(crds) == len(list((root / "deploy" / "crds").iterdir()))
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in crds)


class _Installed:
    """A cluster on which the chart is installed by helm, for the organization acme."""

    def __init__(self, server: ApiServer, chart: Path, folder: Path) -> None:
        self.admin = Client(access_from_kubeconfig(server.kubeconfig()))
        self.folder = folder
        (folder / "admin").write_text(server.kubeconfig(), encoding="utf-8")
        for name in ("acme", "globex", "fleetform-system"):
            self.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        helm = ["install", "ff", str(chart), "-n", "fleetform-system", "--kubeconfig", str(folder / "admin")]
        # No pod runs here, so nobody would answer reviews.
        _helm(*helm, "--set", "organizations={acme},admission.enabled=false")
        token = self.kubectl("create", "token", "fleetform", "-n", "fleetform-system").strip()
        config = read_one(server.kubeconfig())
        config["users"][0]["user"] = {"token": token}
        self.kubeconfig = folder / "operator"
        self.kubeconfig.write_text(write_yaml(config), encoding="utf-8")

    def kubectl(self, *arguments: str) -> str:
        command = [str(tools() / "kubectl"), "--kubeconfig", str(self.folder / "admin"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def installed(api_servers: ApiServers, chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Installed]:
    (server,) = api_servers.start("chart")
    yield _Installed(server, chart, tmp_path_factory.mktemp("chart"))
    server.process.kill()


@pytest.mark.parametrize(
    ("verb", "what", "namespace", "may"),
    [
        ("list", "secrets", "acme", "yes"),
        ("list", "configmaps", "acme", "yes"),
        ("list", "secrets", "globex", "no"),
        ("list", "secrets", "kube-system", "no"),
        ("update", "secrets", "acme", "no"),
        ("create", "secrets", "fleetform-system", "yes"),
        ("update", "leases.coordination.k8s.io", "fleetform-system", "yes"),
        ("update", "leases.coordination.k8s.io", "kube-system", "no"),
        ("list", "pluginpresets.fleetform.dev", "acme", "yes"),
        ("update", "pluginpresets.fleetform.dev", "acme", "no"),
        ("delete", "pluginpresets.fleetform.dev", "acme", "no"),
        ("patch", "pluginpresets.fleetform.dev/status", "acme", "yes"),
        ("create", "plugins.fleetform.dev", "acme", "yes"),
        ("create", "approvals.fleetform.dev", "acme", "no"),
        ("create", "pods", "fleetform-system", "no"),
        ("list", "nodes", "", "no"),
        ("impersonate", "users", "", "no"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io", "", "no"),
        ("patch", "validatingwebhookconfigurations.admissionregistration.k8s.io", "", "no"),
    ],
)
def test_the_account_may_do_what_it_needs_and_nothing_else(
    verb: str, what: str, namespace: str, may: str, installed: _Installed
) -> None:
    resource, _, subresource = what.partition("/")
    given = ["auth", "can-i", verb, resource, f"--as={ACCOUNT}"]
    given += [f"--subresource={subresource}"] if subresource else []
    given += ["-n", namespace] if namespace else []
    assert installed.kubectl(*given).strip() == may


def test_an_operator_with_that_account_does_its_work(installed: _Installed, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n", encoding="utf-8")
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: web, namespace: acme}\nspec: "
    for text in (
        head % "Cluster" + "{access: {kubeconfig: {secret: {name: web, key: kubeconfig}}}}",
        head % "PluginDefinition" + f"{{version: 1.0.0, source: {{manifests: {{path: {tmp_path}}}}}}}",
        head % "PluginPreset" + "{clusterSelector: {}, plugin: {pluginDefinition: {name: web}}}",
    ):
        installed.admin.apply(read_one(text))
    config = (installed.folder / "admin").read_text(encoding="utf-8")
    metadata = {"name": "web", "namespace": "acme"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"kubeconfig": config}}
    installed.admin.create(secret)
    log = tmp_path / "log"
    command = [FLEETFORM, "operator", "--kubeconfig", str(installed.kubeconfig), "--state-dir", str(tmp_path / "state")]
    command += ["--sources-dir", str(tmp_path), "--metrics", "127.0.0.1:0"]
    with log.open("wb") as said, subprocess.Popen(command, stderr=said) as process:
        try:
            plugins = installed.admin.resource("fleetform.dev/v1alpha1", "Plugin")
            until(lambda: _running(installed.admin.get(plugins, "acme", "web-web")) == "1.0.0")
            port = log.read_text(encoding="utf-8").split("metrics at port ", 1)[1].split(",", 1)[0]
            answers = {path: _asked(port, path) for path in ("/healthz", "/readyz", "/metrics")}
            assert {path: status for path, (status, _) in answers.items()} == dict.fromkeys(answers, 200)
            told = answers["/metrics"][1]
            for sample in (
                "fleetform_shards_held 1.0",
                'fleetform_plugins{organization="acme",preset="web"} 1.0',
                'fleetform_clusters_unreachable{organization="acme"} 0.0',
                'fleetform_watch_restarts_total{kind="plugins"} 0.0',
            ):
                assert sample in told
            assert 'fleetform_api_requests_total{code="200",method="PATCH",server="workload"}' in told
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
    text = log.read_text(encoding="utf-8")
    # Of globex, where nobody granted it, nothing was asked: it has no object of ours.
    assert "forbidden" not in text, text


def _asked(port: str, path: str) -> tuple[int, str]:
    found = httpx2.get(f"http://127.0.0.1:{port}{path}", trust_env=False)
    return found.status_code, found.text


def _running(plugin: dict[str, Any] | None) -> str:
    return str(((plugin or {}).get("status") or {}).get("running"))
