"""The embedded control plane: its loop with everything that it stands in."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fleetform.artifacts.store import cache_folder
from fleetform.outside.files import OUTPUT_MARK
from fleetform.syntax.times import parse_time
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.clusters import open_clusters
from fleetform.wiring.rendering import open_renderers
from fleetform.wiring.views import stored_fleet_opener

if TYPE_CHECKING:
    from fleetform.loop.caring import Care
    from fleetform.loop.control import Control, PassReport
    from fleetform.loop.driver import Driver
    from fleetform.loop.polling import Poller
    from fleetform.loop.records import Destination
    from fleetform.outside.mirrors import Mirror
    from fleetform.outside.watching import FileWatcher
    from fleetform.ports.delivery import Deliverer
    from fleetform.ports.notify import Endpoint
    from fleetform.ports.store import StoreError


class Plane(NamedTuple):
    """A control plane that is ready to run; close lets go of the database.

    fetch brings what a source elsewhere has now; look has the source looked at soon, and attend does so again and again
    until what it answers is called. drain sends what people are told, for so many seconds at most.
    """

    control: Control
    driver: Driver
    close: Callable[[], None]
    turn_clock: Callable[[datetime], None]
    fetch: Callable[[], None]
    look: Callable[[], None]
    attend: Callable[[], Callable[[], None]]
    drain: Callable[[float], None]


def open_plane(
    sources: Sequence[str],
    database: str,
    told: Callable[[PassReport], None],
    failed: Callable[[StoreError], None],
    unwatched: Callable[[str], None],
    cared: Callable[[Care], None],
    organization: str | None = None,
    at: str | None = None,
    interval: timedelta = timedelta(seconds=30),
    output_folder: str = "out",
    health_folder: str | None = None,
    plugin_folder: str | None = None,
    repository: str | None = None,
    said: Callable[[str], None] = lambda line: None,
    looked: Callable[[], None] = lambda: None,
    private_endpoints: bool = False,
    trial: bool = False,
    kubeconfig: str | None = None,
    accounts_in: str | None = None,
) -> Plane:
    """The embedded control plane over a database. at stops the clock at a time. repository: where sources are.

    unwatched is told why there are no file events, if there are none, cared what was found while nothing was due; said
    gets what became of notifications. looked is called whenever the loop has looked whether there is work.
    private_endpoints: notifications may go to addresses of this network. In a trial, or at another time, none is sent.
    kubeconfig and accounts_in say how clusters are reached (loop/reaching).
    """
    # Imported where it is needed: no other command has a database.
    from fleetform.deliver.directory import DirectoryDelivery
    from fleetform.deliver.git import Branch, GitDelivery
    from fleetform.load.inputs import IGNORE_FILE
    from fleetform.load.sources import FileSource, RepositorySource, folder_finder
    from fleetform.loop.control import Control
    from fleetform.loop.destinations import destination_of, login_of
    from fleetform.loop.driver import Driver
    from fleetform.loop.endpoints import endpoint
    from fleetform.loop.polling import Poller
    from fleetform.loop.sending import Sending
    from fleetform.loop.surroundings import Surroundings
    from fleetform.notify.notifier import HttpNotifier
    from fleetform.observe.health import ClusterObserver
    from fleetform.outside.mirrors import Mirror, git_address
    from fleetform.outside.posts import Posts
    from fleetform.outside.watching import FileWatcher
    from fleetform.store.sqlite import SqliteStore

    store = SqliteStore(database)
    clock = SystemClock(parse_time(at) if at is not None else None)

    def deliverer(destination: Destination) -> Deliverer:
        if destination.kind == "directory":
            return DirectoryDelivery(destination.path)
        if destination.kind == "kubernetes":
            return clusters.deliverer(destination)
        address = git_address(destination.path, ".")
        name = hashlib.sha256(address.encode()).hexdigest()[:16]
        mirror = Mirror(os.path.join(cache_folder(), "deliveries", name), address)
        branch = Branch(destination.branch, destination.folder, destination.sign)
        return GitDelivery(mirror, branch, lambda: login_of(control.fleet, destination), time.sleep)

    folder_of = folder_finder(sources)
    source: FileSource | RepositorySource = FileSource(sources)
    if repository is not None:
        source = RepositorySource(_copy_of(repository, database), sources)
    clusters = open_clusters(
        lambda: control.fleet, lambda: driver.worked(), ClusterObserver(health_folder), kubeconfig, accounts_in
    )
    control = Control(
        Surroundings(
            store,
            clock,
            source,
            stored_fleet_opener(sources, organization, clock, "due", plugin_folder),
            open_renderers(plugin_folder=plugin_folder),
            deliverer,
            clusters.observer,
            lambda fleet, plugin: destination_of(fleet, plugin, output_folder, folder_of, trial),
            database,
            folder_of,
            sends=at is None and not trial,
            beside=clusters.deliveries,
        )
    )

    def endpoint_of(organization: str, id_: str) -> Endpoint | str | None:
        fleet = control.fleet
        return endpoint(fleet, organization, id_) if fleet is not None else "no files were accepted yet"

    def beside() -> datetime | None:
        looked()
        return sending.attend()

    notifier = HttpNotifier(Posts(private_endpoints))
    sending = Sending(store, notifier, clock, endpoint_of, lambda: driver.wake(), said)
    driver = Driver(control, clock, interval, told, failed, cared, beside)
    look = partial(driver.wake, source_changed=True)

    def close() -> None:
        clusters.close()
        store.close()

    if isinstance(source, RepositorySource):
        poller = Poller(source.fetch, look, interval, random.uniform)
        follow = partial(_attended, poller)
        return Plane(control, driver, close, clock.turn, source.fetch, poller.hint, follow, sending.drain)
    folders = [each for each in sources if not each.startswith("git:") and os.path.exists(each)]
    watcher = FileWatcher(folders, OUTPUT_MARK, (IGNORE_FILE,), look, unwatched)
    attend = partial(_attended, watcher) if folders else lambda: _nothing
    return Plane(control, driver, close, clock.turn, _nothing, look, attend, sending.drain)


def _attended(beside: Poller | FileWatcher) -> Callable[[], None]:
    beside.start()
    return beside.stop


def _copy_of(repository: str, database: str) -> Mirror:
    """The copy of a repository beside a database: `git:REF` means this one, here and in processes that are started."""
    from fleetform.outside.mirrors import Mirror, git_address

    folder = f"{os.path.abspath(database)}.git"
    os.environ["GIT_DIR"] = folder
    return Mirror(folder, git_address(repository, "."))


def _nothing() -> None:
    """There is nothing to do."""
