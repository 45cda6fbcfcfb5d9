"""The catalogs on disk: the state of each source, and the texts of the definitions that it had."""

from __future__ import annotations

import msgspec

from fleetform.artifacts.store import ArtifactStore
from fleetform.catalogs.records import SourceState
from fleetform.outside.files import write_file


class CatalogCache(ArtifactStore):
    """The store of artifacts, with the states of sources: which version was seen first cannot be fetched again."""

    def state(self, key: str, title: str) -> SourceState:
        """The state of a source; an empty one if it was never read, or if its file is damaged."""
        try:
            with open(self.path("sources", key), "rb") as file:
                return msgspec.json.decode(file.read(), type=SourceState)
        except (OSError, msgspec.MsgspecError, ValueError):
            return SourceState(title)

    def keep(self, key: str, state: SourceState, texts: dict[str, str]) -> None:
        """Write the state of a source, and texts by their digests."""
        for digest, text in texts.items():
            write_file(self.path("texts", digest), text)
        write_file(self.path("sources", key), msgspec.json.encode(state).decode())

    def text(self, digest: str) -> str:
        """The text of a digest; empty if it was lost, which only costs the lines of messages."""
        try:
            with open(self.path("texts", digest), encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
        except OSError:
            return ""
