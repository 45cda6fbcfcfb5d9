"""The clean-up of what was exported from a cluster, so that another one takes it: Crane's KubernetesPlugin, with its
options, written anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from fleetform.engine.transform.records import Response
from fleetform.syntax.json_patch import Operation, pointer_to
from fleetform.syntax.names import api_group
from fleetform.transform.operations import remove, replace
from fleetform.transform.views import plain
from fleetform.transform.wire import OptionalField
from fleetform.transformers.builtin.base import BuiltIn, below, flag, items, names, pairs, pod_specs
from fleetform.transformers.builtin.metadata import change_metadata
from fleetform.transformers.builtin.registries import change_images

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OWNER = ("controller-uid", "batch.kubernetes.io/controller-uid")
_BY_THE_SERVER = ("uid", "selfLink", "resourceVersion", "creationTimestamp", "generation", "managedFields")
# Made anew by every cluster, or moved by other means.
_LEFT_OUT = frozenset({"Endpoints", "EndpointSlice.discovery.k8s.io", "PersistentVolumeClaim"})
_TOKEN = "kubernetes.io/service-account-token"
_PULL_SECRET = "kubernetes.io/dockercfg"

_ADD, _REMOVE, _REGISTRIES = "add-annotations", "remove-annotations", "registry-replacement"
_EXTRA, _ONLY, _OWNED = "extra-whiteouts", "include-only", "disable-whiteout-owned"
_RBAC, _BUNDLE, _CLAIMS = "strip-default-rbac", "strip-default-cabundle", "pvc-rename-map"


class KubernetesPlugin(BuiltIn):
    """Leaves out what a cluster makes itself, and removes from the rest what only a cluster writes."""

    NAME = "KubernetesPlugin"
    OPTIONS = (
        OptionalField(_ADD, "Annotations to add to each resource", "annotation1=value1,annotation2=value2"),
        OptionalField(_REMOVE, "Annotations to remove", "annotation1,annotation2"),
        OptionalField(_REGISTRIES, "Registries, or longer beginnings of images, and what takes their place",
                      "docker.io/foo=quay.io/bar,registry.old.example.com=registry.new.example.com"),
        OptionalField(_EXTRA, "More kinds to leave out", "Deployment.apps,Service,Route.route.openshift.io"),
        OptionalField(_ONLY, "Leave out all kinds but these", "Deployment.apps,Service"),
        OptionalField(_OWNED, "Keep resources that belong to another (default: false)", "true"),
        OptionalField(_RBAC, "Leave out the default service account and its secrets (default: true)", "true"),
        OptionalField(_BUNDLE, "Leave out kube-root-ca.crt (default: true)", "true"),
        OptionalField(_CLAIMS, "Volume claims and their new names", "old-claim:new-claim,other:renamed"),
    )  # fmt: skip

    def answer(self, resource: Mapping[str, Any], extras: Mapping[str, str]) -> Response:
        if _is_left_out(resource, extras):
            return Response(whiteout=True)
        added = pairs(_ADD, extras.get(_ADD, ""))
        removed = [_LAST_APPLIED, *_OWNER, *names(_REMOVE, extras.get(_REMOVE, ""))]
        operations = chain(
            _server_fields(resource),
            change_metadata(resource, "annotations", added, list(dict.fromkeys(removed))),
            change_metadata(resource, "labels", {}, _OWNER),
            _OF_KIND.get(_group_kind(resource), lambda _: iter(()))(resource),
            _claims(resource, pairs(_CLAIMS, extras.get(_CLAIMS, ""), ":")),
            change_images(resource, pairs(_REGISTRIES, extras.get(_REGISTRIES, ""))),
        )
        return Response(tuple(operations))


# ---- What is left out


def _group_kind(resource: Mapping[str, Any]) -> str:
    """A kind as people write it: Deployment.apps, and Service of the core."""
    kind, group = str(resource.get("kind")), api_group(str(resource.get("apiVersion", "")))
    return f"{kind}.{group}" if group else kind


def _is_left_out(resource: Mapping[str, Any], extras: Mapping[str, str]) -> bool:
    kind = _group_kind(resource)
    only, extra = names(_ONLY, extras.get(_ONLY, "")), names(_EXTRA, extras.get(_EXTRA, ""))
    keeps_owned = flag(_OWNED, extras.get(_OWNED, ""), False)
    drops_default = flag(_RBAC, extras.get(_RBAC, ""), True)
    drops_bundle = flag(_BUNDLE, extras.get(_BUNDLE, ""), True)
    if (only and kind not in only) or (not only and (kind in _LEFT_OUT or kind in extra)):
        return True
    if kind == "Secret" and resource.get("type") in (_TOKEN, _PULL_SECRET):
        return True
    if below(resource, "metadata", "ownerReferences") and not keeps_owned:
        return True
    name = below(resource, "metadata", "name")
    if drops_default:
        account = below(resource, "metadata", "annotations", "kubernetes.io/service-account.name")
        if (kind, name) == ("ServiceAccount", "default") or (kind, account) == ("Secret", "default"):
            return True
    if (kind, name) == ("ConfigMap", "kube-root-ca.crt") and drops_bundle:
        return True
    # What this group had is in others today; an export holds both.
    return kind.endswith(".extensions")


# ---- What is removed


def _present(resource: Mapping[str, Any], *path: str) -> Iterator[Operation]:
    holder = below(resource, *path[:-1])
    if isinstance(holder, Mapping) and path[-1] in holder:
        yield remove(pointer_to(*path))


def _server_fields(resource: Mapping[str, Any]) -> Iterator[Operation]:
    for field in _BY_THE_SERVER:
        yield from _present(resource, "metadata", field)
    yield from _present(resource, "status")


def _pod(resource: Mapping[str, Any]) -> Iterator[Operation]:
    for field in ("nodeName", "nodeSelector", "priority"):
        yield from _present(resource, "spec", field)


def _job(resource: Mapping[str, Any]) -> Iterator[Operation]:
    """The selector that the cluster made, and the labels that it selects by."""
    if below(resource, "spec", "manualSelector") is True:
        return
    yield from _present(resource, "spec", "selector")
    for label in _OWNER:
        yield from _present(resource, "spec", "template", "metadata", "labels", label)


def _service(resource: Mapping[str, Any]) -> Iterator[Operation]:
    """Addresses and ports that the cluster chose: those that nobody applied."""
    applied = _last_applied(resource)
    if below(resource, "spec", "clusterIP") != "None":
        for field in ("clusterIP", "clusterIPs"):
            if below(applied, "spec", field) is None:
                yield from _present(resource, "spec", field)
    for field in ("externalIPs", "healthCheckNodePort"):
        if below(applied, "spec", field) is None:
            yield from _present(resource, "spec", field)
    chosen = {below(port, "nodePort") for port in items(below(applied, "spec", "ports"))} - {None}
    for number, port in enumerate(items(below(resource, "spec", "ports"))):
        if isinstance(port, Mapping) and "nodePort" in port and port["nodePort"] not in chosen:
            yield remove(pointer_to("spec", "ports", number, "nodePort"))


def _last_applied(resource: Mapping[str, Any]) -> Any:
    text = below(resource, "metadata", "annotations", _LAST_APPLIED)
    try:
        return msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None


def _service_account(resource: Mapping[str, Any]) -> Iterator[Operation]:
    """References to secrets that the cluster made for the account; from the last, so that indices stay true."""
    name = str(below(resource, "metadata", "name"))
    made = (f"{name}-token-", f"{name}-dockercfg-")
    for field in ("secrets", "imagePullSecrets"):
        references = plain(items(resource.get(field)))
        for number in range(len(references) - 1, -1, -1):
            if str(below(references[number], "name")).startswith(made):
                yield remove(pointer_to(field, number))


def _role_binding(resource: Mapping[str, Any]) -> Iterator[Operation]:
    """The namespace of subjects that live where the binding does: wherever it moves, they are there."""
    here = below(resource, "metadata", "namespace")
    for number, subject in enumerate(items(resource.get("subjects"))):
        if here is not None and below(subject, "namespace") == here:
            yield remove(pointer_to("subjects", number, "namespace"))


_OF_KIND = {
    "Pod": _pod,
    "Job.batch": _job,
    "Service": _service,
    "ServiceAccount": _service_account,
    "RoleBinding.rbac.authorization.k8s.io": _role_binding,
}


def _claims(resource: Mapping[str, Any], renamed: Mapping[str, str]) -> Iterator[Operation]:
    for path, spec in pod_specs(resource) if renamed else ():
        for number, volume in enumerate(items(spec.get("volumes"))):
            name = below(volume, "persistentVolumeClaim", "claimName")
            if name in renamed:
                where = pointer_to(*path, "volumes", number, "persistentVolumeClaim", "claimName")
                yield replace(where, renamed[name])
