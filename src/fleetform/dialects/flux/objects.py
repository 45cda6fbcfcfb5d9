"""Flux's objects for one plugin on one cluster: a source, and what installs from it.

Every plugin has a source of its own, named as the plugin is. One that many share would be fetched once, but who removes
it when a plugin goes, and folders of two plugins could not be applied together.

A Kustomization cannot say how `${…}` is substituted: once there are variables Flux looks at every name, declared or
not, and whether an unknown one is an error is a setting of its controller (StrictPostBuildSubstitutions, now on).
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import Any, NamedTuple

from fleetform.dialects.flux.parts import FluxError, git_address, manifest, refuse_login
from fleetform.dialects.flux.values import KeysOf, helm_values, post_build, unknown_keys
from fleetform.model.kinds.definition import GitSource, HelmSource, KustomizeSource, Source
from fleetform.syntax.names import LONGEST, cut_name
from fleetform.syntax.versions import VersionError, parse_version

SOURCE_API = "source.toolkit.fluxcd.io/v1"
HELM_API = "helm.toolkit.fluxcd.io/v2"
KUSTOMIZE_API = "kustomize.toolkit.fluxcd.io/v1"

_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_LONGEST_NAMESPACE = 63
_TIMEOUT = "5m"
_RETRY = "2m"


class KubeConfig(NamedTuple):
    """The Secret that lets Flux into another cluster; without a key Flux looks for value and value.yaml."""

    secret: str
    key: str | None = None


class FluxTarget(NamedTuple):
    """Where a plugin goes. Without kubeconfig Flux runs on the cluster itself, and needs nobody else (R3-5).

    name is that of all its objects, and those of depends_on are of the same kind as its own: Flux has no dependencies
    from one kind to another. Secrets that values refer to are looked for in namespace.
    """

    name: str
    release_name: str
    release_namespace: str | None
    namespace: str = "flux-system"
    kubeconfig: KubeConfig | None = None
    interval: str = "10m"
    suspend: bool = False
    labels: Mapping[str, str] = {}
    depends_on: tuple[str, ...] = ()


def fleeet_kubeconfig(cluster: str) -> KubeConfig:
    """The Secret that Cluster API keeps for a cluster, by which Fleeet's bootstrap modules reach it."""
    return KubeConfig(f"{cluster}-kubeconfig")


def flux_objects(
    source: Source,
    values: Mapping[str, Any],
    variables: Mapping[str, Any],
    target: FluxTarget,
    keys_of: KeysOf = unknown_keys,
) -> list[dict[str, Any]]:
    """The source and what installs from it: a chart with its values, or a kustomization with its variables.

    keys_of tells the keys of Secrets, where somebody knows them: what Flux would take from the wrong one is refused.
    """
    if source.helm is not None:
        return _helm(source.helm, values, target)
    if source.kustomize is not None:
        return _kustomize(_git_of(source.kustomize), variables, target, keys_of)
    if source.manifests is not None:
        raise _local("the manifests", source.manifests.path)
    raise FluxError("there is no source that Flux could fetch", "add source: helm or kustomize")


# ---- Helm


def _helm(helm: HelmSource, values: Mapping[str, Any], target: FluxTarget) -> list[dict[str, Any]]:
    address = helm.repository.rstrip("/")
    refuse_login(address)
    if not address.startswith(("https://", "http://", "oci://")):
        raise _local("the chart", f"{address}/{helm.chart}")
    if helm.version is None:
        message = f"the chart {helm.chart} has no version: Flux would take every new one by itself"
        raise FluxError(message, "write source.helm.version")
    try:
        parse_version(helm.version)
    except VersionError:
        message = f"{helm.version} of the chart {helm.chart} is a range: Flux would take every new version by itself"
        raise FluxError(message, "name one version in source.helm.version") from None
    if address.startswith("oci://"):
        return _chart_in_registry(f"{address}/{helm.chart}", helm.version, values, target)
    return _chart_in_repository(helm, helm.version, values, target)


def _chart_in_repository(
    helm: HelmSource, version: str, values: Mapping[str, Any], target: FluxTarget
) -> list[dict[str, Any]]:
    repository = _source("HelmRepository", {"url": helm.repository}, target)
    chart = {"chart": helm.chart, "version": version, "sourceRef": _ref_to(repository)}
    return [repository, _helm_release({"chart": {"spec": chart}}, values, target)]


def _chart_in_registry(
    address: str, version: str, values: Mapping[str, Any], target: FluxTarget
) -> list[dict[str, Any]]:
    # A tag cannot have a +; Helm writes _ for it.
    spec = {
        "url": address,
        "ref": {"tag": version.replace("+", "_")},
        "layerSelector": {"mediaType": _CHART_LAYER, "operation": "copy"},
    }
    repository = _source("OCIRepository", spec, target)
    return [repository, _helm_release({"chartRef": _ref_to(repository)}, values, target)]


