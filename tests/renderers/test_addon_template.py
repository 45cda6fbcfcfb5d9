"""AddOnTemplates of Open Cluster Management, rendered as its template agent renders them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fleetform.model.results.rendering import AddOn
from fleetform.renderers.addon_template import render_template
from fleetform.renderers.failures import RenderError
from fleetform.syntax.yaml_in import read_one

WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: agent-system}
spec:
  template:
    spec:
      tolerations: [{key: old}]
      initContainers: [{name: init, image: quay.io/acme/init:v1}]
      containers:
      - {name: main, image: "quay.io/acme/agent:{{VERSION}}", args: ["--level={{LEVEL}}", "--cluster={{CLUSTER_NAME}}"]}
      - {name: side, image: example.com/side, env: [{name: OWN, value: x}], resources: {limits: {cpu: 1}}}
"""


def template(*manifests: str, registration: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"agentSpec": {"workload": {"manifests": [read_one(each) for each in manifests]}}}
    if registration is not None:
        spec["registration"] = read_one(f"a: {registration}")["a"]
    return {"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnTemplate", "spec": spec}


def render(tree: dict[str, Any], values: str = "{}", **more: Any) -> list[dict[str, Any]]:
    add_on = AddOn("hello", "hello-1", tree, "c1", **more)
    return render_template(add_on, read_one(f"a: {values}")["a"])


def containers(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = objects[0]["spec"]["template"]["spec"]["containers"]
    return found


def env(container: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container.get("env", [])}


def test_variables_are_replaced_in_every_text_and_those_without_a_value_by_nothing() -> None:
    main, _ = containers(render(template(WORKLOAD), "{VERSION: v2}"))
    assert main["image"] == "quay.io/acme/agent:v2"
    assert main["args"] == ["--level=", "--cluster=c1"]


def test_a_value_is_put_in_as_it_is() -> None:
    """There it is put into JSON: a quote would break it, and could add fields."""
    main, _ = containers(render(template(WORKLOAD), """{VERSION: '1", "x": "{{LEVEL}}', LEVEL: 3}"""))
    assert main["image"] == 'quay.io/acme/agent:1", "x": "{{LEVEL}}'
    assert main["args"][0] == "--level=3"


@pytest.mark.parametrize(
    ("registration", "values", "expected"),
    [
        (None, "{}", {"CLUSTER_NAME": "c1"}),
        ("[]", "{}", {"HUB_KUBECONFIG": "/managed/hub-kubeconfig/kubeconfig", "CLUSTER_NAME": "c1"}),
        ("[]", "{HUB_KUBECONFIG: /x, CLUSTER_NAME: mine}", {"HUB_KUBECONFIG": "/x", "CLUSTER_NAME": "c1"}),
        (None, "{agentInstallNamespace: ns, LEVEL: a}", {"CLUSTER_NAME": "c1", "INSTALL_NAMESPACE": "ns"}),
    ],
)
def test_containers_get_what_is_built_in_as_their_environment(
    registration: str | None, values: str, expected: dict[str, str]
) -> None:
    objects = render(template(WORKLOAD, registration=registration), values)
    main, side = containers(objects)
    assert (env(main), env(side)) == (expected, {"OWN": "x", **expected})
    assert list(env(main)) == list(expected)
    assert "env" not in objects[0]["spec"]["template"]["spec"]["initContainers"][0]


def test_what_is_no_workload_keeps_its_shape() -> None:
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: b}]}}"
    foreign = "{apiVersion: example.com/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {}}}}"
    assert render(template(pod, foreign), "{nodeSelector: {a: b}}") == [read_one(pod), read_one(foreign)]


def test_registrations_bring_volumes_with_credentials() -> None:
    registration = "[{type: KubeClient}, {type: CustomSigner, customSigner: {signerName: example.com/signer}}]"
    objects = render(template(WORKLOAD.replace("Deployment", "DaemonSet"), registration=registration))
    assert [each["volumeMounts"] for each in containers(objects)] == 2 * [
        [
            {"name": "hub-kubeconfig", "mountPath": "/managed/hub-kubeconfig"},
            {"name": "cert-example-com-signer", "mountPath": "/managed/example.com-signer"},
        ]
    ]
    assert objects[0]["spec"]["template"]["spec"]["volumes"] == [
        {"name": "hub-kubeconfig", "secret": {"secretName": "hello-hub-kubeconfig"}},
        {"name": "cert-example-com-signer", "secret": {"secretName": "hello-example.com-signer-client-cert"}},
    ]


