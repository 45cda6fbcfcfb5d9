"""Rendering: from charts, kustomizations and manifests to objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fleetform.model.results.rendering import Rendered, RenderFailure, RenderInput


class Renders(Protocol):
    """Makes objects out of charts, kustomizations and manifests."""

    def render(self, inputs: Sequence[RenderInput]) -> list[Rendered | RenderFailure]:
        """One answer for each input, in their order; inputs that are the same are rendered once."""
