"""Configs of a plugin: which objects count, in which order, and which are hidden by what."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from fleetform.model.kinds.definition import ConfigMode
from fleetform.model.objects import AnyObject, At, Path

# Group, resource, namespace, name (R1-9).
Identity = tuple[str, str, str, str]
ConfigPlace = Literal[1, 2, 3]
HiddenReason = Literal["replaced", "duplicate", "not-supported"]


class ConfigReference(Struct, frozen=True, eq=False, gc=False):
    """A config object that somebody names: the definition (place 1), the preset or a group (2), the plugin (3).

    index is its position in its place. config is the object, None if there is none; spec_hash is then empty.
    """

    identity: Identity
    place: ConfigPlace
    index: int
    object: AnyObject
    path: Path
    part: str = ""
    config: AnyObject | None = None
    spec_hash: str = ""

    @property
    def type(self) -> tuple[str, str]:
        return self.identity[:2]

    @property
    def fold(self) -> tuple[int, int]:
        """A later place, then a bigger index, wins (R1-8)."""
        return self.place, self.index

    @property
    def at(self) -> At:
        return self.object.at(*self.path)


class HiddenConfig(NamedTuple):
    """A reference that does not count, and why."""

    reference: ConfigReference
    reason: HiddenReason


class Configs(Struct, frozen=True, eq=False, gc=False):
    """The configs of a plugin in the order that its mode lists them."""

    mode: ConfigMode = "OverrideByGVK"
    effective: tuple[ConfigReference, ...] = ()
    hidden: tuple[HiddenConfig, ...] = ()


NO_CONFIGS = Configs()
