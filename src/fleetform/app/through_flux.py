"""What Flux gets for a plugin: its own objects, or an Assemblage where the cluster has still to resolve names."""

from __future__ import annotations

from typing import Any

from fleetform.app.fleet import Fleet
from fleetform.dialects.flux import FluxTarget, KubeConfig, fleeet_kubeconfig, flux_objects
from fleetform.dialects.flux_assemblage import AssemblageSync, assemblage
from fleetform.dialects.flux_parts import FluxError, PlainSecretError
from fleetform.engine.inputs import values_tree
from fleetform.engine.programs import written_bindings
from fleetform.model.kinds.base import Delivery, FluxDelivery
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Gate, PluginDecision

_LABELS = {"plugin": "fleetform.dev/plugin", "cluster": "fleetform.dev/cluster", "org": "fleetform.dev/organization"}


def delivery_of(fleet: Fleet, plugin: PluginDecision) -> Delivery | None:
    """How a plugin is delivered: as its owner says, else its organization."""
    written: Delivery | None = plugin.target.owner.spec.delivery
    if written is not None:
        return written
    name = plugin.organization
    organization = fleet.snapshot.organizations.get(Ref("Organization", name, name))
    return organization.spec.default_delivery if organization is not None else None


def travels(plugin: PluginDecision) -> bool:
    """Whether a plugin may go to its cluster with names unresolved: Fleeet's do, and are resolved there (S38)."""
    return plugin.target.owner.dialect == "fleeet" and not plugin.gates and _is_pending(plugin)


def _is_pending(plugin: PluginDecision) -> bool:
    return bool(plugin.missing) and all(each.gate == "downstream" for each in plugin.missing)


def objects_for_flux(fleet: Fleet, plugin: PluginDecision, flux: FluxDelivery) -> list[dict[str, Any]] | Gate:
    """The objects, or what keeps them from being written."""
    try:
        if travels(plugin):
            return [_assemblage(fleet, plugin)]
        return _objects(fleet, plugin, flux)
    except PlainSecretError as error:
        return Gate("plain-secret", error.message, error.hint)
    except FluxError as error:
        return Gate("render-failed", error.message, error.hint)


def _objects(fleet: Fleet, plugin: PluginDecision, flux: FluxDelivery) -> list[dict[str, Any]]:
    revision = plugin.target.revision
    source = revision.object.spec.source if revision is not None else None
    if source is None:
        raise FluxError("the definition names nothing to render", "add source: helm or kustomize")
    hub = flux.mode == "Hub"
    target = FluxTarget(
        name=plugin.name,
        release_name=plugin.target.release_name,
        release_namespace=_namespace(plugin, source.helm is not None),
        # On a hub Secrets are looked for beside Flux's objects, and organizations must not meet there.
        namespace=flux.namespace or (plugin.organization if hub else "flux-system"),
        kubeconfig=_kubeconfig(plugin) if hub else None,
        suspend=plugin.target.owner.spec.suspend,
        labels={
            _LABELS["plugin"]: plugin.name,
            _LABELS["cluster"]: plugin.cluster.ref.name,
            _LABELS["org"]: plugin.organization,
        },
    )
    return flux_objects(source, values_tree(plugin.options), fleet.inputs.variables(plugin), target)


def _namespace(plugin: PluginDecision, chart: bool) -> str | None:
    """Where a plugin's objects go: kustomize leaves them where they say, unless somebody names another place."""
    spec = plugin.target.owner.spec
    written = getattr(spec, "plugin", spec).release_namespace
    return plugin.target.release_namespace if chart or written is not None else None


def _kubeconfig(plugin: PluginDecision) -> KubeConfig:
    access = plugin.cluster.spec.access
    if access is None or access.kubeconfig is None:
        return fleeet_kubeconfig(plugin.cluster.ref.name)
    return KubeConfig(access.kubeconfig.secret.name, access.kubeconfig.secret.key)


def _assemblage(fleet: Fleet, plugin: PluginDecision) -> dict[str, Any]:
    """A cluster has one Assemblage in a namespace, with all that travels there: two of a name would be one object."""
    namespace = plugin.target.owner.metadata.namespace
    beside = [
        each
        for each in fleet.decisions.plugins.values()
        if each.cluster is plugin.cluster and travels(each) and each.target.owner.metadata.namespace == namespace
    ]
    labels = {_LABELS["cluster"]: plugin.cluster.ref.name, _LABELS["org"]: plugin.organization}
    syncs = [_sync(fleet, each) for each in beside]
    return assemblage(plugin.cluster.ref.name, syncs, namespace=namespace, labels=labels)


def _sync(fleet: Fleet, plugin: PluginDecision) -> AssemblageSync:
    revision = plugin.target.revision
    source = revision.object.spec.source if revision is not None else None
    git = source.kustomize.git if source is not None and source.kustomize is not None else None
    if git is None:
        raise FluxError("only kustomizations of git repositories travel with names unresolved", "use source.git")
    bound = [each for each in fleet.inputs.bound(plugin) if each.section == "control-plane" and each.missing is None]
    downstream = [each.binding for each in written_bindings(plugin.target.owner) if each.section == "downstream"]
    return AssemblageSync(
        plugin.target.release_name,
        git,
        {"CLUSTER_NAME": plugin.cluster.ref.name, **{each.name: each.value for each in bound}},
        tuple(downstream),
        fleet.inputs.written_substitute(plugin),
    )
