"""Rollouts: what is stored of a change on its way. Counts and times only: each plugin keeps its own part (B33)."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fleetform.engine.plan.stages import StageRule
from fleetform.model.objects import Ref

RolloutPhase = Literal[
    "Pending", "Progressing", "Soaking", "Paused", "Halted", "RollingBack", "Succeeded", "Aborted", "Superseded"
]
OnFailure = Literal["Halt", "Rollback", "Continue"]
TRIGGERS = frozenset({"version", "values", "configs", "bindings"})


class Policy(Struct, frozen=True, rename="camel"):
    """A RolloutPolicy, compiled. trigger are the kinds of change that are staged; external: validity alone gates."""

    name: str = ""
    stages: tuple[StageRule, ...] = (StageRule("all"),)
    on_failure: OnFailure = "Halt"
    replaces: bool = False
    max_failures: int | str | None = None
    trigger: frozenset[str] = TRIGGERS
    external: bool = False

    @property
    def digest(self) -> str:
        """What approvals are bound to: another policy makes them void (B26)."""
        return "p1:" + hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


class StageTimes(Struct, frozen=True):
    """A stage of a rollout: how many clusters it had at the start, and when it started and was done."""

    name: str
    total: int = 0
    started: datetime | None = None
    done: datetime | None = None


class Rollout(Struct, frozen=True):
    """A change of one owner on its way over the clusters. It keeps the policy that it started with.

    created is when the change was first seen, started when its first cluster was: from then on its members and their
    targets are fixed. queued is the newer change that waits, skipped are those that waited and were overtaken.
    paused, aborted and returning are what people ask for; rejected marks a change that must not start again by itself.
    contents is a hash of all that the change was made of when it was first seen. note is who last asked for something,
    and why. number counts the owner's rollouts: which one is the last is no matter of a clock that may be set.
    """

    name: str
    owner: Ref
    change_id: str
    policy: Policy
    created: datetime
    stages: tuple[StageTimes, ...] = ()
    phase: RolloutPhase = "Pending"
    started: datetime | None = None
    ended: datetime | None = None
    queued: str | None = None
    skipped: tuple[str, ...] = ()
    paused: bool = False
    rejected: bool = False
    contents: str = ""
    note: str = ""
    number: int = 0

    @property
    def is_open(self) -> bool:
        return self.ended is None

    @property
    def went_back(self) -> bool:
        """Whether it was rolled back and that is over. One that halted and does not go back stays open."""
        return self.rejected and self.phase == "Halted" and not self.is_open


def rollout_name(owner: str, change_id: str, used: frozenset[str] = frozenset()) -> str:
    """`<preset>-<first 8 hex>`, with -2, -3… where that was used before (B3b)."""
    name = f"{owner}-{change_id.rpartition(':')[2][:8]}"
    candidates = (name, *(f"{name}-{number}" for number in range(2, len(used) + 3)))
    return next(each for each in candidates if each not in used)


def is_rollout_of(name: str, owner: str, change_id: str) -> bool:
    """Whether a rollout of that name brought, or brings, this change of its owner."""
    first = rollout_name(owner, change_id)
    number = name.removeprefix(first)
    return name.startswith(first) and (not number or number.removeprefix("-").isdecimal())
