"""Delivery: what was admitted goes to where its cluster takes it from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from fleetform.model.results.decisions import PluginKey


class Failure(NamedTuple):
    """Why a parcel did not arrive. refused: trying again does not help unless somebody acts; unreachable: the cluster
    itself does not answer, or does not know us."""

    message: str
    hint: str
    refused: bool = False
    unreachable: bool = False


# No failure: it is on its way, beside the passes, and what comes of it is told when it is asked for again.
UNDER_WAY = Failure("it is on its way", "")


class Revealed(NamedTuple):
    """Files with what is secret in them, and what that is: no message may hold it."""

    files: Mapping[str, bytes]
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Revealed(…)"


# What a Secret of the cluster holds: namespace, name and key; None if there is none.
SecretThere = Callable[[str, str, str], str | None]


class Parcel(Struct, frozen=True, gc=False):
    """One plugin's objects for one cluster, as files of one folder. digest names these very files; predecessor is the
    plugin that had its release before (B23).

    reveal gives the files with what is secret in them, where files have placeholders for it (S5), some of it from the
    cluster itself; it may take a while.
    """

    key: PluginKey
    files: Mapping[str, bytes]
    digest: str
    input_hash: str
    version: str | None = None
    predecessor: PluginKey | None = None
    reveal: Callable[[SecretThere], Revealed | Failure] | None = None


class Note(NamedTuple):
    """Why a delivery takes place, for people who read it where it arrives: a line for each plugin."""

    lines: Mapping[PluginKey, str]

    def text(self, keys: Iterable[PluginKey]) -> str:
        """What it says of some plugins, with a headline if they are several."""
        lines = [self.lines[key] for key in keys if key in self.lines]
        return "\n".join(lines if len(lines) == 1 else [f"{len(lines):,} plugins", "", *lines])


class Drift(NamedTuple):
    """A file that is not as it was delivered: missing, or other than it was."""

    key: PluginKey
    file: str
    missing: bool


class Deliverer(Protocol):
    """One destination. Delivering what is there already changes nothing; stopping anywhere and delivering again ends in
    the same state."""

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        """Brings parcels, and removes what was delivered for plugins that are gone; those that did not succeed yet."""

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        """What differs from what was delivered last; OutsideError while nobody can tell. beside are the namespaces of
        all plugins that are looked at on the same cluster."""


class Beside(Protocol):
    """What is done on clusters, and in branches, beside the passes."""

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        """Whether this very state of a plugin is on its way."""

    def is_busy(self) -> bool:
        """Whether anything is under way."""


class NothingBeside:
    """Every delivery ends before its pass does."""

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        return False

    def is_busy(self) -> bool:
        return False
