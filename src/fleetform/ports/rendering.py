"""Rendering: from charts, kustomizations and manifests to objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput


class RenderSource(NamedTuple):
    """What a definition renders: the digest of it, and its files by path (an archive is one)."""

    digest: str
    files: Callable[[], Mapping[str, bytes]]


class Renders(Protocol):
    """Makes objects out of charts, kustomizations and manifests."""

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order; inputs that are the same are rendered once."""

    def source(self, input_: RenderInput) -> RenderSource | None:
        """What an input that was rendered is made of; None where there is no source, or it cannot be had (any more)."""
