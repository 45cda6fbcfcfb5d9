"""Assemblages of Fleeet: what is on one cluster, as plugins made by hand, each with a definition of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleetform.dialects.fleeet.kinds import AssemblageSpec, NamedSync, RemoteAssemblageSpec
from fleetform.dialects.fleeet.sync import TARGET_NAMESPACE, SyncContent, sync_content
from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.model.conventions import Conventions
from fleetform.model.kinds.base import Delivery, FluxDelivery
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.kinds.preset import DefinitionRef, PluginSpec
from fleetform.model.objects import Object, Path
from fleetform.syntax.names import generated_name

# The dialect of clusters that nobody wrote.
IMPLIED_CLUSTER = "implied"
# Modules choose among the clusters that somebody described.
_UNDESCRIBED = Conventions(lenient=True, own_namespace=True, by_name_only=True)
_GROUP = "fleet.squaremo.dev/"
_KUBECONFIG = "-kubeconfig"


class _TargetCluster(NamedTuple):
    """The cluster that an assemblage is for, and the path in the manifest that names it."""

    name: str
    at: Path


def read_assemblage(manifest: Manifest) -> list[Object[object]]:
    """It belongs to the cluster of its own name (S38)."""
    spec = manifest.spec(AssemblageSpec)
    objects = _read(spec, manifest, _TargetCluster(manifest.name, ("metadata", "name")), ("spec",))
    if not objects:
        return []
    # It lies on its cluster, where no object describes the cluster: this one stands for it, unless there is another.
    implied = manifest.object(
        ClusterSpec(), kind="Cluster", name=manifest.name, dialect=IMPLIED_CLUSTER, conventions=_UNDESCRIBED
    )
    return [*objects, implied]


def read_remote_assemblage(manifest: Manifest) -> list[Object[object]]:
    """It is copied, as an Assemblage, to the cluster whose kubeconfig it names."""
    spec = manifest.spec(RemoteAssemblageSpec)
    cluster = _TargetCluster(manifest.name, ("metadata", "name"))
    if spec is not None and spec.kubeconfig_ref is not None:
        cluster = _TargetCluster(spec.kubeconfig_ref.name.removesuffix(_KUBECONFIG), ("spec", "kubeconfigRef", "name"))
    return _read(spec.assemblage if spec is not None else None, manifest, cluster, ("spec", "assemblage"))


def _read(
    spec: AssemblageSpec | None, manifest: Manifest, cluster: _TargetCluster, above: Path
) -> list[Object[object]]:
    if spec is None:
        return []
    objects: list[Object[object]] = []
    for path, sync in _syncs_by_hand(spec.syncs, manifest, (*above, "syncs")):
        content = sync_content(sync, manifest, path)
        if content is not None:
            objects += _plugin(sync, content, manifest, cluster, path)
    return objects


def _syncs_by_hand(syncs: Sequence[NamedSync], manifest: Manifest, above: Path) -> Iterator[tuple[Path, NamedSync]]:
    """The syncs that people wrote, each name once: those that a Module's controller wrote follow from the Module."""
    modules = {
        str(owner.get("name"))
        for owner in manifest.metadata.owner_references or []
        if owner.get("kind") == "Module" and str(owner.get("apiVersion")).startswith(_GROUP)
    }
    seen: dict[str, Path] = {}
    for index, sync in enumerate(syncs):
        path = (*above, index)
        if sync.name in seen:
            message = f"two syncs are named {sync.name}"
            manifest.error("duplicate-object", message, "rename one", *path, "name", related=seen[sync.name])
            continue
        seen[sync.name] = (*path, "name")
        if sync.name in modules:
            message = f"the sync {sync.name} was written for the Module of that name, and is not read"
            manifest.note(message, f"edit the Module {sync.name} instead", *path)
        else:
            yield path, sync


def _plugin(
    sync: NamedSync, content: SyncContent, manifest: Manifest, cluster: _TargetCluster, path: Path
) -> list[Object[object]]:
    # One name for both: a definition serves one sync, and no other that happens to be named alike.
    name = generated_name(sync.name, manifest.name)
    plugin = PluginSpec(
        plugin_definition=DefinitionRef(name, version=content.version),
        cluster_name=cluster.name,
        release_name=sync.name,
        release_namespace=TARGET_NAMESPACE,
        # Not None: $(…) counts in every manifest of Fleeet, also if nothing is bound (B6).
        bindings=sync.bindings or [],
        substitute=content.kustomize.substitute,
        substitution=content.substitution,
        delivery=Delivery(flux=FluxDelivery("Pull", manifest.metadata.namespace, prune=False)),
    )
    definition: Path = ("spec", "pluginDefinition")
    substitute: Path = (*path, "package", "kustomize", "substitute")
    named: Pair = (("metadata", "name"), (*path, "name"))
    moved: tuple[Pair, ...] = (
        (("spec", "clusterName"), cluster.at),
        (("spec", "bindings"), (*path, "bindings")),
        (("spec", "substitute"), substitute),
        (("spec", "substitution"), substitute),
        ((*definition, "version"), content.version_at),
        (definition, (*path, "name")),
        ((*definition, "name"), (*path, "name")),
        (("spec", "releaseName"), (*path, "name")),
        (("spec", "delivery"), ("kind",)),
        (("spec",), path),
    )
    return [
        manifest.object(content.definition, named, *content.moved, kind="PluginDefinition", name=name),
        manifest.object(plugin, named, *moved, kind="Plugin", name=name),
    ]
