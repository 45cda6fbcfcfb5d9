"""What earlier passes left behind, and where it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from msgspec import Raw, Struct

from fleetform.engine.world.stored import NOTHING_STORED, Stored
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.snapshot import VersionKey
from fleetform.model.state import UNKNOWN, PluginState, PluginStates, Trouble


class KnownVersion(NamedTuple):
    """What an earlier pass stamped on a version: when it came, when it goes, the digest of what it renders."""

    announced: datetime | None = None
    ends: datetime | None = None
    digest: str | None = None


class Rejection(NamedTuple):
    """A version that failed for an owner, as long as the owner's content is this one."""

    owner: Ref
    version: str
    content: str | None = None


class KeptDocument(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The document of an object that is another by now, while a rollout may still need it as it was (B21).

    identity and hash are those of AdmittedObjects. It may hold secrets, so it is never exported.
    """

    identity: str
    hash: str
    organization: str
    file: str
    tree: Raw
    created: str | None = None


@dataclass(frozen=True, slots=True)
class KnownState:
    """All that is known from earlier passes.

    stamps are times of creation, as they are written; plugins is what is known of each plugin, by cluster and name;
    placements are the clusters that a placement had chosen; rollouts is what is stored about those; kept are objects as
    they were, by identity and hash. unrendered are starts that cannot be rendered for now, since a source or a tool is
    not there. Two are for those who ask alone: troubles are what keeps plugins from arriving or from being judged,
    altered the input hashes that would be rendered otherwise by now (R2-38). secret_key tells secrets apart without
    telling them (B18); it is never exported.
    """

    stamps: Mapping[Ref, str] = field(default_factory=dict)
    plugins: PluginStates = field(default_factory=dict)
    versions: Mapping[VersionKey, KnownVersion] = field(default_factory=dict)
    rejected: Sequence[Rejection] = ()
    placements: Mapping[Ref, Sequence[str]] = field(default_factory=dict)
    rollouts: Stored = NOTHING_STORED
    kept: Mapping[tuple[str, str], KeptDocument] = field(default_factory=dict)
    troubles: Mapping[PluginKey, Trouble] = field(default_factory=dict)
    unrendered: Mapping[PluginKey, Trouble] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()
    secret_key: str = ""

    def plugin(self, cluster: Ref, name: str) -> PluginState:
        """What is known of a plugin."""
        return self.plugins.get(cluster, {}).get(name, UNKNOWN)


class StateStore(Protocol):
    """Where what is known is kept. Requests to rollouts are read, changed and written back through it."""

    def read(self) -> KnownState: ...

    def write(self, known: KnownState) -> None:
        """Replaces all that is known, wholly or not at all."""
        ...
