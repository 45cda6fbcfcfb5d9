"""Flux's objects for one plugin on one cluster: a source, and a HelmRelease or Kustomization that installs from it.

Every plugin has a source of its own, with the plugin's name. A shared one would be fetched once, but nobody would know
when to remove it, and folders of two plugins could not be applied together.

A Kustomization has no setting for how `${…}` is substituted: once there are variables, Flux replaces every name,
declared or not, and whether an unknown one is an error is a setting of its controller (StrictPostBuildSubstitutions).
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import NamedTuple

from fleetform.dialects.flux.parts import FluxError, flux_git_address, manifest, refuse_login
from fleetform.dialects.flux.values import KeysOf, helm_values, post_build, unknown_keys
from fleetform.model.kinds.definition import GitSource, HelmSource, Source
from fleetform.syntax.names import LONGEST, cut_name
from fleetform.syntax.trees import YamlMap, YamlValue
from fleetform.syntax.versions import VersionError, parse_version

SOURCE_API = "source.toolkit.fluxcd.io/v1"
HELM_API = "helm.toolkit.fluxcd.io/v2"
KUSTOMIZE_API = "kustomize.toolkit.fluxcd.io/v1"

_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_LONGEST_NAMESPACE = 63
_TIMEOUT = "5m"
_RETRY = "2m"


class KubeConfig(NamedTuple):
    """The Secret with the kubeconfig of another cluster; without a key Flux looks for value and value.yaml."""

    secret: str
    key: str | None = None


class FluxTarget(NamedTuple):
    """Where a plugin is installed. Without kubeconfig Flux runs on the cluster itself (R3-5).

    name is the name of all its objects; those of depends_on are of the same kind, since Flux has no dependencies
    between kinds. Secrets that values refer to are in namespace.
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
    prune: bool = True


def fleeet_kubeconfig(cluster: str) -> KubeConfig:
    """The Secret that Cluster API keeps for a cluster, by which Fleeet's bootstrap modules reach it."""
    return KubeConfig(f"{cluster}-kubeconfig")


def flux_objects(
    source: Source,
    values: Mapping[str, YamlValue],
    variables: Mapping[str, YamlValue],
    target: FluxTarget,
    keys_of: KeysOf = unknown_keys,
) -> list[YamlMap]:
    """The source and what installs from it: a chart with its values, or a kustomization with its variables.

    keys_of gives the keys of Secrets, as far as they are known: variables from the wrong Secret are refused.
    """
    if source.helm is not None:
        return _helm(source.helm, values, target)
    if source.kustomize is not None:
        if source.kustomize.git is None:
            raise _local("the kustomization", source.kustomize.path or ".")
        return _kustomize(source.kustomize.git, variables, target, keys_of)
    if source.manifests is not None:
        raise _local("the manifests", source.manifests.path)
    raise FluxError("there is no source that Flux could fetch", "add source: helm or kustomize")


# ---- Helm


def _helm(helm: HelmSource, values: Mapping[str, YamlValue], target: FluxTarget) -> list[YamlMap]:
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
        # A tag cannot contain a +, so Helm writes _ for it.
        in_registry = {
            "url": f"{address}/{helm.chart}",
            "ref": {"tag": helm.version.replace("+", "_")},
            "layerSelector": {"mediaType": _CHART_LAYER, "operation": "copy"},
        }
        registry = _source("OCIRepository", in_registry, target)
        return [registry, _helm_release({"chartRef": _ref_to(registry)}, values, target)]
    repository = _source("HelmRepository", {"url": helm.repository}, target)
    chart = {"chart": helm.chart, "version": helm.version, "sourceRef": _ref_to(repository)}
    return [repository, _helm_release({"chart": {"spec": chart}}, values, target)]


def _helm_release(chart: YamlMap, values: Mapping[str, YamlValue], target: FluxTarget) -> YamlMap:
    if len(target.release_name) > LONGEST:
        message = f"the release name {target.release_name} has more than {LONGEST} characters, which Helm refuses"
        raise FluxError(message, "write a shorter releaseName")
    inline, references = helm_values(values)
    spec: YamlMap = {**_installing(target), **chart, "releaseName": target.release_name}
    install: YamlMap = {"strategy": _retrying()}
    if target.release_namespace is not None:
        # Helm keeps its records in the same namespace, as it does when people install by hand.
        spec["targetNamespace"] = spec["storageNamespace"] = _namespace(target.release_namespace)
        install = {"createNamespace": True, **install}
    spec |= {"install": install, "upgrade": {"strategy": _retrying()}}
    if inline:
        spec["values"] = inline
    if references:
        spec["valuesFrom"] = references
    return _object(HELM_API, "HelmRelease", spec, target)


def _retrying() -> dict[str, str]:
    """A failed release is retried as it is: to roll back is Fleetform's decision, and Flux by itself would give up."""
    return {"name": "RetryOnFailure", "retryInterval": _RETRY}


# ---- Kustomize


def _kustomize(
    git: GitSource, variables: Mapping[str, YamlValue], target: FluxTarget, keys_of: KeysOf
) -> list[YamlMap]:
    path = normpath((git.path or ".").lstrip("/") or ".")
    if path == ".." or path.startswith("../"):
        raise FluxError(f"the path {git.path} leads out of the repository", "write a path inside it")
    refs = {} if git.ref is None else {"commit": git.ref.commit, "tag": git.ref.tag, "branch": git.ref.branch}
    ref = next(({kind: name} for kind, name in refs.items() if name), None)
    if ref is None:
        message = f"{git.url} has no ref: Flux would take a branch named master"
        raise FluxError(message, "write ref.tag, ref.commit or ref.branch")
    repository = _source("GitRepository", {"url": flux_git_address(git), "ref": ref}, target)
    spec: YamlMap = {
        **_installing(target),
        "retryInterval": _RETRY,
        "sourceRef": _ref_to(repository),
        "path": "./" if path == "." else f"./{path}",
        "prune": target.prune,
        "wait": True,
    }
    if target.release_namespace is not None:
        spec["targetNamespace"] = _namespace(target.release_namespace)
    if variables:
        spec["postBuild"] = post_build(variables, keys_of)
    return [repository, _object(KUSTOMIZE_API, "Kustomization", spec, target)]


# ---- Both


def _source(kind: str, spec: YamlMap, target: FluxTarget) -> YamlMap:
    return _object(SOURCE_API, kind, {"interval": target.interval, **spec}, target)


def _object(api_version: str, kind: str, spec: YamlMap, target: FluxTarget) -> YamlMap:
    # Cut: Flux puts the name into labels of all that it installs.
    return manifest(api_version, kind, cut_name(target.name), target.namespace, target.labels, spec)


def _ref_to(source: YamlMap) -> dict[str, str]:
    return {"kind": source["kind"], "name": source["metadata"]["name"]}


def _installing(target: FluxTarget) -> YamlMap:
    """The fields that a HelmRelease and a Kustomization share."""
    spec: YamlMap = {"interval": target.interval, "timeout": _TIMEOUT}
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
    return FluxError(message, f"put it into {where}, or do not deliver this plugin through Flux")
