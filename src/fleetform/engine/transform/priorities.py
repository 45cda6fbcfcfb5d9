"""Priorities that a run gives to plugins, by name (R4-1, R4-3, R4-6, R4-7, R4-15, R4-16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fleetform.engine.transform.records import TransformError
from fleetform.model.shape import did_you_mean


class PluginNames(NamedTuple):
    """A plugin's name, which its metadata gives, and its file's."""

    name: str
    file: str = ""


class Priorities(NamedTuple):
    """A priority for each plugin in run order, None for those that no entry names; and entries that name none."""

    by_plugin: tuple[int | None, ...]
    unknown: tuple[str, ...] = ()


class PriorityError(TransformError):
    """Names that cannot be meant so: a mistake in the call."""


def parse_names(text: str, what: str = "--plugin-priorities") -> list[str]:
    """A list `a,b`: blanks are trimmed, and a name stands once."""
    names = [name for name in map(str.strip, text.split(",")) if name]
    for name in names:
        if names.count(name) > 1:
            raise PriorityError(f"{what} names {name} twice", "keep one")
    return names


def by_index(names: Sequence[str]) -> dict[str, int]:
    """Priorities of a list: the earlier wins."""
    return {name: number for number, name in enumerate(names)}


def prioritise(wanted: Mapping[str, int], plugins: Sequence[PluginNames]) -> Priorities:
    """The priority of each plugin. A name may be that of its metadata or of its file; plugins of one name share it."""
    found: list[int | None] = [None] * len(plugins)
    entries: list[str | None] = [None] * len(plugins)
    unknown = []
    for entry, priority in wanted.items():
        places = named(entry, plugins)
        if not places:
            unknown.append(entry)
        for place in places:
            if entries[place] is not None:
                names = f"{entries[place]} and {entry}"
                raise PriorityError(f"{names} are the same plugin, {plugins[place].name}", "keep one of the names")
            found[place], entries[place] = priority, entry
    return Priorities(tuple(found), tuple(unknown))


def named(entry: str, plugins: Sequence[PluginNames]) -> list[int]:
    """The places of the plugins that an entry names; several only where they have one name."""
    places = [place for place, plugin in enumerate(plugins) if entry in (plugin.name, plugin.file)]
    names = sorted({plugins[place].name for place in places})
    if len(names) > 1:
        files = ", ".join(f"{plugins[place].name} ({plugins[place].file})" for place in places)
        raise PriorityError(f"{entry} names {len(places)} plugins: {files}", "rename one of the files")
    return places


def suggestion(entry: str, plugins: Sequence[PluginNames]) -> str:
    """What to do about a name that no plugin has."""
    names = sorted({plugin.name for plugin in plugins})
    return did_you_mean(entry, names, f"there are {', '.join(names)}" if names else "there are no plugins")
