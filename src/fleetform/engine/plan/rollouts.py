"""Rollouts: what is stored of a change on its way. Counts and times only: each plugin keeps its own part (B33)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import Struct

from fleetform.engine.plan.stages import StageRule
from fleetform.model.objects import Ref
from fleetform.model.state import Attempt, Enrolment, PluginState
from fleetform.syntax.hashing import as_written

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


class ChangedObject(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An object that a rollout's change is made of, and the options that it sets otherwise."""

    kind: str
    organization: str
    name: str
    change: Literal["added", "changed", "removed"]
    options: tuple[str, ...] = ()


class Rollout(Struct, frozen=True):
    """A change of one owner on its way over the clusters. It keeps the policy that it started with.

    created is when the change was first seen, started when its first cluster was: from then on its members and their
    targets are fixed. queued is the newer change that waits, skipped are those that waited and were overtaken.
    paused, aborted and returning are what people ask for; rejected marks a change that must not start again by itself.
    contents is a hash of all that the change was made of when it was first seen. note is who last asked for something,
    and why. number counts the owner's rollouts: which one is the last is no matter of a clock that may be set.
    from_versions and to_versions are what its clusters had when it started and what it brings them, and before that
    what they would be: places in a later rollout say nothing of it. changes are the first of the objects that were
    others when it was first seen.
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
    from_versions: tuple[str, ...] = ()
    to_versions: tuple[str, ...] = ()
    changes: tuple[ChangedObject, ...] = ()

    @property
    def is_open(self) -> bool:
        return self.ended is None

    @property
    def went_back(self) -> bool:
        """Whether it was rolled back and that is over. One that halted and does not go back stays open."""
        return self.rejected and self.phase == "Halted" and not self.is_open

    @property
    def is_unfinished(self) -> bool:
        """Whether it still runs, or was replaced or aborted: it has neither succeeded nor gone back."""
        return self.phase != "Succeeded" and not self.went_back


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


def is_of_any(name: str, owner: str, changes: Iterable[str]) -> bool:
    return any(is_rollout_of(name, owner, each) for each in changes)


def place_that_brought(progress: PluginState) -> Enrolment | None:
    """A plugin's place in the rollout that brought what it has: its last one, or where it has not got what that brings,
    or went back from it, one that it had earlier; None if nobody knows."""
    if progress.admitted is None or progress.admitted.input_hash is None:
        return None
    has, place = as_written(progress.admitted.input_hash), progress.enrolment
    while place is not None and as_written(place.target.input_hash) != has:
        place = place.earlier
    return place


def is_brought_by(rollout: Rollout, place: Enrolment, attempt: Attempt) -> bool:
    """Whether what was started last on a plugin of a rollout is that rollout's to take back.

    What it went back to from another one is, if the same change had brought that and it is known what was there before;
    so it is not if this rollout found that very state. What came to it by an earlier one that had succeeded, where this
    one goes on, is not either: nothing is known of what was there before that.
    """
    if attempt.back:
        return place.before is not None and place.before.input_hash != attempt.input_hash
    if place.before is not None or not attempt.rollout:
        return True
    return is_rollout_of(attempt.rollout, rollout.owner.name, rollout.change_id)
