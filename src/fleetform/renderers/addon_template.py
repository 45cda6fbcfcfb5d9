"""AddOnTemplates of Open Cluster Management, as its template agent renders them.

`{{NAME}}` in the texts of a template's manifests is replaced; then Deployments and DaemonSets get the environment, the
volumes of registrations, and what an AddOnDeploymentConfig says of nodes, images, proxies and resources; and all
objects go to the namespace that it names.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fleetform.engine.configs.items import DEPLOYMENT_VALUES
from fleetform.model.results.rendering import AddOn
from fleetform.renderers.failures import RenderError
from fleetform.renderers.parse import problem_of
from fleetform.syntax.addon_templates import filled_in, manifests_of
from fleetform.syntax.trees import YamlMap, YamlValue, as_map, copied
from fleetform.syntax.variables import ExpandError, as_text

AGENT_NAMESPACE = "open-cluster-management-agent-addon"
_MOUNTS = "/managed"
_HUB_KUBECONFIG = "hub-kubeconfig"
_PROXY_CA = "proxy-ca"
_CA_FILE = "ca-bundle.crt"
_WORKLOADS = {"Deployment": "deployments", "DaemonSet": "daemonsets"}

Environment = list[YamlMap]


class _Volumes(NamedTuple):
    mounts: list[YamlMap]
    volumes: list[YamlMap]


def render_template(add_on: AddOn, values: Mapping[str, YamlValue]) -> list[YamlMap]:
    """The objects of an add-on on one cluster; values are those of its deployment configs, by their names."""
    spec, manifests = as_map(add_on.template.get("spec")), manifests_of(add_on.template)
    if not manifests:
        message = f"the AddOnTemplate {add_on.template_name} has no manifests"
        raise RenderError(message, "add spec.agentSpec.workload.manifests")
    namespace = _install_namespace(add_on, values)
    built_in = {"CLUSTER_NAME": add_on.cluster, **({"INSTALL_NAMESPACE": namespace} if namespace else {})}
    registrations = spec.get("registration")
    # Not built in: a deployment config may name another file.
    defaults = {"HUB_KUBECONFIG": f"{_MOUNTS}/{_HUB_KUBECONFIG}/kubeconfig"} if registrations is not None else {}
    given = {name: _text(value, name) for name, value in values.items() if name not in DEPLOYMENT_VALUES}
    variables = {**defaults, **given, **built_in}
    environment = [{"name": name, "value": variables[name]} for name in (*defaults, *sorted(built_in))]
    volumes = _of_registrations(add_on.name, registrations if isinstance(registrations, list) else [])
    objects = []
    for number, manifest in enumerate(manifests):
        tree = filled_in(manifest, variables)
        problem = problem_of(tree)
        if problem is not None or not isinstance(tree, dict):
            message = f"manifest {number} of the AddOnTemplate {add_on.template_name}: {problem}"
            raise RenderError(message, "correct spec.agentSpec.workload.manifests")
        _decorate(tree, add_on, values, environment, volumes)
        objects.append(_in_namespace(tree, namespace))
    objects += [_in_namespace(each, namespace) for each in _of_proxy(add_on, values)]
    return objects


def _install_namespace(add_on: AddOn, values: Mapping[str, YamlValue]) -> str:
    """Where all of it goes; empty: where the template says. The hub fills the field in if a config leaves it out."""
    written = values.get("agentInstallNamespace", AGENT_NAMESPACE if add_on.has_deployment_config else "")
    return written if isinstance(written, str) else ""


def _text(value: YamlValue, name: str) -> str:
    try:
        return as_text(value, name)
    except ExpandError:
        raise RenderError(f"the variable {name} is not a text", "give it a text, a number or a boolean") from None


# ---- Workloads


def _decorate(
    tree: YamlMap, add_on: AddOn, values: Mapping[str, YamlValue], environment: Environment, volumes: _Volumes
) -> None:
    kind = str(tree["kind"])
    if kind not in _WORKLOADS or str(tree["apiVersion"]).partition("/")[0] != "apps":
        return
    pod = as_map(as_map(as_map(tree.get("spec")).get("template")).get("spec"))
    listed = pod.get("containers")
    containers = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    _add_environment(containers, environment)
    _add_volumes(pod, containers, volumes)
    for field in ("nodeSelector", "tolerations"):
        if field in values:
            pod[field] = copied(values[field])
    for container in containers:
        if isinstance(container.get("image"), str):
            container["image"] = _mirrored(container["image"], _registries(add_on, values))
    _add_proxy(pod, containers, add_on, values)
    _add_resources(f"{_WORKLOADS[kind]}:{tree['metadata']['name']}", containers, values)


def _add_environment(containers: Sequence[YamlMap], environment: Environment) -> None:
    for container in containers if environment else ():
        container["env"] = [*(container.get("env") or []), *copied(environment)]


def _add_volumes(pod: YamlMap, containers: Sequence[YamlMap], added: _Volumes) -> None:
    if not added.volumes:
        return
    for container in containers:
        container["volumeMounts"] = [*(container.get("volumeMounts") or []), *copied(added.mounts)]
    pod["volumes"] = [*(pod.get("volumes") or []), *copied(added.volumes)]


def _of_registrations(add_on: str, registrations: Sequence[YamlValue]) -> _Volumes:
    """The credentials that an add-on gets on its cluster, one volume for each of its registrations."""
    found = _Volumes([], [])
    for each in registrations:
        registration = as_map(each)
        if registration.get("type") == "KubeClient":
            name, folder, secret = _HUB_KUBECONFIG, _HUB_KUBECONFIG, f"{add_on}-hub-kubeconfig"
        elif registration.get("type") == "CustomSigner":
            signer = as_map(registration.get("customSigner")).get("signerName")
            if not isinstance(signer, str):
                raise RenderError(
                    "a registration of type CustomSigner has no customSigner.signerName", "name the signer"
                )
            folder = signer.replace("/", "-")
            name, secret = f"cert-{folder.replace('.', '-')}", f"{add_on}-{folder}-client-cert"
        else:
            continue
        found.mounts.append({"name": name, "mountPath": f"{_MOUNTS}/{folder}"})
        found.volumes.append({"name": name, "secret": {"secretName": secret}})
    return found


# ---- Images


def _registries(add_on: AddOn, values: Mapping[str, YamlValue]) -> list[YamlMap]:
    """Mirrors of registries: those of the deployment config, else those that the cluster's annotation names."""
    registries = values.get("registries")
    if registries is None and add_on.image_registries:
        try:
            registries = as_map(json.loads(add_on.image_registries)).get("registries")
        except ValueError:
            message = f"the annotation with image registries of {add_on.cluster} is no JSON"
            raise RenderError(message, 'write {"registries": [{"source": …, "mirror": …}]}') from None
    return [each for each in registries if isinstance(each, dict)] if isinstance(registries, list) else []


