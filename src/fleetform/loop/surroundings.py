"""What a control plane stands in: its store, clock, source and clusters, as wiring chose them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from fleetform.app.answering.advice import Words, in_commands
from fleetform.app.fleet import Fleet
from fleetform.loop.accepting import OpenFleet
from fleetform.loop.records import Destination
from fleetform.model.results.decisions import PluginDecision
from fleetform.ports.clock import Clock
from fleetform.ports.delivery import Beside, Deliverer, NothingBeside
from fleetform.ports.observing import ClusterReader, Observer
from fleetform.ports.rendering import Renders, Rerenders
from fleetform.ports.sources import Source
from fleetform.ports.store import Store


@dataclass(frozen=True)
class Surroundings:
    """What a control plane stands in. destination_of says where a plugin of a fleet is delivered, folder_of which
    folder paths in a file are relative to.

    beside is what goes on on clusters beside the passes; rerenders is for what holds secrets there, reader for what is
    read there. sends: whether
    people are told by messages; in a trial, what is told stands in the feed alone. words say what they can do where
    this control plane runs.
    """

    store: Store
    clock: Clock
    source: Source
    open_fleet: OpenFleet
    renders: Renders
    deliverer: Callable[[Destination], Deliverer]
    observer: Observer
    destination_of: Callable[[Fleet, PluginDecision], Destination | None]
    name: str = "the store"
    folder_of: Callable[[str], str] = os.path.dirname
    sends: bool = True
    words: Words = in_commands
    beside: Beside = field(default_factory=NothingBeside)
    rerenders: Rerenders | None = None
    reader: ClusterReader | None = None

    def is_straight(self, fleet: Fleet, plugin: PluginDecision) -> bool:
        """Whether a plugin's own objects are applied to its cluster, and not those of a tool that brings them there."""
        delivery = fleet.inputs.delivery(plugin)
        if delivery is not None and delivery.flux is not None:
            return False
        found = self.destination_of(fleet, plugin)
        return found is not None and found.kind == "kubernetes"
