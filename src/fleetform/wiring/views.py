"""What is stored, as a fleet: for the loop, and for the API beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.app.reading.kept_readings import KeptReadings
from fleetform.artifacts.store import cache_folder
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.reader import Catalogs, Fetching
from fleetform.outside.boundary import EVERYWHERE, Boundary
from fleetform.ports.inputs import Input
from fleetform.ports.state import KnownState
from fleetform.syntax.times import parse_time
from fleetform.wiring.clock import SystemClock
from fleetform.wiring.rendering import TransformIdentities

if TYPE_CHECKING:
    from fleetform.loop.accepting import OpenFleet
    from fleetform.loop.viewing import Views
    from fleetform.ports.clock import Clock
    from fleetform.ports.store import StoreReader


class Viewing(NamedTuple):
    """What an API answers from. Each reads by a connection of its own: two threads cannot use one at a time."""

    views: Views
    history: StoreReader
    changes: StoreReader
    clock: Clock


def open_views(
    sources: Sequence[str], database: str, organization: str | None, at: str | None, plugin_folder: str | None
) -> Viewing:
    """What the API of a control plane answers from: the database, read only, and nothing of the network."""
    from fleetform.loop.viewing import Views
    from fleetform.store.sqlite_reader import SqliteReader

    clock = SystemClock(parse_time(at) if at is not None else None)
    opener = stored_fleet_opener(sources, organization, clock, "none", plugin_folder)
    views = Views(SqliteReader(database), opener, clock, database)
    return Viewing(views, SqliteReader(database), SqliteReader(database), clock)


def stored_fleet_opener(
    sources: Sequence[str],
    organization: str | None,
    clock: Clock,
    fetching: Fetching,
    plugin_folder: str | None,
    authored: Callable[[Input], Input] | None = None,
    boundary: Boundary = EVERYWHERE,
) -> OpenFleet:
    """Reads stored files as a fleet; those that did not change are not parsed again.

    authored says who made them; without it git does, as far as sources are of a repository.
    """
    from fleetform.load.inputs import InputFile
    from fleetform.load.reader import DocumentCache, load_files, with_authors
    from fleetform.outside.authorship import AuthorMemory

    cache, authors, readings = DocumentCache(), AuthorMemory(), KeptReadings()
    transforms = TransformIdentities(plugin_folder)
    reader = Catalogs(CatalogCache(cache_folder()), clock.now, fetching, None, boundary)

    def opened(files: Mapping[str, bytes], moment: datetime, known: KnownState) -> Fleet:
        read = [InputFile(name, content) for name, content in sorted(files.items())]
        loaded = load_files(read, " ".join(sources), cache)
        input_ = authored(loaded) if authored is not None else with_authors(loaded, sources, authors)
        fleet = read_fleet(input_, moment, organization, known, catalogs=reader, kept_readings=readings)
        return replace(fleet, transforms=transforms)

    return opened


def open_stored_fleet(sources: Sequence[str], organization: str | None, plugin_folder: str | None) -> OpenFleet:
    """What reads stored files as a fleet, and nothing of the network."""
    return stored_fleet_opener(sources, organization, SystemClock(None), "none", plugin_folder)
