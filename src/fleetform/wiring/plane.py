"""The embedded control plane: its loop with everything that it stands in."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fleetform.app.answering.advice import in_commands
from fleetform.outside.files import OUTPUT_MARK
from fleetform.syntax.times import parse_time
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.loops import LoopParts, open_loop
from fleetform.wiring.views import stored_fleet_opener

if TYPE_CHECKING:
    from fleetform.clusters.work import Load
    from fleetform.loop.caring import Care
    from fleetform.loop.control import Control, PassReport
    from fleetform.loop.driver import Driver
    from fleetform.loop.polling import Poller
    from fleetform.outside.mirrors import Mirror
    from fleetform.outside.watching import FileWatcher
    from fleetform.ports.store import StoreError


class Plane(NamedTuple):
    """A control plane that is ready to run; close lets go of the database.

    fetch brings what a source elsewhere has now; look has the source looked at soon, and attend does so again and again
    until what it answers is called. drain sends what people are told, for so many seconds at most. load is how much is
    to be done on clusters.
    """

    control: Control
    driver: Driver
    close: Callable[[], None]
    turn_clock: Callable[[datetime], None]
    fetch: Callable[[], None]
    look: Callable[[], None]
    attend: Callable[[], Callable[[], None]]
    drain: Callable[[float], None]
    load: Callable[[], Load]


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
    waits: bool = False,
) -> Plane:
    """The embedded control plane over a database. at stops the clock at a time. repository: where sources are.

    unwatched is told why there are no file events, if there are none, cared what was found while nothing was due; said
    gets what became of notifications. looked is called whenever the loop has looked whether there is work.
    private_endpoints: notifications may go to addresses of this network. In a trial, or at another time, none is sent.
    kubeconfig and accounts_in say how clusters are reached (loop/reaching). waits: for sources, however slow they are.
    """
    # Imported where it is needed: no other command has a database.
    from fleetform.load.inputs import IGNORE_FILE
    from fleetform.load.sources import FileSource, RepositorySource, folder_finder
    from fleetform.loop.polling import Poller
    from fleetform.outside.watching import FileWatcher
    from fleetform.store.sqlite import SqliteStore

    store = SqliteStore(database)
    clock = SystemClock(parse_time(at) if at is not None else None)
    source: FileSource | RepositorySource = FileSource(sources)
    if repository is not None:
        source = RepositorySource(_copy_of(repository, database), sources)
    control, driver, sending, load, close = open_loop(
        LoopParts(
            store,
            source,
            clock,
            stored_fleet_opener(sources, organization, clock, "due", plugin_folder),
            database,
            told,
            failed,
            cared,
            in_commands,
            said,
            looked,
            interval,
            output_folder,
            folder_finder(sources),
            health_folder,
            plugin_folder,
            private_endpoints,
            sends=at is None and not trial,
            kubeconfig=kubeconfig,
            accounts_in=accounts_in,
            trial=trial,
            waits=waits,
        )
    )
    look = partial(driver.wake, source_changed=True)
    if isinstance(source, RepositorySource):
        poller = Poller(source.fetch, look, interval, random.uniform)
        follow = partial(_attended, poller)
        return Plane(control, driver, close, clock.turn, source.fetch, poller.hint, follow, sending.drain, load)
    folders = [each for each in sources if not each.startswith("git:") and os.path.exists(each)]
    watcher = FileWatcher(folders, OUTPUT_MARK, (IGNORE_FILE,), look, unwatched)
    attend = partial(_attended, watcher) if folders else lambda: _nothing
    return Plane(control, driver, close, clock.turn, _nothing, look, attend, sending.drain, load)


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
