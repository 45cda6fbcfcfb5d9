"""The plugins that come with Fleetform, on objects as clusters export them."""

from __future__ import annotations

from typing import Any

import pytest

from fleetform.syntax.yaml_in import read_one
from fleetform.transform import Failure, Outcome, Response, Runner
from fleetform.transform.runner import ask
from fleetform.transformers.builtin import built_in_plugins
from fleetform.transformers.builtin.registries import mirrored
from fleetform.transformers.plugins import BoundPlugin

PLUGINS = built_in_plugins()
SERVICE = """
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: team-a
  uid: 5c1d0f0e
  resourceVersion: "12345"
  creationTimestamp: "2026-01-01T00:00:00Z"
  managedFields: [{manager: kubectl}]
  annotations:
    example.com/kept: "yes"
    kubectl.kubernetes.io/last-applied-configuration: |
      {"spec":{"ports":[{"port":80,"nodePort":30080},{"port":443}]}}
spec:
  type: NodePort
  clusterIP: 10.0.0.7
  clusterIPs: [10.0.0.7]
  ports: [{port: 80, nodePort: 30080}, {port: 443, nodePort: 31234}]
status: {loadBalancer: {}}
"""
CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team-a}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers: [{name: a, image: "registry.example.com/team/init:1"}]
          containers: [{name: b, image: "registry.example.com/other/main@sha256:0"}, {name: c}]
          ephemeralContainers: [{name: d, image: "registry.example.com/team/debug"}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: old}}, {name: tmp, emptyDir: {}}]
