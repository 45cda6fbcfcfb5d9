"""What Flux gets for a plugin: its own objects, or an Assemblage where the cluster has still to resolve names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.dialects.flux.assemblage import AssemblageSync, assemblage, sync_tree
from fleetform.dialects.flux.delivery import FluxTarget, KubeConfig, fleeet_kubeconfig, flux_objects
from fleetform.dialects.flux.parts import FluxError, PlainSecretError
from fleetform.dialects.flux.values import KeysOf
from fleetform.engine.bindings.compile import substitutions, written_bindings
from fleetform.engine.desired import values_tree
from fleetform.model.kinds.base import FluxDelivery
from fleetform.model.kinds.definition import Source
from fleetform.model.kinds.preset import PluginPresetSpec
from fleetform.model.objects import At, Ref
from fleetform.model.results.decisions import Gate, PluginDecision

_LABELS = {"plugin": "fleetform.dev/plugin", "cluster": "fleetform.dev/cluster", "org": "fleetform.dev/organization"}

# Where an Assemblage is: a cluster, and a namespace there.
_Destination = tuple[Ref, str | None]


class _Place(NamedTuple):
    """Where a plugin's objects are and of which kind: only there can one of Flux's objects wait for another."""

    hub: bool
    namespace: str
    chart: bool


class _Fault(NamedTuple):
    """Why there is no Assemblage, and whose fault that is."""

    plugin: PluginDecision
    error: FluxError


def travels(plugin: PluginDecision) -> bool:
    """Whether a plugin may go to its cluster with names unresolved: Fleeet's do, and are resolved there (S38)."""
    return plugin.target.owner.dialect == "fleeet" and not plugin.gates and _is_pending(plugin)


def _is_pending(plugin: PluginDecision) -> bool:
    return bool(plugin.unresolved) and all(each.gate == "downstream" for each in plugin.unresolved)


class ThroughFlux:
    """What Flux gets for the plugins of one fleet; what they share is looked up once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._assemblages: dict[_Destination, dict[str, Any] | _Fault] = {}

    def objects(self, plugin: PluginDecision, flux: FluxDelivery) -> list[dict[str, Any]] | Gate:
        """The objects, or what keeps them from being written."""
        if travels(plugin):
            made = self._assemblage(plugin)
            return self._gate(made, plugin) if isinstance(made, _Fault) else [made]
        try:
            return self._objects(plugin, flux)
        except FluxError as error:
            return self._gate(_Fault(plugin, error), plugin)

    def _objects(self, plugin: PluginDecision, flux: FluxDelivery) -> list[dict[str, Any]]:
        source = _source_of(plugin)
        if source is None:
            raise FluxError("the definition names nothing to render", "add source: helm or kustomize")
        place = _place(plugin, flux, source)
        target = FluxTarget(
            name=plugin.name,
            release_name=plugin.target.release_name,
            release_namespace=_release_namespace(plugin, place.chart),
            namespace=place.namespace,
            kubeconfig=_kubeconfig(plugin) if place.hub else None,
            suspend=plugin.target.owner.spec.suspend,
            labels={_LABELS["plugin"]: plugin.name, **_labels(plugin)},
            depends_on=self._waited_for(plugin, place),
        )
        inputs = self._fleet.inputs
        return flux_objects(
            source, values_tree(plugin.options), inputs.variables(plugin), target, self._keys_of_secrets(plugin)
        )

    def _gate(self, fault: _Fault, plugin: PluginDecision) -> Gate:
        """What keeps a plugin back, where it is to be mended; it may be a fault of one that travels beside it."""
        error, owner = fault.error, fault.plugin.target.owner
        code = "plain-secret" if isinstance(error, PlainSecretError) else "render-failed"
        secrets = [each for each in self._fleet.inputs.holds_secrets(fault.plugin) if each in error.message]
        ref, at = place_of_secret(fault.plugin, secrets[0]) if secrets else _place_of_source(fault.plugin)
        if owner is plugin.target.owner:
            return Gate(code, error.message, error.hint, ref=ref, at=at)
        # Named as its owner is: of one fault on many clusters people are told once.
        message = f"{owner.ref.name}, which travels in the same Assemblage, holds it up: {error.message}"
        return Gate(code, message, error.hint, ref=ref, at=at)

    def _keys_of_secrets(self, plugin: PluginDecision) -> KeysOf:
        """The keys of Secrets of the input, as this plugin reads them: a module's may lie in its own namespace."""

        def keys_of(name: str) -> list[str]:
            bound = [each.source for each in self._fleet.inputs.bound(plugin) if each.source is not None]
            read = next((each for each in bound if each.ref.kind == "Secret" and each.ref.name == name), None)
            found = read or self._fleet.snapshot.others.get(Ref("Secret.v1", plugin.organization, name))
            fields = [found.content.get(each) for each in ("data", "stringData")] if found is not None else []
            return [str(key) for each in fields if isinstance(each, dict) for key in each]

        return keys_of

    # ---- Order

    def _waited_for(self, plugin: PluginDecision, place: _Place) -> tuple[str, ...]:
        """The plugins on its cluster that must be healthy first, as far as Flux can wait for them."""
        found = [
            each.name
            for each in self._needed(plugin)
            if each.target.definition != plugin.target.definition and self._place_of(each) == place
        ]
        return tuple(sorted(set(found)))

    def _needed(self, plugin: PluginDecision) -> Iterator[PluginDecision]:
        """Those of the definitions that its own depends on, and those whose outputs it reads."""
        revision = plugin.target.revision
        for each in (revision.object.spec.depends_on or ()) if revision is not None else ():
            yield from self._by_definition.get((plugin.cluster.ref, each.name), ())
        organization, cluster, _ = plugin.key
        for _, name in self._fleet.inputs.producers(plugin):
            there = self._fleet.decisions.plugins.get((organization, cluster, name)) if name is not None else None
            if there is not None:
                yield there

    def _place_of(self, plugin: PluginDecision) -> _Place | None:
        """None where it has no objects of Flux."""
        delivery, source = self._fleet.inputs.delivery(plugin), _source_of(plugin)
        if delivery is None or delivery.flux is None or source is None or travels(plugin):
            return None
        return _place(plugin, delivery.flux, source)

    @cached_property
    def _by_definition(self) -> dict[tuple[Ref, str], list[PluginDecision]]:
        found: dict[tuple[Ref, str], list[PluginDecision]] = {}
        for each in self._fleet.decisions.plugins.values():
            found.setdefault((each.cluster.ref, each.target.definition), []).append(each)
        return found

    # ---- Assemblages

    def _assemblage(self, plugin: PluginDecision) -> dict[str, Any] | _Fault:
        """A cluster has one Assemblage in a namespace, with all that travels there: two of a name would be one object.

        One that cannot travel holds up all of them: without its sync it would be removed from the cluster.
        """
        where = _destination(plugin)
        if where not in self._assemblages:
            self._assemblages[where] = self._assembled(plugin)
        return self._assemblages[where]

    def _assembled(self, plugin: PluginDecision) -> dict[str, Any] | _Fault:
        cluster, namespace = where = _destination(plugin)
        syncs = []
        for each in self._travelling.get(where, [plugin]):
            try:
                syncs.append(sync_tree(_sync(self._fleet, each)))
            except FluxError as error:
                return _Fault(each, error)
        return assemblage(cluster.name, syncs, namespace=namespace, labels=_labels(plugin))

    @cached_property
    def _travelling(self) -> dict[_Destination, list[PluginDecision]]:
        found: dict[_Destination, list[PluginDecision]] = {}
        for each in self._fleet.decisions.plugins.values():
            if travels(each):
                found.setdefault(_destination(each), []).append(each)
        return found


