"""A loop with what every control plane's has, whatever its store and its source are."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from fleetform.artifacts.store import cache_folder
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.outside.records import prepare_records
from fleetform.wiring.clusters import open_clusters
from fleetform.wiring.rendering import open_renderers

if TYPE_CHECKING:
    from fleetform.app.answering.advice import Words
    from fleetform.app.fleet import Fleet
    from fleetform.clusters.work import Connect, Load
    from fleetform.loop.accepting import OpenFleet
    from fleetform.loop.caring import Care
    from fleetform.loop.control import Control, PassReport
    from fleetform.loop.driver import Driver
    from fleetform.loop.records import Destination
    from fleetform.loop.sending import Sending
    from fleetform.model.results.decisions import PluginDecision
    from fleetform.outside.kubernetes.access import Access
    from fleetform.ports.clock import Clock
    from fleetform.ports.delivery import Deliverer
    from fleetform.ports.notify import Endpoint
    from fleetform.ports.sources import Source
    from fleetform.ports.store import Store, StoreError


# For so many seconds a pass waits for sources that it renders.
_SOURCES = 10.0


@dataclass(frozen=True)
class LoopParts:
    """What differs between control planes. name is what messages call the store; folder_of gives the folder that paths
    in a file are relative to.

    told gets the report of every pass, failed what a pass failed with, cared what was found while nothing was due, said
    what became of notifications; looked is called whenever the loop has looked whether there is work.
    output_folder None: nothing is delivered into folders.
    private_endpoints: notifications may go to addresses of this network. sends: they are sent at all, and words what
    they say that people can do. kubeconfig and
    accounts_in say how clusters are reached (loop/reaching), connect makes their clients; in a trial none is.
    hub is the access to the management cluster, if there is one; boundary is how far sources are read on this machine.
    waits: for sources that are rendered until they come, as there is no later pass for them.
    """

    store: Store
    source: Source
    clock: Clock
    open_fleet: OpenFleet
    name: str
    told: Callable[[PassReport], None]
    failed: Callable[[StoreError], None]
    cared: Callable[[Care], None]
    words: Words
    said: Callable[[str], None] = lambda line: None
    looked: Callable[[], None] = lambda: None
    interval: timedelta = timedelta(seconds=30)
    output_folder: str | None = "out"
    folder_of: Callable[[str], str] = os.path.dirname
    health_folder: str | None = None
    plugin_folder: str | None = None
    private_endpoints: bool = False
    sends: bool = True
    kubeconfig: str | None = None
    accounts_in: str | None = None
    connect: Connect | None = None
    hub: Access | None = None
    trial: bool = False
    boundary: Boundary = EVERYWHERE
    waits: bool = False


class Loop(NamedTuple):
    """load is how much is to be done on clusters; close lets go of everything, the store included."""

    control: Control
    driver: Driver
    sending: Sending
    load: Callable[[], Load]
    close: Callable[[], None]


def open_loop(parts: LoopParts) -> Loop:
    # Imported where it is needed: no other command runs a loop.
    from fleetform.deliver.beside import AllBeside, DeliveriesBeside
    from fleetform.deliver.directory import DirectoryDelivery
    from fleetform.deliver.git import Branch, GitDelivery
    from fleetform.loop.control import Control
    from fleetform.loop.destinations import destination_of, login_of
    from fleetform.loop.driver import Driver
    from fleetform.loop.endpoints import endpoint
    from fleetform.loop.sending import Sending
    from fleetform.loop.surroundings import Surroundings
    from fleetform.notify.notifier import HttpNotifier
    from fleetform.observe.health import ClusterObserver
    from fleetform.outside.mirrors import Mirror, git_address
    from fleetform.outside.posts import Posts
    from fleetform.outside.silence import SilentServers

    silent = SilentServers()
    branches = DeliveriesBeside(lambda: driver.worked())

    def deliverer(destination: Destination) -> Deliverer:
        if destination.kind == "directory":
            return DirectoryDelivery(destination.path)
        if destination.kind == "kubernetes":
            return clusters.deliverer(destination)
        address = git_address(destination.path, ".")
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        mirror = Mirror(os.path.join(cache_folder(), "deliveries", name), address, silent=silent)
        branch = Branch(destination.branch, destination.folder, destination.sign)
        # As files say when it is handed over: a failing store may leave none by the time that it is needed.
        fleet = control.fleet
        delivery = GitDelivery(mirror, branch, lambda: login_of(fleet, destination), time.sleep)
        return branches.to(address, (branch.name, branch.folder), delivery)

    def destination(fleet: Fleet, plugin: PluginDecision) -> Destination | None:
        has_hub = parts.hub is not None
        return destination_of(fleet, plugin, parts.output_folder, parts.folder_of, parts.trial, has_hub)

    clusters = open_clusters(
        lambda: control.fleet,
        lambda: driver.worked(),
        ClusterObserver(parts.health_folder),
        parts.kubeconfig,
        parts.accounts_in,
        parts.connect,
        parts.hub,
    )
    renderers = open_renderers(
        plugin_folder=parts.plugin_folder, boundary=parts.boundary, patience=None if parts.waits else _SOURCES
    )
    control = Control(
        Surroundings(
            parts.store,
            parts.clock,
            parts.source,
            parts.open_fleet,
            renderers,
            deliverer,
            clusters.observer,
            destination,
            parts.name,
            parts.folder_of,
            sends=parts.sends,
            words=parts.words,
            beside=AllBeside(clusters.deliveries, branches),
            rerenders=renderers,
            reader=clusters.reader if not parts.trial else None,
        )
    )

    def endpoint_of(organization: str, id_: str) -> Endpoint | str | None:
        fleet = control.fleet
        return endpoint(fleet, organization, id_) if fleet is not None else "no files were accepted yet"

    def beside() -> datetime | None:
        parts.looked()
        return sending.attend()

    notifier = HttpNotifier(Posts(parts.private_endpoints))
    sending = Sending(parts.store, notifier, parts.clock, endpoint_of, lambda: driver.wake(), parts.said)
    driver = Driver(control, parts.clock, parts.interval, parts.told, parts.failed, parts.cared, beside)

    def close() -> None:
        clusters.close()
        branches.close()
        parts.store.close()

    # Everything that a loop reads was imported by now, and nothing of it runs yet.
    prepare_records()
    return Loop(control, driver, sending, clusters.load, close)
