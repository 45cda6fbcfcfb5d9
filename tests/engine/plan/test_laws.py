"""The laws of plans, on random fleets, policies, failures, clock steps, crashes and restarts."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from support.laws import HALF, Fleet, LawBrokenError, Player
from support.plans import DAY, HOUR

NAMES = st.sampled_from([f"c{number}" for number in range(5)] + ["n0", "n1"])
FLEETS = st.builds(
    Fleet,
    clusters=st.integers(1, 5),
    stages=st.integers(1, 3),
    concurrency=st.sampled_from([None, 1, 2, "50%"]),
    budget=st.integers(0, 2),
    soak=st.sampled_from([timedelta(0), HOUR]),
    deadline=st.sampled_from([None, 2 * HOUR]),
    windowed=st.booleans(),
    frozen=st.booleans(),
    approvals=st.sampled_from([0, 0, 1, 2]),
    on_failure=st.sampled_from(["Halt", "Rollback", "Continue"]),
    retries=st.integers(0, 1),
)


class Plans(RuleBasedStateMachine):
    """Whatever happens, no plan breaks a law; and once the faults end, everything gets where it should and stays."""

    player: Player

    @initialize(fleet=FLEETS)
    def begin(self, fleet: Fleet) -> None:
        self.player = Player(fleet)

    @rule()
    def plan(self) -> None:
        self.player.settle()

    @rule(count=st.integers(0, 6))
    def crash(self, count: int) -> None:
        self.player.plan(stop_after=count)

    @rule(name=NAMES, health=st.sampled_from(["Healthy", "Healthy", "Failed", "Unknown"]), stale=st.booleans())
    def observe(self, name: str, health: str, stale: bool) -> None:
        self.player.observe(name, health, stale)  # type: ignore[arg-type]

    @rule(time=st.sampled_from([HALF, HOUR, 6 * HOUR, DAY, -HOUR]))
    def pass_time(self, time: timedelta) -> None:
        self.player.pass_time(time)

    @rule(name=NAMES, on=st.booleans())
    def hold(self, name: str, on: bool) -> None:
        self.player.hold(name, on)

    @rule(name=NAMES, on=st.booleans())
    def silence(self, name: str, on: bool) -> None:
        self.player.silence(name, on)

    @rule(name=NAMES, stage=st.integers(0, 2))
    def relabel(self, name: str, stage: int) -> None:
        self.player.relabel(name, stage)

    @rule(number=st.integers(0, 1), stage=st.integers(0, 2))
    def join(self, number: int, stage: int) -> None:
        self.player.join(number, stage)

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        self.player.leave(name)

    @precondition(lambda self: self.player.fleet.approvals)
    @rule(user=st.sampled_from(["ann", "bob", "eve"]), binding=st.sampled_from(["", "", "c1:another"]))
    def approve(self, user: str, binding: str) -> None:
        self.player.approve(user, binding)

    @rule(on=st.booleans())
    def pause(self, on: bool) -> None:
        self.player.pause(on)

    @rule()
    def want_something_new(self) -> None:
        self.player.want_something_new()

    def teardown(self) -> None:
        if hasattr(self, "player"):
            recover(self.player)


def recover(player: Player) -> None:
    """After the last fault: a bounded number of passes, then all is what is wanted, and nothing is stored any more."""
    names = [each.key[1] for each in player.change.candidates]
    for name in names:
        player.hold(name, on=False)
        player.silence(name, on=False)
    player.pause(on=False)
    player.superseding = True
    player.want_something_new()
    for _ in range(400):
        player.settle()
        for name in names:
            player.observe(name, "Healthy")
        for user in ("bob", "eve"):
            player.approve(user)
        player.settle()
        found = player.plan()
        if all(step.state == "UpToDate" for step in found.steps) and found.is_idle:
            return
        player.pass_time(HOUR)
    raise LawBrokenError("400 passes without a fault, and it is not where it should be")


Plans.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestPlans = Plans.TestCase
