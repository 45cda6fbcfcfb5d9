"""The plugins of a run: the built-in ones, those of installed packages, and those of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fleetform.transformers.builtin import built_in_plugins
from fleetform.transformers.discover import Problem, discover
from fleetform.transformers.executables import PLUGIN_LIMITS, LoadError, Workshop
from fleetform.transformers.modules import installed_plugins
from fleetform.transformers.plugins import TransformPlugin

# The only built-in plugin that runs without being asked for, and before all others (S41).
ALWAYS = "KubernetesPlugin"


class OpenedPlugins(NamedTuple):
    """Plugins in run order, and what is wrong with those that cannot be used."""

    plugins: tuple[TransformPlugin, ...]
    problems: tuple[Problem, ...] = ()


@contextmanager
def open_plugins(
    folder: str | None, seconds: float | None = None, every_built_in: bool = False
) -> Iterator[OpenedPlugins]:
    """The plugins of a run; what they keep running ends with the context.

    every_built_in brings those, too, that only run where somebody names them.
    """
    limits = PLUGIN_LIMITS if seconds is None else PLUGIN_LIMITS._replace(seconds=seconds)
    built_in = built_in_plugins()
    plugins: list[TransformPlugin] = [built_in[ALWAYS]]
    if every_built_in:
        plugins += [each for name, each in built_in.items() if name != ALWAYS]
    problems: list[Problem] = []
    for name, installed in installed_plugins():
        if isinstance(installed, LoadError):
            problems.append(Problem(name, installed.message, installed.hint))
        else:
            plugins.append(installed)
    with Workshop(limits) as workshop:
        if folder is not None:
            found = discover(folder, workshop)
            plugins += found.plugins
            problems += found.problems
        yield OpenedPlugins(tuple(plugins), tuple(problems))
