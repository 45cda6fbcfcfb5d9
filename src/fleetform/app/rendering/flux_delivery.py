"""What Flux gets for a plugin: objects of its own, or an Assemblage if the cluster has to resolve variables."""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.dialects.flux.assemblage import AssemblageSync, assemblage, sync_tree
from fleetform.dialects.flux.delivery import FluxTarget, KubeConfig, fleeet_kubeconfig, flux_objects
from fleetform.dialects.flux.parts import FluxError, PlainSecretError
from fleetform.engine.bindings.compile import substitutions, written_bindings
from fleetform.engine.desired import values_tree
from fleetform.model.answers.base import JsonMap
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
    """Why there are no objects, and the plugin that is to blame."""

    plugin: PluginDecision
    error: FluxError


def travels(plugin: PluginDecision) -> bool:
    """Whether a plugin may go to its cluster with variables unresolved: Fleeet's do, and are resolved there (S38)."""
    pending = bool(plugin.unresolved) and all(each.gate == "downstream" for each in plugin.unresolved)
    return plugin.target.owner.dialect == "fleeet" and not plugin.gates and pending


class ThroughFlux:
    """What Flux gets for the plugins of one fleet; what they share is looked up once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._assemblages: dict[_Destination, JsonMap | _Fault] = {}

    def objects(self, plugin: PluginDecision, flux: FluxDelivery) -> list[JsonMap] | Gate:
        """The objects, or what keeps them from being written."""
        if travels(plugin):
            where = _destination(plugin)
            if where not in self._assemblages:
                self._assemblages[where] = self._assemblage(plugin)
            made = self._assemblages[where]
            return self._gate(made, plugin) if isinstance(made, _Fault) else [made]
        try:
            return self._own_objects(plugin, flux)
        except FluxError as error:
            return self._gate(_Fault(plugin, error), plugin)

    def _own_objects(self, plugin: PluginDecision, flux: FluxDelivery) -> list[JsonMap]:
        source, inputs, access = _source_of(plugin), self._fleet.inputs, plugin.cluster.spec.access
        if source is None:
            raise FluxError("the definition has nothing to render", "add source: helm or kustomize")
        place = _place(plugin, flux, source)
        kubeconfig = fleeet_kubeconfig(plugin.cluster.own_name)
        if access is not None and access.kubeconfig is not None:
            kubeconfig = KubeConfig(access.kubeconfig.secret.name, access.kubeconfig.secret.key)
        spec = plugin.target.owner.spec
        # Kustomize leaves objects where they say, unless somebody names another place.
        written = (spec.plugin if isinstance(spec, PluginPresetSpec) else spec).release_namespace
        named = place.chart or written is not None
        target = FluxTarget(
            name=plugin.name,
            release_name=plugin.target.release_name,
            release_namespace=plugin.target.release_namespace if named else None,
            namespace=place.namespace,
            kubeconfig=kubeconfig if place.hub else None,
            suspend=spec.suspend,
            labels={_LABELS["plugin"]: plugin.name, **_labels(plugin)},
            depends_on=self._waited_for(plugin, place),
            prune=flux.prune,
        )
        values, keys_of = values_tree(plugin.options), partial(self._keys_of_secret, plugin)
        return flux_objects(source, values, inputs.variables(plugin), target, keys_of)

    def _gate(self, fault: _Fault, plugin: PluginDecision) -> Gate:
        """What keeps a plugin back, at the place to fix it; it may be a fault of one that travels beside it."""
        error, revision, owner = fault.error, fault.plugin.target.revision, fault.plugin.target.owner
        code = "plain-secret" if isinstance(error, PlainSecretError) else "render-failed"
        secrets = [each for each in self._fleet.inputs.holds_secrets(fault.plugin) if each in error.message]
        if secrets:
            ref, at = place_of_secret(fault.plugin, secrets[0])
        elif revision is not None:
            ref, at = revision.object.ref, revision.object.at("spec", "source")
        else:
            ref, at = owner.ref, owner.at()
        message = error.message
        if owner is not plugin.target.owner:
            # Named as its owner is: of one fault on many clusters people read once.
            message = f"{owner.ref.name}, which travels in the same Assemblage, holds it up: {error.message}"
        return Gate(code, message, error.hint, ref=ref, at=at)

    def _keys_of_secret(self, plugin: PluginDecision, name: str) -> list[str]:
        """The keys of a Secret of the input, as a plugin reads it: a module's may lie in its own namespace."""
        bound = [each.source for each in self._fleet.inputs.bound(plugin) if each.source is not None]
        read = next((each for each in bound if each.ref.kind == "Secret" and each.ref.name == name), None)
        found = read or self._fleet.snapshot.others.get(Ref("Secret.v1", plugin.organization, name))
        fields = [found.content.get(each) for each in ("data", "stringData")] if found is not None else []
        return [str(key) for each in fields if isinstance(each, dict) for key in each]

    def _waited_for(self, plugin: PluginDecision, place: _Place) -> tuple[str, ...]:
        """The plugins on its cluster that must be healthy first, as far as Flux can wait for them.

        They are those of the definitions that its own depends on, and those whose outputs it reads.
        """
        revision, inputs, plugins = plugin.target.revision, self._fleet.inputs, self._fleet.decisions.plugins
        needed: list[PluginDecision] = []
        for named in (revision.object.spec.depends_on or ()) if revision is not None else ():
            needed += self._by_definition.get((plugin.cluster.ref, named.name), ())
        organization, cluster, _ = plugin.key
        keys = [(organization, cluster, name) for _, name in inputs.producers(plugin) if name is not None]
        needed += [plugins[key] for key in keys if key in plugins]
        found = set()
        for each in needed:
            delivery, source = inputs.delivery(each), _source_of(each)
            if each.target.definition == plugin.target.definition or source is None or travels(each):
                continue
            if delivery is not None and delivery.flux is not None and _place(each, delivery.flux, source) == place:
                found.add(each.name)
        return tuple(sorted(found))

    @cached_property
    def _by_definition(self) -> dict[tuple[Ref, str], list[PluginDecision]]:
        found: dict[tuple[Ref, str], list[PluginDecision]] = {}
        for each in self._fleet.decisions.plugins.values():
            found.setdefault((each.cluster.ref, each.target.definition), []).append(each)
        return found

    def _assemblage(self, plugin: PluginDecision) -> JsonMap | _Fault:
        """A cluster has one Assemblage in a namespace, with all that travels there: two of a name would be one object.

        One that cannot travel holds up all of them: without its sync it would be removed from the cluster.
        """
        _, namespace = where = _destination(plugin)
        syncs = []
        for each in self._travelling.get(where, [plugin]):
            source, owner = _source_of(each), each.target.owner
            git = source.kustomize.git if source is not None and source.kustomize is not None else None
            if git is None:
                message = "only kustomizations of git repositories travel with variables unresolved"
                return _Fault(each, FluxError(message, "use source.git"))
            bound = [one for one in self._fleet.inputs.bound(each) if one.section == "control-plane"]
            known = {one.name: one.value for one in bound if one.unresolved is None}
            downstream = [one.binding for one in written_bindings(owner) if one.section == "downstream"]
            sync = AssemblageSync(
                each.target.release_name,
                git,
                known,
                tuple(downstream),
                self._fleet.inputs.written_substitute(each),
                each.cluster.own_name,
            )
            try:
                syncs.append(sync_tree(sync))
            except FluxError as error:
                return _Fault(each, error)
        return assemblage(plugin.cluster.own_name, syncs, namespace=namespace, labels=_labels(plugin))

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


def _source_of(plugin: PluginDecision) -> Source | None:
    revision = plugin.target.revision
    source: Source | None = revision.object.spec.source if revision is not None else None
    return source


def _place(plugin: PluginDecision, flux: FluxDelivery, source: Source) -> _Place:
    return _Place(flux.mode == "Hub", flux_namespace(flux, plugin.organization), source.helm is not None)


def flux_namespace(flux: FluxDelivery, organization: str) -> str:
    """On a hub Secrets are looked for beside Flux's objects, and organizations must not meet there."""
    return flux.namespace or (organization if flux.mode == "Hub" else "flux-system")


def _labels(plugin: PluginDecision) -> dict[str, str]:
    return {_LABELS["cluster"]: plugin.cluster.ref.name, _LABELS["org"]: plugin.organization}
