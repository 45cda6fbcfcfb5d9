"""Renderers, and the transform plugins that presets and definitions can name."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from fleetform.artifacts.store import cache_folder
from fleetform.outside.boundary import EVERYWHERE, Boundary

if TYPE_CHECKING:
    from fleetform.transformers.opened import OpenedPlugins
    from fleetform.transformers.pipeline import TransformingRenders


def open_renderers(
    fetching: bool = False,
    plugin_folder: str | None = None,
    boundary: Boundary = EVERYWHERE,
    patience: float | None = None,
) -> TransformingRenders:
    """What renders charts, kustomizations and manifests, and transforms what comes of them.

    fetching downloads their sources anew; plugin_folder holds transform plugins; boundary is how far reading goes.
    patience is for how many seconds sources elsewhere are waited for; without it, until they come.
    """
    # Imported where it is needed: most commands render nothing, and start-up time counts.
    from fleetform.renderers.batch import Renderers
    from fleetform.transformers.pipeline import TransformingRenders

    renderers = Renderers(cache_folder(), fetching, boundary=boundary, patience=patience)
    return TransformingRenders(renderers, partial(_transform_plugins, plugin_folder), renderers)


@cache
def _transform_plugins(folder: str | None) -> OpenedPlugins:
    """The transform plugins that presets can name; what they keep running ends with the process."""
    from fleetform.transformers.opened import open_plugins

    opened = open_plugins(folder, every_built_in=True)
    atexit.register(opened.__exit__, None, None, None)
    return opened.__enter__()


class TransformIdentities(Mapping[str, str]):
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
