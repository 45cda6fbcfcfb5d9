"""Chooses implementations: the one place where the application meets its adapters."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from fleetform.app.fleet import Fleet, read_fleet
from fleetform.artifacts.store import cache_folder
from fleetform.catalogs.cache import CatalogCache
from fleetform.catalogs.reader import Catalogs, Fetching
from fleetform.load.reader import load_input
from fleetform.load.state import StateFile, load_state
from fleetform.outside.files import OUTPUT_MARK, LocalFiles, write_file
from fleetform.ports.rendering import Renders
from fleetform.ports.state import StateStore
from fleetform.syntax.times import parse_time

if TYPE_CHECKING:
    from fleetform.transformers.opened import OpenedPlugins

__all__ = ["OUTPUT_MARK", "Fetching", "LocalFiles", "open_fleet", "open_renderers", "open_state", "write_file"]


def open_fleet(
    sources: Sequence[str],
    organization: str | None = None,
    at: str | None = None,
    state: str | None = None,
    strict: bool = False,
    fetching: Fetching = "none",
    catalogs: Sequence[str] | None = None,
    plugin_folder: str | None = None,
) -> Fleet:
    """The fleet that the sources hold, as it is at a time (now, unless one is given).

    catalogs are the names of those that are fetched; None means all. plugin_folder holds transform plugins.
    """
    moment = parse_time(at) if at is not None else _now()
    reader = Catalogs(CatalogCache(cache_folder()), _now, fetching, catalogs)
    fleet = read_fleet(load_input(sources or ["."]), moment, organization, load_state(state), strict, reader)
    return replace(fleet, transforms=_TransformIdentities(plugin_folder))


def open_state(name: str) -> StateStore:
    """Where `--state` keeps what is known."""
    return StateFile(name)


def open_renderers(fetching: bool = False, plugin_folder: str | None = None) -> Renders:
    """What renders charts, kustomizations and manifests, and transforms what comes of them.

    fetching downloads their sources anew; plugin_folder holds transform plugins.
    """
    # Imported where it is needed: most commands render nothing, and start-up time counts.
    from fleetform.renderers.batch import Renderers
    from fleetform.transformers.pipeline import TransformingRenders

    return TransformingRenders(Renderers(cache_folder(), fetching), partial(_transform_plugins, plugin_folder))


@cache
def _transform_plugins(folder: str | None) -> OpenedPlugins:
    """The transform plugins that presets can name; what they keep running ends with the process."""
    from fleetform.transformers.opened import open_plugins

    opened = open_plugins(folder, every_built_in=True)
    atexit.register(opened.__exit__, None, None, None)
    return opened.__enter__()


class _TransformIdentities(Mapping[str, str]):
    """What transform plugins are, by name. Plugins are opened when somebody names one: most fleets name none."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder

    @cached_property
    def _known(self) -> dict[str, str]:
        known: dict[str, str] = {}
        for each in _transform_plugins(self._folder).plugins:
            known.setdefault(each.name, each.identity)
        return known

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