def _mirrored(image: str, registries: Sequence[YamlMap]) -> str:
    """An image where its mirror has it; the last registry that has one counts."""
    found = image
    for each in registries:
        source, mirror = (str(each.get(part) or "").removesuffix("/") for part in ("source", "mirror"))
        if not source:
            name = image.rpartition("/")[2]
            mirrored = f"{mirror}/{name}" if mirror else name
        else:
            mirrored = mirror + image.removeprefix(source) if image.startswith(source) else image
        if mirrored != image:
            found = mirrored
    return found


# ---- Proxies


def _add_proxy(pod: YamlMap, containers: Sequence[YamlMap], add_on: AddOn, values: Mapping[str, YamlValue]) -> None:
    proxy = as_map(values.get("proxyConfig"))
    environment: Environment = []
    for field, name in (("httpProxy", "HTTP_PROXY"), ("httpsProxy", "HTTPS_PROXY"), ("noProxy", "NO_PROXY")):
        if proxy.get(field):
            environment += [{"name": each, "value": str(proxy[field])} for each in (name, name.lower())]
    _add_environment(containers, environment)
    if not environment or not proxy.get("caBundle"):
        return
    _add_environment(containers, [{"name": "CA_BUNDLE_FILE_PATH", "value": f"{_MOUNTS}/{_PROXY_CA}/{_CA_FILE}"}])
    mount = {"name": "proxy-ca-bundle", "mountPath": f"{_MOUNTS}/{_PROXY_CA}"}
    volume = {"name": "proxy-ca-bundle", "configMap": {"name": f"{add_on.name}-{_PROXY_CA}"}}
    _add_volumes(pod, containers, _Volumes([mount], [volume]))


def _of_proxy(add_on: AddOn, values: Mapping[str, YamlValue]) -> Iterator[YamlMap]:
    """The certificates of a proxy, for the workloads to mount."""
    bundle = as_map(values.get("proxyConfig")).get("caBundle")
    if not bundle:
        return
    try:
        text = base64.b64decode(str(bundle), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise RenderError("proxyConfig.caBundle is not text in base64", "encode the certificates") from None
    metadata = {"name": f"{add_on.name}-{_PROXY_CA}", "namespace": AGENT_NAMESPACE}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_CA_FILE: text}}


# ---- Resources


def _add_resources(workload: str, containers: Sequence[YamlMap], values: Mapping[str, YamlValue]) -> None:
    """Resources of containers by their ID, `deployments:<name>:<container>`; the last that matches counts."""
    requirements = values.get("resourceRequirements")
    for each in requirements if isinstance(requirements, list) else ():
        matches = _matcher(str(as_map(each).get("containerID", "")))
        for container in containers:
            if matches(f"{workload}:{container.get('name')}"):
                container["resources"] = copied(as_map(as_map(each).get("resources")))


def _matcher(container_id: str) -> Callable[[str], bool]:
    parts = container_id.split(":")
    if len(parts) != 3:
        message = f"{container_id!r} is not the ID of containers"
        raise RenderError(
            message, "write resourceRequirements[].containerID as deployments:<name>:<container>, or * for any"
        )
    # There a part is an expression; names have dots at most, which match themselves.
    pattern = re.compile(":".join(".+" if part == "*" else re.escape(part) for part in parts))
    return lambda text: pattern.fullmatch(text) is not None


# ---- Namespaces


def _in_namespace(tree: YamlMap, namespace: str) -> YamlMap:
    """An object in the namespace of the add-on, with subjects of bindings; those without a namespace have none."""
    if not namespace:
        return tree
    metadata = tree["metadata"]
    if metadata.get("namespace"):
        metadata["namespace"] = namespace
    if tree["kind"] == "Namespace":
        metadata["name"] = namespace
    subjects = tree.get("subjects") if tree["kind"] in ("ClusterRoleBinding", "RoleBinding") else None
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict):
            subject["namespace"] = namespace
    return tree
