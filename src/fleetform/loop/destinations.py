"""Destinations: where a plugin is delivered: as its owner says, else its organization, else into a folder of theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from fleetform.app.fleet import Fleet
from fleetform.app.reading.secrets import secret_named, secret_object
from fleetform.app.rendering.flux_delivery import flux_namespace
from fleetform.loop.records import ON_HUB, Destination
from fleetform.model.kinds.base import Delivery, Drift, FluxDelivery, GitDelivery, KubernetesDelivery, SecretRef
from fleetform.model.objects import AnyObject, Ref
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.outside.credentials import Credentials, credentials_in
from fleetform.outside.mirrors import is_path


def destination_of(
    fleet: Fleet,
    plugin: PluginDecision,
    otherwise: str | None,
    folder_of: Callable[[str], str] = os.path.dirname,
    trial: bool = False,
    hub: bool = False,
) -> Destination | None:
    """None if it cannot be delivered so from here. Paths are relative to the file that names them.

    otherwise is the folder for those of which nobody says where: one below it for each organization. Without one there
    are no folders here, and they go straight to their clusters. folder_of gives the folder of a file. In a trial
    nothing is brought to clusters. hub: there is a management cluster, on which Flux may run.
    """
    owner, written = _written(fleet, plugin)
    straight = written.kubernetes if written is not None else None
    if written is not None and written.flux is not None and not trial:
        return _through_flux(plugin, written.flux, hub)
    if otherwise is None:
        return _from_anywhere(plugin, written)
    if written is None or (straight is not None and trial):
        return Destination("directory", os.path.join(otherwise, plugin.organization))
    if straight is not None:
        return _cluster(plugin, straight, folder_of)
    base = folder_of(owner.origin.file)
    if written.directory is not None:
        return Destination("directory", os.path.normpath(os.path.join(base, written.directory.path)))
    if written.git is not None:
        git = written.git
        return _branch(plugin, git, os.path.normpath(os.path.join(base, git.url)) if is_path(git.url) else git.url)
    return None


def _from_anywhere(plugin: PluginDecision, written: Delivery | None) -> Destination | None:
    """Where it goes from a process whose folders are nobody's: to its cluster or to a repository elsewhere."""
    access = plugin.cluster.spec.access
    if written is not None and written.git is not None and not is_path(written.git.url):
        return _branch(plugin, written.git, written.git.url)
    if (written is not None and written.kubernetes is None) or (access is not None and access.directory is not None):
        return None
    return _straight(plugin, (written.kubernetes if written is not None else None) or KubernetesDelivery())


def _through_flux(plugin: PluginDecision, flux: FluxDelivery, hub: bool) -> Destination | None:
    """Flux's objects go to where Flux runs: the management cluster, or the cluster itself (R3-5)."""
    place = f"{ON_HUB if flux.mode == 'Hub' else ''}{plugin.cluster.ref.name}"
    if flux.mode == "Hub" and not hub:
        return None
    namespace = flux_namespace(flux, plugin.organization)
    path = f"{plugin.organization}/{place}"
    return Destination("kubernetes", path, namespace=namespace, adopt=flux.adopt, through="flux")


def _branch(plugin: PluginDecision, git: GitDelivery, url: str) -> Destination:
    ref = git.secret_ref
    secret, key = (f"{plugin.organization}/{ref.name}", ref.key or "") if ref is not None else ("", "")
    return Destination("git", url, git.branch or "main", git.path or "", git.sign, secret, key)


def _cluster(plugin: PluginDecision, delivery: KubernetesDelivery, folder_of: Callable[[str], str]) -> Destination:
    """A cluster itself, or the folder that stands for it."""
    cluster = plugin.cluster
    access = cluster.spec.access
    if access is not None and access.directory is not None:
        return Destination(
            "directory", os.path.normpath(os.path.join(folder_of(cluster.origin.file), access.directory))
        )
    return _straight(plugin, delivery)


def _straight(plugin: PluginDecision, delivery: KubernetesDelivery) -> Destination:
    path = f"{plugin.organization}/{plugin.cluster.ref.name}"
    return Destination("kubernetes", path, drift=delivery.drift, adopt=delivery.adopt)


def login_of(fleet: Fleet | None, destination: Destination) -> Credentials | None:
    """The login of a repository, as the Secret in the input says now; OutsideError if there is none where one is named.

    It is looked up at each delivery, and never kept: a new password counts at once.
    """
    if not destination.secret:
        return None
    organization, _, name = destination.secret.partition("/")
    objects = fleet.snapshot.others.values() if fleet is not None else ()
    return credentials_in(secret_named(objects, organization, name), SecretRef(name, destination.secret_key or None))


class Logins:
    """What lets in to destinations, as the Secrets of a fleet say; each is looked up once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._found: dict[str, Mapping[str, str] | None] = {}

    def __call__(self, destination: Destination) -> object:
        if destination.kind == "kubernetes":
            return self._cluster_secret(destination)
        secret = destination.secret
        if secret and secret not in self._found:
            organization, _, name = secret.partition("/")
            self._found[secret] = secret_named(self._fleet.snapshot.others.values(), organization, name)
        return self._found.get(secret)

    def _cluster_secret(self, destination: Destination) -> object:
        """The Secret with a cluster's kubeconfig, as an object: one that was read anew may say something else."""
        cluster = self._fleet.snapshot.clusters.get(Ref("Cluster", *destination.cluster))
        access = cluster.spec.access if cluster is not None else None
        if access is None or access.kubeconfig is None:
            return access
        return secret_object(self._fleet.snapshot, destination.cluster[0], access.kubeconfig.secret.name)


def drift_of(fleet: Fleet, key: PluginKey) -> Drift:
    """What is done about files that others changed; what nobody wants any more is left as it is."""
    plugin = fleet.decisions.plugins.get(key)
    if plugin is None:
        return "Report"
    _, written = _written(fleet, plugin)
    found = (written.directory or written.git or written.kubernetes) if written is not None else None
    return found.drift if found is not None else "Correct"


def _written(fleet: Fleet, plugin: PluginDecision) -> tuple[AnyObject, Delivery | None]:
    """What says where a plugin is delivered, and in which object that stands."""
    owner: AnyObject = plugin.target.owner
    written: Delivery | None = plugin.target.owner.spec.delivery
    if written is None:
        name = plugin.organization
        organization = fleet.snapshot.organizations.get(Ref("Organization", name, name))
        if organization is not None and organization.spec.default_delivery is not None:
            return organization, organization.spec.default_delivery
    return owner, written


class Destinations(Mapping[PluginKey, Destination]):
    """Where plugins are delivered, worked out for those that are asked about."""

    def __init__(self, fleet: Fleet, of: Callable[[Fleet, PluginDecision], Destination | None]) -> None:
        self._fleet, self._of = fleet, of

    def __getitem__(self, key: PluginKey) -> Destination:
        found = self._of(self._fleet, self._fleet.decisions.plugins[key])
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[PluginKey]:
        return iter(self._fleet.decisions.plugins)

    def __len__(self) -> int:
        return len(self._fleet.decisions.plugins)
