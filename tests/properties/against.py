"""The engine and the simple resolver side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fleetform.engine.decide import decide
from fleetform.model.snapshot import Snapshot
from properties.seen import SeenOption, seen
from support.oracle import OptionAnswer, resolve_simply


class Compared(NamedTuple):
    """One option of one plugin, as both see it."""

    which: str
    engine: SeenOption
    simple: OptionAnswer


def compared_options(snapshot: Snapshot) -> Iterator[Compared]:
    """Every option of every plugin; that both know the same plugins and options is checked on the way."""
    engine, simple = seen(decide(snapshot)), resolve_simply(snapshot)
    assert engine.keys() == simple.keys()
    for key, plugin in engine.items():
        assert plugin.version == simple[key].version
        assert plugin.options.keys() == simple[key].options.keys()
        for name, option in plugin.options.items():
            yield Compared(f"{name} of {key}", option, simple[key].options[name])
