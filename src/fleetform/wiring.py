"""Chooses implementations: the one place where the application meets its adapters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.artifacts.store import cache_folder
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.reader import Catalogs, Fetching
from fleetform.load.reader import load_input
from fleetform.load.state import load_state
from fleetform.outside.files import OUTPUT_MARK, LocalFiles, write_file
from fleetform.ports.rendering import Renders
from fleetform.syntax.times import parse_time

__all__ = ["OUTPUT_MARK", "Fetching", "LocalFiles", "open_fleet", "open_renderers", "write_file"]


def open_fleet(
    sources: Sequence[str],
    organization: str | None = None,
    at: str | None = None,
    state: str | None = None,
    strict: bool = False,
    fetching: Fetching = "none",
    catalogs: Sequence[str] | None = None,
) -> Fleet:
    """The fleet that the sources hold, as it is at a time (now, unless one is given).

    catalogs are the names of those that are fetched; None means all.
    """
    moment = parse_time(at) if at is not None else _now()
    reader = Catalogs(CatalogCache(cache_folder()), _now, fetching, catalogs)
    return read_fleet(load_input(sources or ["."]), moment, organization, load_state(state), strict, reader)


def open_renderers(fetching: bool = False) -> Renders:
    """What renders charts, kustomizations and manifests; fetching downloads their sources anew."""
    # Imported where it is needed: most commands render nothing, and start-up time counts.
    from fleetform.renderers.batch import Renderers

    return Renderers(cache_folder(), fetching)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
