"""Fleets: out of files, and as a control plane has accepted them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.artifacts.confined import sources_outside
from fleetform.artifacts.store import cache_folder
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.reader import Catalogs, Fetching
from fleetform.load.parses import KeptParses, Parses
from fleetform.load.reader import load_input
from fleetform.outside.boundary import Boundary
from fleetform.ports.state import KnownState
from fleetform.syntax.times import parse_time
from fleetform.wiring import clock
from fleetform.wiring.access import open_control_plane
from fleetform.wiring.databases import database_path, open_state, open_store_reader
from fleetform.wiring.rendering import TransformIdentities

__all__ = ["Fetching", "Parses", "open_accepted", "open_fleet", "open_parses"]


def open_fleet(
    sources: Sequence[str],
    organization: str | None = None,
    at: str | None = None,
    state: str | None = None,
    strict: bool = False,
    fetching: Fetching = "none",
    catalogs: Sequence[str] | None = None,
    plugin_folder: str | None = None,
    confined: bool = False,
    parses: Parses | None = None,
    report: Callable[[int, int], None] | None = None,
    known: KnownState | None = None,
) -> Fleet:
    """The fleet that the sources hold, as it is at a time (now, unless one is given).

    catalogs are the names of those that are fetched; None means all. plugin_folder holds transform plugins. confined
    reads nothing outside of the repository. parses has what need not be parsed again. report is told how many files are
    read, and of how many. known is what is known, where state does not name it.
    """
    moment = parse_time(at) if at is not None else clock.now()
    boundary = Boundary.of_command(confined)
    reader = Catalogs(CatalogCache(cache_folder()), clock.now, fetching, catalogs, boundary)
    input_ = load_input(sources or ["."], boundary=boundary, parses=parses, report=report)
    fleet = read_fleet(input_, moment, organization, known or _known(state), strict, reader)
    refused = tuple(sources_outside(fleet, boundary)) if confined else ()
    return replace(fleet, transforms=TransformIdentities(plugin_folder), reading=(*fleet.reading, *refused))


def open_accepted(
    server: str | None, state: str | None, organization: str | None, at: str | None
) -> tuple[Fleet, KnownState]:
    """The fleet that a control plane has accepted, asked of it or read from its database, and what it knows."""
    from fleetform.app.accepted import accepted_source, known_of
    from fleetform.load.inputs import InputFile
    from fleetform.load.reader import load_files
    from fleetform.model.answers.source import AcceptedSource

    if server is not None:
        source = open_control_plane(server).answer("source", AcceptedSource, {})
    else:
        from fleetform.loop.image import read_image

        reader = open_store_reader(state)
        try:
            image = read_image(reader, database_path(state))
        finally:
            reader.close()
        source = accepted_source(image.files, image.source.revision, image.known)
    known = known_of(source, server or database_path(state))
    files = [InputFile(name, text.encode()) for name, text in sorted(source.files.items())]
    moment = parse_time(at) if at is not None else clock.now()
    catalogs = Catalogs(CatalogCache(cache_folder()), clock.now, "none", None)
    return read_fleet(load_files(files, "server"), moment, organization, known, False, catalogs), known


def _known(state: str | None) -> KnownState:
    return open_state(state).read() if state is not None else KnownState()


def open_parses(kept: bool = True) -> Parses:
    """What the inputs of one command share of their parses; with those that earlier commands kept."""
    return Parses(KeptParses(os.path.join(cache_folder(), "parses"), _key_file()) if kept else None)


def _key_file() -> str:
    """The key that kept parses are signed with: not in the cache, which people copy from machine to machine."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fleetform", "parses.key")
