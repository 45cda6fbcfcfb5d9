"""Advice: what people can do about something that is told of a change.

Which command or which edit that is depends on where they are told of it: `serve` takes requests, and on Kubernetes
objects say the same. So the engine names the deed, and whoever tells people has words for each.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from fleetform.model.objects import Ref

Deed = Literal[
    "approve",
    "resume",
    "change-or-retry",
    "retry-or-change",
    "mend-or-retry",
    "replace-rollout",
    "go-on-without-stage",
    "see-earlier-stage",
    "see-rollout",
    "see-plugin",
    "wait-for-plugin",
    "see-render",
    "take-newer-version",
]
DEEDS: tuple[Deed, ...] = get_args(Deed)


class Advice(Struct, frozen=True, gc=False):
    """A deed, and what it is to be done to. owner is the preset or the Plugin, or a part of a preset."""

    deed: Deed
    organization: str
    owner: Ref | None = None
    rollout: str = ""
    stage: str = ""
    change_id: str = ""
    cluster: str = ""
    plugin: str = ""


# A text where the same is to be done everywhere.
Do: TypeAlias = str | Advice