def test_nodes_are_those_of_the_deployment_config() -> None:
    pod = render(template(WORKLOAD), "{nodeSelector: {disk: ssd}}")[0]["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["tolerations"]) == ({"disk": "ssd"}, [{"key": "old"}])
    pod = render(template(WORKLOAD), "{tolerations: [{key: new}]}")[0]["spec"]["template"]["spec"]
    assert ("nodeSelector" in pod, pod["tolerations"]) == (False, [{"key": "new"}])


@pytest.mark.parametrize(
    ("registries", "expected"),
    [
        ("[{source: quay.io/acme, mirror: mirror.io/a/}]", "mirror.io/a/agent:v1"),
        ("[{source: quay.io/acme, mirror: one.io}, {source: quay.io, mirror: two.io}]", "two.io/acme/agent:v1"),
        ("[{source: other.io, mirror: one.io}]", "quay.io/acme/agent:v1"),
        ("[{source: '', mirror: one.io}]", "one.io/agent:v1"),
    ],
)
def test_images_come_from_mirrors(registries: str, expected: str) -> None:
    main, _ = containers(render(template(WORKLOAD), f"{{VERSION: v1, registries: {registries}}}"))
    assert main["image"] == expected


def test_a_clusters_own_mirrors_count_unless_the_config_has_some() -> None:
    annotation = '{"registries": [{"source": "quay.io", "mirror": "cluster.io"}]}'
    values = "{VERSION: v1, registries: [{source: quay.io, mirror: config.io}]}"
    assert containers(render(template(WORKLOAD), "{VERSION: v1}", image_registries=annotation))[0]["image"] == (
        "cluster.io/acme/agent:v1"
    )
    assert containers(render(template(WORKLOAD), values, image_registries=annotation))[0]["image"].startswith("config.")
    with pytest.raises(RenderError, match="no JSON"):
        render(template(WORKLOAD), image_registries="{")


def test_proxies_reach_containers_and_their_certificates_a_config_map() -> None:
    bundle = base64.b64encode(b"CERT").decode()
    values = f"{{proxyConfig: {{httpsProxy: https://p, noProxy: .local, caBundle: {bundle}}}}}"
    objects = render(template(WORKLOAD), values)
    found = env(containers(objects)[0])
    assert {name: found[name] for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "CA_BUNDLE_FILE_PATH")} == {
        "HTTPS_PROXY": "https://p",
        "https_proxy": "https://p",
        "NO_PROXY": ".local",
        "CA_BUNDLE_FILE_PATH": "/managed/proxy-ca/ca-bundle.crt",
    }
    assert objects[1] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hello-proxy-ca", "namespace": "open-cluster-management-agent-addon"},
        "data": {"ca-bundle.crt": "CERT"},
    }
    assert objects[0]["spec"]["template"]["spec"]["volumes"] == [
        {"name": "proxy-ca-bundle", "configMap": {"name": "hello-proxy-ca"}}
    ]
    # Without a proxy nobody mounts them.
    alone = render(template(WORKLOAD), f"{{proxyConfig: {{caBundle: {bundle}}}}}")
    assert (len(alone), "volumes" in alone[0]["spec"]["template"]["spec"]) == (2, False)


def test_of_several_resource_requirements_the_last_that_matches_counts() -> None:
    values = (
        "{resourceRequirements: [{containerID: '*:*:*', resources: {limits: {memory: 1Gi}}},"
        " {containerID: 'deployments:agent:main', resources: {limits: {memory: 2Gi}}},"
        " {containerID: 'daemonsets:*:*', resources: {limits: {memory: 3Gi}}}]}"
    )
    assert [each["resources"] for each in containers(render(template(WORKLOAD), values))] == [
        {"limits": {"memory": "2Gi"}},
        {"limits": {"memory": "1Gi"}},
    ]
    with pytest.raises(RenderError, match="'x' is not the ID of containers"):
        render(template(WORKLOAD), "{resourceRequirements: [{containerID: x, resources: {}}]}")


BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects: [{kind: ServiceAccount, name: s, namespace: agent-system}]
"""


@pytest.mark.parametrize(
    ("values", "config", "expected"),
    [
        ("{}", False, "agent-system"),
        # The hub fills it in where a config leaves it out; empty leaves the template's.
        ("{}", True, "open-cluster-management-agent-addon"),
        ("{agentInstallNamespace: ''}", True, "agent-system"),
        ("{agentInstallNamespace: ns}", True, "ns"),
    ],
)
def test_all_goes_to_the_namespace_that_a_deployment_config_names(values: str, config: bool, expected: str) -> None:
    names = "{apiVersion: v1, kind: Namespace, metadata: {name: agent-system}}"
    objects = render(template(WORKLOAD, BINDING, names), values, has_deployment_config=config)
    workload, binding, namespace = objects
    assert workload["metadata"]["namespace"] == binding["subjects"][0]["namespace"] == expected
    assert (namespace["metadata"]["name"], "namespace" in binding["metadata"]) == (expected, False)


def test_rendering_leaves_the_template_as_it_is() -> None:
    tree = template(WORKLOAD, BINDING, registration="[{type: KubeClient}]")
    before = str(tree)
    render(tree, "{agentInstallNamespace: ns, nodeSelector: {a: b}}")
    assert str(tree) == before


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ({"spec": {}}, "has no manifests"),
        ({"spec": {"agentSpec": {"workload": {"manifests": ["{{X}}"]}}}}, "manifest 0"),
        ({"spec": {"agentSpec": {"workload": {"manifests": [{"kind": "A", "apiVersion": "v1"}]}}}}, "no metadata.name"),
    ],
)
def test_a_template_that_makes_no_objects_says_why(tree: dict[str, Any], why: str) -> None:
    with pytest.raises(RenderError, match=why):
        render(tree)