def _destination(plugin: PluginDecision) -> _Destination:
    return plugin.cluster.ref, plugin.target.owner.metadata.namespace


def place_of_secret(plugin: PluginDecision, name: str) -> tuple[Ref, At]:
    """Where an option or a variable that holds a secret is written."""
    option, owner = plugin.options.get(name), plugin.target.owner
    if option is not None and option.winner is not None:
        return option.winner.layer.object.ref, option.winner.at
    path = next((path for each, path, _ in substitutions(owner) if each == name), ("spec",))
    return owner.ref, owner.at(*path)


def _place_of_source(plugin: PluginDecision) -> tuple[Ref, At]:
    """Where it is written what Flux is to fetch."""
    revision, owner = plugin.target.revision, plugin.target.owner
    if revision is None:
        return owner.ref, owner.at()
    return revision.object.ref, revision.object.at("spec", "source")


def _source_of(plugin: PluginDecision) -> Source | None:
    revision = plugin.target.revision
    source: Source | None = revision.object.spec.source if revision is not None else None
    return source


def _place(plugin: PluginDecision, flux: FluxDelivery, source: Source) -> _Place:
    hub = flux.mode == "Hub"
    # On a hub Secrets are looked for beside Flux's objects, and organizations must not meet there.
    namespace = flux.namespace or (plugin.organization if hub else "flux-system")
    return _Place(hub, namespace, source.helm is not None)


def _labels(plugin: PluginDecision) -> dict[str, str]:
    return {_LABELS["cluster"]: plugin.cluster.ref.name, _LABELS["org"]: plugin.organization}


def _release_namespace(plugin: PluginDecision, chart: bool) -> str | None:
    """Where a plugin's objects go: kustomize leaves them where they say, unless somebody names another place."""
    spec = plugin.target.owner.spec
    written = (spec.plugin if isinstance(spec, PluginPresetSpec) else spec).release_namespace
    return plugin.target.release_namespace if chart or written is not None else None


def _kubeconfig(plugin: PluginDecision) -> KubeConfig:
    access = plugin.cluster.spec.access
    if access is None or access.kubeconfig is None:
        return fleeet_kubeconfig(plugin.cluster.ref.name)
    return KubeConfig(access.kubeconfig.secret.name, access.kubeconfig.secret.key)


def _sync(fleet: Fleet, plugin: PluginDecision) -> AssemblageSync:
    source = _source_of(plugin)
    git = source.kustomize.git if source is not None and source.kustomize is not None else None
    if git is None:
        raise FluxError("only kustomizations of git repositories travel with names unresolved", "use source.git")
    bound = [each for each in fleet.inputs.bound(plugin) if each.section == "control-plane" and each.unresolved is None]
    downstream = [each.binding for each in written_bindings(plugin.target.owner) if each.section == "downstream"]
    return AssemblageSync(
        plugin.target.release_name,
        git,
        {"CLUSTER_NAME": plugin.cluster.ref.name, **{each.name: each.value for each in bound}},
        tuple(downstream),
        fleet.inputs.written_substitute(plugin),
    )
