"""What is known of each plugin from earlier passes: what was admitted, what was healthy, what was seen on its cluster.

One record per plugin, so that a change of one plugin's state is a change of one record.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from msgspec import Struct

from fleetform.model.objects import Ref

NOTHING_OBSERVED: Mapping[str, object] = MappingProxyType({})


class Deployed(Struct, frozen=True, gc=False):
    """A state that a plugin reached: a version of a definition, and the hash of all that it was made of.

    version is None if a state holds none that can be read: nobody knows then what runs. definition is None if a state
    does not say: it is then taken for the one that the plugin's owner names.
    """

    version: str | None
    definition: str | None = None
    input_hash: str | None = None


class PluginState(Struct, frozen=True, gc=False):
    """What is known of one plugin on one cluster.

    observed holds values that were read on the cluster, by the binding's name (None: there was nothing to read);
    failed is the input hash that failed there last; phase and since are what its last change came to, and when.
    """

    admitted: Deployed | None = None
    last_healthy: Deployed | None = None
    observed: Mapping[str, object] = NOTHING_OBSERVED
    failed: str | None = None
    phase: str | None = None
    since: datetime | None = None


UNKNOWN = PluginState()

# By cluster, then plugin: a change of one plugin leaves the records of all other clusters as they are.
PluginStates = Mapping[Ref, Mapping[str, PluginState]]
