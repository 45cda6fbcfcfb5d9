"""Stages: the core that every spelling of a rollout shares: slots, budgets, soak, and whose turn it is.

RolloutPolicy's stages and Open Cluster Management's strategies are both compiled into StageRules; what their clusters
have come to is counted in a Tally, and the rules are asked about the tally. Nothing here knows plugins or time zones.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum

from msgspec import Struct


class Standing(IntEnum):
    """What a member of a stage has come to, by the hash that its rollout brings."""

    WAITING = 0  # not started
    BUSY = 1  # still applying something older
    APPLYING = 2
    RETRYING = 3  # applying again what failed
    SOAKING = 4  # healthy, for less than the stage asks
    DONE = 5
    FAILED = 6
    TIMED_OUT = 7  # failed, and no longer waited for: holds no slot whatever the spelling
    ABSENT = 8  # unreachable, before it was started or after it was set aside: neither done nor failed


# Bound once: looking a member up in its enumeration costs more than all that is done with it.
WAITING, BUSY, APPLYING, RETRYING = Standing.WAITING, Standing.BUSY, Standing.APPLYING, Standing.RETRYING
SOAKING, DONE, FAILED = Standing.SOAKING, Standing.DONE, Standing.FAILED
TIMED_OUT, ABSENT = Standing.TIMED_OUT, Standing.ABSENT


class ApprovalRule(Struct, frozen=True, rename="camel"):
    """How many people must agree, who they may be (nobody named: anyone), and whether the author counts."""

    required: int
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    not_author: bool = True


class StageRule(Struct, frozen=True, rename="camel"):
    """What a stage asks for. Shares are of the clusters that it had when the rollout started (B24).

    The last three say how Open Cluster Management counts: failures round up, and slots are held during the soak and by
    failed clusters (S2, S45).
    """

    name: str
    max_concurrency: int | str | None = None
    max_failures: int | str | None = None
    soak: timedelta = timedelta(0)
    deadline: timedelta | None = None
    wait: timedelta = timedelta(0)
    approvals: ApprovalRule | None = None
    failures_round_up: bool = False
    soaking_holds_slot: bool = False
    failed_holds_slot: bool = False

    def slots(self, total: int) -> int:
        """How many may be in flight at once: rounded up, at least 1; all where nothing is said."""
        if self.max_concurrency is None:
            return max(total, 1)
        return max(share(self.max_concurrency, total, up=True), 1)

    def budget(self, total: int) -> int:
        """How many may fail; none where nothing is said."""
        return 0 if self.max_failures is None else share(self.max_failures, total, up=self.failures_round_up)


def share(amount: int | str, total: int, up: bool) -> int:
    """A count as it is, or a percentage of a total, in whole numbers: 7% of 100 is 7, also rounded up."""
    if isinstance(amount, int):
        return amount
    whole, _, fraction = amount.removesuffix("%").partition(".")
    numerator = int(whole + fraction) * total
    divisor = 100 * int("1" + "0" * len(fraction))
    return -(-numerator // divisor) if up else numerator // divisor


class Tally:
    """How many members of a stage have come to what; soaked_at is when the last that soaks will have."""

    __slots__ = ("counts", "final_failures", "soaked_at")

    def __init__(self) -> None:
        self.counts = [0] * len(Standing)
        self.final_failures = 0
        self.soaked_at: datetime | None = None

    def add(self, standing: Standing) -> None:
        self.counts[standing] += 1

    def of(self, *standings: Standing) -> int:
        return sum([self.counts[each] for each in standings])

    @property
    def members(self) -> int:
        return sum(self.counts)

    @property
    def failed(self) -> int:
        """Failed, also while it is tried again: a retry gives nothing back to the budget before it succeeds."""
        return self.of(Standing.FAILED, Standing.RETRYING, Standing.TIMED_OUT)

    @property
    def in_flight(self) -> int:
        return self.of(Standing.BUSY, Standing.APPLYING, Standing.RETRYING)

    def holding(self, rule: StageRule) -> int:
        """How many slots are taken."""
        soaking = self.counts[Standing.SOAKING] if rule.soaking_holds_slot else 0
        failed = self.counts[Standing.FAILED] if rule.failed_holds_slot else 0
        return self.in_flight + soaking + failed

    def is_finished(self, forgives: bool, budget: int) -> bool:
        """All have soaked, but for failures that the budget forgives and clusters that cannot be reached.

        One that is done or failed there must be, so that a stage that nobody can reach is not taken for tested.
        """
        open_ = self.of(Standing.WAITING, Standing.BUSY, Standing.APPLYING, Standing.RETRYING, Standing.SOAKING)
        if open_ or (self.failed > budget and not forgives):
            return False
        return self.members == 0 or self.of(Standing.DONE, Standing.FAILED, Standing.TIMED_OUT) > 0
