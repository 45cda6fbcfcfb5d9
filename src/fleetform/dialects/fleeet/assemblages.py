"""Assemblages of Fleeet: what one cluster gets, as plugins made by hand, each with a definition of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fleetform.dialects.fleeet.kinds import AssemblageSpec, NamedSync, RemoteAssemblageSpec
from fleetform.dialects.fleeet.sync import TARGET_NAMESPACE, Content, content_of
from fleetform.dialects.manifest import Manifest
from fleetform.dialects.native.spellings import Pair
from fleetform.model.kinds.base import Delivery, FluxDelivery
from fleetform.model.kinds.preset import DefinitionRef, PluginSpec
from fleetform.model.objects import Object, Path
from fleetform.syntax.names import generated_name

_GROUP = "fleet.squaremo.dev/"
_KUBECONFIG = "-kubeconfig"


class _Home(NamedTuple):
    """The cluster that an assemblage is for, and where that is said."""

    cluster: str
    at: Path


def read_assemblage(manifest: Manifest) -> list[Object[Any]]:
    """It belongs to the cluster of its own name (S38)."""
    spec = manifest.spec(AssemblageSpec)
    return _read(spec, manifest, _Home(manifest.name, ("metadata", "name")), ("spec",))


def read_remote_assemblage(manifest: Manifest) -> list[Object[Any]]:
    """It is copied, as an Assemblage, to the cluster whose kubeconfig it names."""
    spec = manifest.spec(RemoteAssemblageSpec)
    home = _Home(manifest.name, ("metadata", "name"))
    if spec is not None and spec.kubeconfig_ref is not None:
        home = _Home(spec.kubeconfig_ref.name.removesuffix(_KUBECONFIG), ("spec", "kubeconfigRef", "name"))
    return _read(spec.assemblage if spec is not None else None, manifest, home, ("spec", "assemblage"))


def _read(spec: AssemblageSpec | None, manifest: Manifest, home: _Home, above: Path) -> list[Object[Any]]:
    if spec is None:
        return []
    objects: list[Object[Any]] = []
    for path, sync in _by_hand(_once(spec.syncs, manifest, (*above, "syncs")), manifest):
        content = content_of(sync, manifest, path)
        if content is not None:
            objects += _plugin(sync, content, manifest, home, path)
    return objects


def _once(syncs: Sequence[NamedSync], manifest: Manifest, above: Path) -> Iterator[tuple[Path, NamedSync]]:
    seen: dict[str, Path] = {}
    for index, sync in enumerate(syncs):
        path = (*above, index)
        if sync.name in seen:
            message = f"two syncs are named {sync.name}"
            manifest.error("duplicate-object", message, "rename one", *path, "name", related=seen[sync.name])
        else:
            seen[sync.name] = (*path, "name")
            yield path, sync


def _by_hand(syncs: Iterator[tuple[Path, NamedSync]], manifest: Manifest) -> Iterator[tuple[Path, NamedSync]]:
    """The syncs that people wrote: those that a Module's controller wrote here follow from the Module."""
    modules = set(_owners(manifest))
    for path, sync in syncs:
        if sync.name in modules:
            message = f"the sync {sync.name} was written for the Module of that name, and is not read"
            manifest.note(message, f"the Module {sync.name} says what is wanted", *path)
        else:
            yield path, sync


def _owners(manifest: Manifest) -> Iterator[str]:
    for owner in manifest.metadata.owner_references or []:
        if owner.get("kind") == "Module" and str(owner.get("apiVersion")).startswith(_GROUP):
            yield str(owner.get("name"))


def _plugin(sync: NamedSync, content: Content, manifest: Manifest, home: _Home, path: Path) -> list[Object[Any]]:
    # One name for both: a definition serves one sync, and no other that happens to be named alike.
    name = generated_name(sync.name, manifest.name)
    plugin = PluginSpec(
        plugin_definition=DefinitionRef(name, version=content.version),
        cluster_name=home.cluster,
        release_name=sync.name,
        release_namespace=TARGET_NAMESPACE,
        # Mentions count in every manifest of Fleeet, also where nothing is bound (B6).
        bindings=sync.bindings or [],
        substitute=content.kustomize.substitute,
        substitution=content.substitution,
        delivery=Delivery(flux=FluxDelivery("Pull", manifest.metadata.namespace)),
    )
    named: Pair = (("metadata", "name"), (*path, "name"))
    return [
        manifest.object(content.definition, named, *content.moved, kind="PluginDefinition", name=name),
        manifest.object(plugin, named, *_moved(content, home, path), kind="Plugin", name=name),
    ]


def _moved(content: Content, home: _Home, path: Path) -> tuple[Pair, ...]:
    definition: Path = ("spec", "pluginDefinition")
    substitute: Path = (*path, "package", "kustomize", "substitute")
    return (
        (("spec", "clusterName"), home.at),
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