"""


def run(text: str, plugin: str = "KubernetesPlugin", **extras: str) -> Outcome:
    options = {name.replace("_", "-"): value for name, value in extras.items()}
    return Runner([BoundPlugin(PLUGINS[plugin], options)]).run(read_one(text))


def transformed(text: str, plugin: str = "KubernetesPlugin", **extras: str) -> Any:
    outcome = run(text, plugin, **extras)
    assert outcome.failures == ()
    return outcome.transformed()


def is_left_out(text: str, **extras: str) -> bool:
    outcome = run(text, **extras)
    assert outcome.failures == ()
    return bool(outcome.whiteouts)


def test_what_only_a_cluster_writes_is_removed() -> None:
    found = transformed(SERVICE)
    assert found["metadata"] == {"name": "web", "namespace": "team-a", "annotations": {"example.com/kept": "yes"}}
    assert "status" not in found


def test_an_object_without_such_fields_needs_no_operation() -> None:
    assert run("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").kept == ()


def test_addresses_and_ports_that_nobody_applied_are_removed_from_services() -> None:
    assert transformed(SERVICE)["spec"] == {
        "type": "NodePort",
        "ports": [{"port": 80, "nodePort": 30080}, {"port": 443}],
    }
    headless = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}"
    assert run(headless).kept == ()


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: v1, kind: Endpoints, metadata: {name: a}}",
        "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}}",
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}",
        "{kind: Secret, apiVersion: v1, metadata: {annotations: {kubernetes.io/service-account.name: default}}}",
        "{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/service-account-token}",
        "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, ownerReferences: [{kind: Deployment}]}}",
        "{apiVersion: extensions/v1beta1, kind: Ingress, metadata: {name: a}}",
    ],
)
def test_what_a_cluster_makes_itself_is_left_out(text: str) -> None:
    assert is_left_out(text)


def test_what_is_left_out_can_be_chosen() -> None:
    owned = "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, ownerReferences: [{kind: Deployment}]}}"
    account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}"
    bundle = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt}}"
    route = "{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: a}}"
    assert not is_left_out(owned, disable_whiteout_owned="true")
    assert not is_left_out(account, strip_default_rbac="false")
    assert not is_left_out(bundle, strip_default_cabundle="false")
    assert not is_left_out(route)
    assert is_left_out(route, extra_whiteouts="Deployment.apps, Route.route.openshift.io")
    assert is_left_out(route, include_only="Deployment.apps,Service")
    assert not is_left_out(SERVICE, include_only="Deployment.apps,Service")


def test_pods_forget_their_node_and_jobs_their_selector() -> None:
    pod = (
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n, nodeSelector: {a: b}, priority: 0, x: 1}}"
    )
    assert transformed(pod)["spec"] == {"x": 1}
    labels = "{controller-uid: u, batch.kubernetes.io/controller-uid: u, app: a}"
    spec = f"{{selector: {{}}, template: {{metadata: {{labels: {labels}}}}}}}"
    job = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: a, labels: {labels}}}, spec: {spec}}}"
    found = transformed(job)
    assert found["metadata"]["labels"] == {"app": "a"}
    assert found["spec"] == {"template": {"metadata": {"labels": {"app": "a"}}}}
    assert "selector" in transformed(job.replace("selector: {}", "manualSelector: true, selector: {}"))["spec"]


def test_service_accounts_forget_the_secrets_that_were_made_for_them() -> None:
    text = """
      {apiVersion: v1, kind: ServiceAccount, metadata: {name: builder},
       secrets: [{name: builder-token-x1}, {name: own}, {name: builder-dockercfg-x2}],
       imagePullSecrets: [{name: builder-dockercfg-x2}]}
    """
    found = transformed(text)
    assert (found["secrets"], found["imagePullSecrets"]) == ([{"name": "own"}], [])


def test_subjects_of_the_same_namespace_lose_it() -> None:
    text = """
      {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: team-a},
       subjects: [{kind: ServiceAccount, name: x, namespace: team-a}, {kind: ServiceAccount, name: y, namespace: other},
                  {kind: Group, name: z}]}
    """
    assert [each.get("namespace") for each in transformed(text)["subjects"]] == [None, "other", None]


def test_claims_are_renamed_and_registries_replaced_also_in_cron_jobs() -> None:
    registries = "registry.example.com=mirror.local,registry.example.com/team=mirror.local/ours"
    found = transformed(CRON_JOB, pvc_rename_map="old:new", registry_replacement=registries)
    spec = found["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "new"}
    assert spec["initContainers"][0]["image"] == "mirror.local/ours/init:1"
    assert spec["containers"][0]["image"] == "mirror.local/other/main@sha256:0"
    assert spec["ephemeralContainers"][0]["image"] == "mirror.local/ours/debug"


def test_annotations_are_added_and_removed_with_keys_escaped_and_values_whole() -> None:
    found = transformed(SERVICE, add_annotations="example.com/a~b=x=y=z,plain=1", remove_annotations="example.com/kept")
    assert found["metadata"]["annotations"] == {"example.com/a~b": "x=y=z", "plain": "1"}


@pytest.mark.parametrize("plugin", ["annotations", "labels"])
def test_annotations_and_labels_are_added_and_removed(plugin: str) -> None:
    text = f"{{apiVersion: v1, kind: Pod, metadata: {{name: a, {plugin}: {{a/b: '1', c: '2'}}}}}}"
    found = transformed(text, plugin, add="x/y=a=b,c=2", remove="a/b,unknown,c")
    assert found["metadata"][plugin] == {"c": "2", "x/y": "a=b"}
    bare = transformed("{apiVersion: v1, kind: Pod, metadata: {name: a}}", plugin, add='{"x/y": "1,2"}', remove="z")
    assert bare["metadata"][plugin] == {"x/y": "1,2"}


def test_two_that_add_to_what_is_not_there_yet_do_not_clash() -> None:
    tree = read_one("{apiVersion: v1, kind: Pod, metadata: {name: a}}")
    bound = [BoundPlugin(PLUGINS["labels"], {"add": each}) for each in ("a=1", "b=2")]
    outcome = Runner(bound).run(tree)
    assert outcome.ignored == ()
    assert (outcome.transformed() or {})["metadata"]["labels"] == {"a": "1", "b": "2"}


MIRRORS = {
    "registry.example.com": "mirror.local",
    "registry.example.com/team": "mirror.local/t/",
    "docker.io/": "hub.local",
    "docker.io/library/redis": "own.local/redis",
    "localhost": "no",
}


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("registry.example.com/web:1", "mirror.local/web:1"),
        ("registry.example.com/team/web:1", "mirror.local/t/web:1"),
        ("registry.example.com/teams/web:1", "mirror.local/teams/web:1"),
        ("registry.example.com:5000/web", "registry.example.com:5000/web"),
        ("registry.example.com.evil/web", "registry.example.com.evil/web"),
        ("nginx", "hub.local/library/nginx"),
        ("redis:7", "own.local/redis:7"),
        ("redis@sha256:0", "own.local/redis@sha256:0"),
        ("redisearch:2", "hub.local/library/redisearch:2"),
        ("bitnami/redis", "hub.local/bitnami/redis"),
        ("docker.io/bitnami/redis", "hub.local/bitnami/redis"),
        ("localhost:5000/x", "localhost:5000/x"),
        ("quay.io/x/y", "quay.io/x/y"),
    ],
)
def test_of_several_prefixes_the_longest_that_fits_whole_names_is_replaced(image: str, wanted: str) -> None:
    assert mirrored(image, MIRRORS) == wanted


def test_images_of_all_containers_are_mirrored() -> None:
    found = transformed(CRON_JOB, "registry-mirror", map='{"registry.example.com": "mirror.local"}')
    spec = found["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    images = [
        each.get("image") for field in ("initContainers", "containers", "ephemeralContainers") for each in spec[field]
    ]
    assert images == ["mirror.local/team/init:1", "mirror.local/other/main@sha256:0", None, "mirror.local/team/debug"]


def test_a_namespace_is_renamed_with_what_refers_to_it() -> None:
    text = """
      {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: team-a},
       subjects: [{kind: ServiceAccount, name: x, namespace: team-a},
                  {kind: ServiceAccount, name: y, namespace: other}]}
    """
    found = transformed(text, "rename-namespace", map="team-a=team-b")
    assert found["metadata"]["namespace"] == "team-b"
    assert [each["namespace"] for each in found["subjects"]] == ["team-b", "other"]
    hook = "{name: h, clientConfig: {service: {name: s, namespace: team-a}}}"
    webhook = f"{{apiVersion: admissionregistration.k8s.io/v1, kind: X, metadata: {{name: a}}, webhooks: [{hook}]}}"
    renamed = transformed(webhook, "rename-namespace", map="team-a=team-b")
    assert renamed["webhooks"][0]["clientConfig"]["service"]["namespace"] == "team-b"
    whole = transformed(
        "{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}", "rename-namespace", map="team-a=b"
    )
    assert whole["metadata"]["name"] == "b"
    assert run("{apiVersion: v1, kind: Pod, metadata: {name: team-a}}", "rename-namespace", map="team-a=b").kept == ()


@pytest.mark.parametrize(
    ("plugin", "option", "value"),
    [
        ("KubernetesPlugin", "add-annotations", "no-value"),
        ("KubernetesPlugin", "disable-whiteout-owned", "maybe"),
        ("registry-mirror", "map", '{"a": 1}'),
        ("labels", "remove", "[1]"),
    ],
)
def test_an_option_that_cannot_be_read_is_named(plugin: str, option: str, value: str) -> None:
    found = ask(BoundPlugin(PLUGINS[plugin], {option: value}), read_one(SERVICE))
    assert isinstance(found, Failure)
    assert found.message.startswith(option)


@pytest.mark.rule("B3")
def test_each_has_a_number_and_tells_its_options() -> None:
    for name, plugin in PLUGINS.items():
        assert plugin.identity == f"{name}@1"
        assert all(each.flag_name and each.help and each.example for each in plugin.optional_fields)


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"metadata": None, "spec": None, "subjects": None, "webhooks": {}},
        {"kind": "Service", "apiVersion": "v1", "metadata": {"annotations": []}, "spec": {"ports": ["x"]}},
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {},
            "spec": {"containers": ["x", {"image": 1}], "volumes": [None]},
        },
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": 7}, "secrets": ["x"]},
    ],
)
def test_odd_objects_do_no_harm(plugin: str, tree: dict[str, Any]) -> None:
    extras = {"map": "a=b", "add": "a=b", "remove": "c", "pvc-rename-map": "a:b", "registry-replacement": "a=b"}
    assert isinstance(ask(BoundPlugin(PLUGINS[plugin], extras), tree), Response)