def _helm_release(chart: dict[str, Any], values: Mapping[str, Any], target: FluxTarget) -> dict[str, Any]:
    if len(target.release_name) > LONGEST:
        message = f"the release name {target.release_name} has more than {LONGEST} characters, which Helm refuses"
        raise FluxError(message, "write a shorter releaseName")
    inline, references = helm_values(values)
    spec: dict[str, Any] = {**_installing(target), **chart, "releaseName": target.release_name}
    install: dict[str, Any] = {"strategy": _retrying()}
    if target.release_namespace is not None:
        # Helm keeps its records there, too: where it does when people install by hand.
        spec["targetNamespace"] = spec["storageNamespace"] = _namespace(target.release_namespace)
        install = {"createNamespace": True, **install}
    spec |= {"install": install, "upgrade": {"strategy": _retrying()}}
    if inline:
        spec["values"] = inline
    if references:
        spec["valuesFrom"] = references
    return _object(HELM_API, "HelmRelease", spec, target)


def _retrying() -> dict[str, str]:
    """A failed release is tried again as it is. Going back is Fleetform's decision; Flux alone would give up."""
    return {"name": "RetryOnFailure", "retryInterval": _RETRY}


# ---- Kustomize


def _git_of(kustomize: KustomizeSource) -> GitSource:
    if kustomize.git is not None:
        return kustomize.git
    raise _local("the kustomization", kustomize.path or ".")


def _kustomize(
    git: GitSource, variables: Mapping[str, Any], target: FluxTarget, keys_of: KeysOf
) -> list[dict[str, Any]]:
    repository = _source("GitRepository", {"url": git_address(git), "ref": _git_ref(git)}, target)
    spec: dict[str, Any] = {
        **_installing(target),
        "retryInterval": _RETRY,
        "sourceRef": _ref_to(repository),
        "path": _path(git.path),
        "prune": True,
        "wait": True,
    }
    if target.release_namespace is not None:
        spec["targetNamespace"] = _namespace(target.release_namespace)
    if variables:
        spec["postBuild"] = post_build(variables, keys_of)
    return [repository, _object(KUSTOMIZE_API, "Kustomization", spec, target)]


def _git_ref(git: GitSource) -> dict[str, str]:
    ref = git.ref
    given = {} if ref is None else {"commit": ref.commit, "tag": ref.tag, "branch": ref.branch}
    for kind, name in given.items():
        if name:
            return {kind: name}
    message = f"{git.url} has no ref: Flux would take a branch named master"
    raise FluxError(message, "write ref.tag, ref.commit or ref.branch")


def _path(path: str | None) -> str:
    normal = normpath((path or ".").lstrip("/") or ".")
    if normal == ".." or normal.startswith("../"):
        raise FluxError(f"the path {path} leads out of the repository", "write a path inside it")
    return "./" if normal == "." else f"./{normal}"


# ---- What both have


def _source(kind: str, spec: dict[str, Any], target: FluxTarget) -> dict[str, Any]:
    return _object(SOURCE_API, kind, {"interval": target.interval, **spec}, target)


def _object(api_version: str, kind: str, spec: dict[str, Any], target: FluxTarget) -> dict[str, Any]:
    # Flux puts the name into labels of all that it installs.
    return manifest(api_version, kind, cut_name(target.name), target.namespace, target.labels, spec)


def _ref_to(source: dict[str, Any]) -> dict[str, str]:
    return {"kind": source["kind"], "name": source["metadata"]["name"]}


def _installing(target: FluxTarget) -> dict[str, Any]:
    """What a HelmRelease and a Kustomization begin with."""
    spec: dict[str, Any] = {"interval": target.interval, "timeout": _TIMEOUT}
    if target.suspend:
        spec["suspend"] = True
    if target.depends_on:
        spec["dependsOn"] = [{"name": cut_name(name)} for name in sorted(target.depends_on)]
    if target.kubeconfig is not None:
        secret, key = target.kubeconfig
        spec["kubeConfig"] = {"secretRef": {"name": secret} if key is None else {"name": secret, "key": key}}
    return spec


def _namespace(name: str) -> str:
    if len(name) > _LONGEST_NAMESPACE:
        message = f"the namespace {name} has more than {_LONGEST_NAMESPACE} characters"
        raise FluxError(message, "write a shorter releaseNamespace")
    return name


def _local(what: str, path: str) -> FluxError:
    message = f"Flux cannot fetch {what} in the folder {path}: it reads repositories only"
    where = "a Helm repository or an OCI registry" if what == "the chart" else "a git repository (source.kustomize.git)"
    return FluxError(message, f"put it into {where}, or deliver this plugin otherwise than through Flux")
