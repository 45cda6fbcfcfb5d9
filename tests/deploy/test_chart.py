"""The chart: what it refuses, what it renders, and that an operator can do its work with the account that it makes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import httpx2
import pytest

from fleetform.cli.operator import command as operator_command
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import access_from_kubeconfig
from fleetform.outside.kubernetes.client import Client
from fleetform.syntax.yaml_in import YamlDocument, read_one, read_stream
from fleetform.syntax.yaml_out import write_yaml
from support.api_servers import ApiServer, ApiServers, free_port
from support.kit import tools
from support.waiting import until

FLEETFORM = str(Path(sys.executable).with_name("fleetform"))


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
        (["--set", "workloads.serviceAccountsIn=a/b"], "serviceAccountsIn"),
        (["--set", "metrics.rules.runbookURL=docs/operations.md"], "runbookURL"),
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


# Of the options of `fleetform operator`, those that the chart leaves out, and why.
LEFT_OUT = {
    "--kubeconfig": "a pod has an account of its own",
    "--context": "it is of a kubeconfig",
    "--namespace": "a pod's is known",
    "--admission-url": "API servers reach a pod by its Service",
    "--sources-dir": "nothing that definitions could name is in the image",
    "--plugin-dir": "no transform plugin is in the image",
    "--no-cache": "an operator reads no files",
    "--quiet": "logs are for whoever collects them",
    "--verbose": "logs are for whoever collects them",
    "--no-color": "no terminal is there",
}
EVERY_SWITCH = (
    'admission.certManager={"enabled":true}',
    'admission.clientCA="-----BEGIN CERTIFICATE-----"',
    "allowPrivateEndpoints=true",
    "greenhouse.ownStatus=true",
    'workloads.serviceAccountsIn="fleetform"',
)


def _container(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    (found,) = _one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_every_option_of_the_operator_is_set_or_left_out_for_a_reason(chart: Path) -> None:
    """With every switch on; and it sets none that the operator does not have."""
    container = _container(_rendered(chart, *EVERY_SWITCH))
    assert container["args"][0] == "operator"
    given = {each.partition("=")[0] for each in container["args"][1:]}
    options = {
        max(each.opts, key=len)
        for each in operator_command.params
        if isinstance(each, click.Option) and not each.hidden
    }
    assert given.isdisjoint(LEFT_OUT)
    assert given | LEFT_OUT.keys() == options - {"--help"}


def test_what_the_flags_of_the_deployment_name_is_mounted(chart: Path) -> None:
    container = _container(_rendered(chart, *EVERY_SWITCH))
    named = {each.partition("=")[0]: each.partition("=")[2] for each in container["args"]}
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert str(Path(named["--admission-client-ca"]).parent) in mounts
    assert str(Path(named["--certificates"])) in mounts


def test_organizations_act_as_accounts_of_their_own_only_where_that_is_asked_for(chart: Path) -> None:
    asked = _container(_rendered(chart, 'workloads.serviceAccountsIn="tenants"'))["args"]
    assert "--service-accounts-in=tenants" in asked
    assert not any(each.startswith("--service-accounts-in") for each in _container(_rendered(chart))["args"])


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


def test_alerts_link_the_page_that_people_read_once_it_is_known(chart: Path) -> None:
    """A path in this repository is no address: an alert without one has no link that leads nowhere."""

    def annotations(rules: str) -> list[dict[str, str]]:
        (group,) = _one(_rendered(chart, f"metrics.rules={rules}"), "PrometheusRule")["spec"]["groups"]
        return [each["annotations"] for each in group["rules"]]

    page = "https://git.example.com/fleetform/blob/v1/docs/operations.md"
    for plain, linked in zip(
        annotations('{"enabled":true}'), annotations(f'{{"enabled":true,"runbookURL":"{page}"}}'), strict=True
    ):
        assert "runbook_url" not in plain
        assert linked["runbook_url"] == plain["runbook"].replace("docs/operations.md", page)
        assert "runbook" not in linked


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
        _helm(*helm, "--set", "organizations={acme},flux.enabled=true")
        self.port = free_port()
        self._ask_here()
        self._admins = server.kubeconfig()
        self.kubeconfig = folder / "operator"
        self.kubeconfig.write_text(self.config_of("fleetform-system", "fleetform"), encoding="utf-8")

    def _ask_here(self) -> None:
        """No pod runs here, behind whose Service the operator would be."""
        kind = self.admin.resource("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")
        webhook = self.admin.get(kind, "", "fleetform")
        assert webhook is not None
        for each in webhook["webhooks"]:
            assert each["clientConfig"]["service"]["name"] == "fleetform-admission"
            each["clientConfig"] = {"url": f"https://127.0.0.1:{self.port}/validate"}
        self.admin.replace(webhook)

    def config_of(self, namespace: str, account: str) -> str:
        """A kubeconfig with a token of a ServiceAccount."""
        config = read_one(self._admins)
        config["users"][0]["user"] = {"token": self.kubectl("create", "token", account, "-n", namespace).strip()}
        return write_yaml(config)

    def is_asked(self, manifest: str) -> bool:
        """Whether somebody answers what the server asks of a manifest of ours."""
        try:
            self.admin.create(read_one(manifest), dry_run=True)
        except OutsideError:
            return False
        return True

    def kubectl(self, *arguments: str) -> str:
        command = [str(tools() / "kubectl"), "--kubeconfig", str(self.folder / "admin"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def installed(api_servers: ApiServers, chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Installed]:
    (server,) = api_servers.start("chart")
    yield _Installed(server, chart, tmp_path_factory.mktemp("chart"))
    server.process.kill()


# What the account may do with admission and Flux on, by resource: everywhere, and besides in some namespaces. A
# resource is named with its group, and with the only object of it if there is one.
_FOLLOW = "get list watch"
_KEEP = "get list create update patch delete"
EVERYWHERE = {
    **dict.fromkeys(
        (
            f"fleetform.dev/{each}"
            for each in (
                *("approvals", "catalogs", "clusters", "lifecyclepolicies", "organizations", "placements"),
                *("plugindefinitions", "pluginoverrides", "pluginpresets", "rolloutpolicies", "updatewindows"),
            )
        ),
        _FOLLOW,
    ),
    **dict.fromkeys(
        (
            f"fleetform.dev/{each}/status"
            for each in (
                *("catalogs", "clusters", "lifecyclepolicies", "organizations", "placements", "plugindefinitions"),
                *("plugindefinitionrevisions", "pluginoverrides", "pluginpresets", "plugins", "rolloutpolicies"),
                *("rollouts", "updatewindows"),
            )
        ),
        "update patch",
    ),
    **dict.fromkeys(
        (f"fleetform.dev/{each}" for each in ("plugins", "plugindefinitionrevisions", "rollouts")),
        f"{_KEEP} watch",
    ),
    "fleetform.dev/pluginpresets/finalizers": "update",
    "greenhouse.sap/*": _FOLLOW,
    "cluster.open-cluster-management.io/*": _FOLLOW,
    "addon.open-cluster-management.io/*": _FOLLOW,
    "fleet.squaremo.dev/*": _FOLLOW,
    "cluster.x-k8s.io/clusters": _FOLLOW,
    "addon.open-cluster-management.io/managedclusteraddons/status": "update patch",
    "greenhouse.sap/plugins/status": "update patch",
    "events.k8s.io/events": "create patch",
    "source.toolkit.fluxcd.io/gitrepositories": _KEEP,
    "source.toolkit.fluxcd.io/helmrepositories": _KEEP,
    "source.toolkit.fluxcd.io/ocirepositories": _KEEP,
    "helm.toolkit.fluxcd.io/helmreleases": _KEEP,
    "kustomize.toolkit.fluxcd.io/kustomizations": _KEEP,
    "/configmaps": _KEEP,
    "/namespaces": "get",
    "admissionregistration.k8s.io/validatingwebhookconfigurations=fleetform": "get patch",
}
BESIDES = {
    "acme": {"/secrets": _FOLLOW, "/configmaps": "watch"},
    "fleetform-system": {
        "coordination.k8s.io/leases": "get list create update patch",
        "/secrets": "get list watch create update delete",
        "/configmaps": "watch",
    },
}


def _rights(kubeconfig: str, namespace: str) -> dict[str, set[str]]:
    """What the server says that somebody may do in a namespace, verbs by resource; beyond what every account may."""
    client = Client(access_from_kubeconfig(kubeconfig))
    head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview"}
    review = {**head, "spec": {"namespace": namespace}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = json.loads(client.raw("POST", path, json.dumps(review).encode()))["status"]
    client.close()
    assert not status["incomplete"]
    found: dict[str, set[str]] = {}
    for rule in status["resourceRules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames") or [""]:
                    named = f"{group}/{resource}" + (f"={name}" if name else "")
                    found.setdefault(named, set()).update(rule["verbs"])
    for each in status["nonResourceRules"]:
        for url in each["nonResourceURLs"]:
            found.setdefault(url, set()).update(each["verbs"])
    return found


def test_the_account_may_do_what_it_needs_and_nothing_else(installed: _Installed) -> None:
    """In every namespace that there is."""
    anybodys = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "anybody", "namespace": "globex"}}
    installed.admin.create(anybodys)
    anybody = installed.config_of("globex", "anybody")
    listed = installed.admin.items(installed.admin.resource("v1", "Namespace"))
    namespaces = {each["metadata"]["name"] for each in listed}
    assert {"globex", "kube-system", *BESIDES} <= namespaces
    for namespace in sorted(namespaces):
        of_all = _rights(anybody, namespace)
        own = {
            resource: verbs - of_all.get(resource, set())
            for resource, verbs in _rights(installed.config_of("fleetform-system", "fleetform"), namespace).items()
        }
        wanted = {resource: set(verbs.split()) for resource, verbs in EVERYWHERE.items()}
        for resource, verbs in BESIDES.get(namespace, {}).items():
            wanted[resource] = wanted.get(resource, set()) | set(verbs.split())
        assert {resource: verbs for resource, verbs in own.items() if verbs} == wanted, namespace


def test_without_flux_and_with_certificates_of_others_it_may_do_less(chart: Path) -> None:
    """Each part of the rights comes with the switch that needs it."""

    def resources(*values: str) -> set[str]:
        roles = {each["metadata"]["name"]: each for each in _rendered(chart, *values) if each["kind"] == "ClusterRole"}
        rules = [rule for name, role in roles.items() if name != "fleetform-organization" for rule in role["rules"]]
        return {
            f"{group}/{resource}" + "".join(f"={name}" for name in rule.get("resourceNames", ()))
            for rule in rules
            for group in rule["apiGroups"]
            for resource in rule["resources"]
        }

    webhook = {each for each in EVERYWHERE if each.startswith("admissionregistration.k8s.io/")}
    for_flux = {each for each in EVERYWHERE if ".toolkit.fluxcd.io/" in each} | {"/configmaps", "/namespaces"}
    assert resources("flux.enabled=true") == EVERYWHERE.keys()
    assert resources() == EVERYWHERE.keys() - for_flux
    assert resources('admission.certManager={"enabled":true}') == EVERYWHERE.keys() - for_flux - webhook
    assert resources("admission.enabled=false") == EVERYWHERE.keys() - for_flux - webhook


def test_there_is_one_account_and_every_right_is_given_to_it_alone(chart: Path) -> None:
    """Whatever is switched on."""
    for values in ((), (*EVERY_SWITCH, "flux.enabled=true", 'organizations=["acme"]'), ('organizations=["*"]',)):
        objects = _rendered(chart, *values)
        accounts = [each["metadata"] for each in objects if each["kind"] == "ServiceAccount"]
        assert [(each["name"], each["namespace"]) for each in accounts] == [("fleetform", "fleetform-system")]
        bindings = [each for each in objects if each["kind"] in ("RoleBinding", "ClusterRoleBinding")]
        only = {"kind": "ServiceAccount", "name": "fleetform", "namespace": "fleetform-system"}
        assert all(each["subjects"] == [only] for each in bindings)
        bound = {each["roleRef"]["name"] for each in bindings}
        roles = {each["metadata"]["name"] for each in objects if each["kind"] in ("Role", "ClusterRole")}
        # The one for organizations is bound by whoever lets it read there.
        assert roles - bound <= {"fleetform-organization"}


@pytest.fixture
def organizations_account(installed: _Installed, root: Path) -> str:
    """What docs/how-to/deliver-to-clusters.md has people create for organizations that share a cluster, and the
    kubeconfig of the account there, which may do nothing but act as theirs."""
    page = (root / "docs" / "how-to" / "deliver-to-clusters.md").read_text(encoding="utf-8")
    (written,) = (each for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "impersonate" in each)
    installed.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleetform"}})
    metadata = {"name": "fleetform", "namespace": "fleetform"}
    installed.admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    for each in read_stream(written):
        assert isinstance(each, YamlDocument)
        installed.admin.create(each.tree)
    rules = [{"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["*"]}]
    group = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "what-acme-may"}}
    installed.admin.create({**group, "kind": "ClusterRole", "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "what-acme-may"}
    acme = [{"kind": "ServiceAccount", "name": "acme", "namespace": "fleetform"}]
    installed.admin.create({**group, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": acme})
    return installed.config_of("fleetform", "fleetform")


def test_an_operator_with_that_account_does_its_work(
    installed: _Installed, organizations_account: str, chart: Path, tmp_path: Path
) -> None:
    """On a cluster whose kubeconfig lets it act as the organization's ServiceAccount alone."""
    (tmp_path / "web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n", encoding="utf-8")
    head = "apiVersion: fleetform.dev/v1alpha1\nkind: %s\nmetadata: {name: web, namespace: acme}\nspec: "
    fleet = [
        head % "Cluster" + "{access: {kubeconfig: {secret: {name: web, key: kubeconfig}}}}",
        head % "PluginDefinition" + f"{{version: 1.0.0, source: {{manifests: {{path: {tmp_path}}}}}}}",
        head % "PluginPreset" + "{clusterSelector: {}, plugin: {pluginDefinition: {name: web}}}",
    ]
    metadata, config = {"name": "web", "namespace": "acme"}, {"kubeconfig": organizations_account}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": config}
    installed.admin.create(secret)
    log = tmp_path / "log"
    command = [FLEETFORM, "operator", "--kubeconfig", str(installed.kubeconfig), "--state-dir", str(tmp_path / "state")]
    command += ["--sources-dir", str(tmp_path), "--metrics", "127.0.0.1:0"]
    at = f"127.0.0.1:{installed.port}"
    command += ["--admission", at, "--admission-url", f"https://{at}"]
    given = _container(_rendered(chart, 'workloads.serviceAccountsIn="fleetform"'))["args"]
    command += [each for each in given if each.startswith("--service-accounts-in")]
    with log.open("wb") as said, subprocess.Popen(command, stderr=said) as process:
        try:
            # Once the server knows the certificate that the operator made, and not before.
            until(lambda: installed.is_asked(fleet[0]))
            for text in fleet:
                installed.admin.apply(read_one(text))
            twice = head % "PluginOverride" + "{overrides: [{path: a, value: 1}, {path: a, value: 2}]}"
            with pytest.raises(OutsideError, match="denied the request: conflicting-values: "):
                installed.admin.apply(read_one(twice))
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
                # A server that has only just learned of a kind has a watch begin again.
                'fleetform_watch_restarts_total{kind="plugins"} ',
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
