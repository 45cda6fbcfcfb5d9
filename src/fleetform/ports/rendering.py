"""Rendering: from charts, kustomizations and manifests to objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput


class RenderSource(NamedTuple):
    """What a definition renders: the digest of it, and its files by path (an archive is one)."""

    digest: str
    files: Callable[[], Mapping[str, bytes]]


class Rerenders(Protocol):
    """Renders again what was rendered before."""

    def render_from(self, input_: RenderInput, files: Mapping[str, bytes]) -> Rendered | RenderFailure:
        """The objects of an input, out of these very files of its source. Nothing is kept: secrets may be in it."""


class Renders(Protocol):
    """Makes objects out of charts, kustomizations and manifests."""

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order; inputs that are the same are rendered once."""

    def source(self, input_: RenderInput) -> RenderSource | None:
        """What an input that was rendered is made of; None where there is no source, or it cannot be had (any more)."""
