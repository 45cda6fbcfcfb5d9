"""Every interleaving of plans, crashes, observations and time on a small fleet: three clusters, two stages, a budget of
one failure, one window. All reachable states are visited, and every plan in them is held to the laws.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from datetime import datetime
from typing import NamedTuple

import pytest
from msgspec import structs

from fleetform.engine.plan import plan as planning
from fleetform.engine.plan.carry_out import after, writes
from fleetform.engine.plan.progress import Health, observed
from fleetform.engine.plan.rollouts import OnFailure, Rollout
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState
from support.laws import Fleet, Member, Player
from support.plans import HOUR, MINUTE, NOON

NIGHT = NOON + 10 * HOUR
# Before the window, in it, in it after a soak, at its last minute, after it, and in the next one.
TIMES = (NOON, NIGHT, NIGHT + 65 * MINUTE, NIGHT + 239 * MINUTE, NIGHT + 5 * HOUR, NIGHT + 25 * HOUR)
Stored = tuple[tuple[PluginKey, PluginState], ...]


class Spot(NamedTuple):
    """A reachable state: the time, what is stored, and which stages have been done."""

    time: int
    states: Stored
    rollout: Rollout | None
    done: frozenset[int]


class Explorer:
    """Walks breadth first over everything that can happen next."""

    def __init__(self, on_failure: OnFailure) -> None:
        fleet = Fleet(clusters=3, stages=2, concurrency=2, budget=1, soak=HOUR, windowed=True, on_failure=on_failure)
        self.player = Player(fleet)
        self.first = Spot(0, tuple(sorted(self.player.world.states.items())), None, frozenset())
        self.plans = 0
        self.ends: set[str] = set()

    def walk(self) -> int:
        seen = {_key(self.first)}
        todo = deque([self.first])
        while todo:
            for spot in self.following(todo.popleft()):
                key = _key(spot)
                if key not in seen:
                    seen.add(key)
                    todo.append(spot)
        return len(seen)

    def following(self, spot: Spot) -> list[Spot]:
        found = self._planned(spot)
        if spot.time + 1 < len(TIMES):
            found.append(spot._replace(time=spot.time + 1))
        for index, (name, progress) in enumerate(spot.states):
            if not progress.in_flight or progress.attempt is None:
                continue
            healths: tuple[Health, ...] = ("Healthy",) if progress.attempt.back else ("Healthy", "Failed")
            for health in healths:
                seen = observed(progress, progress.attempt.input_hash, health, TIMES[spot.time])
                states = (*spot.states[:index], (name, seen), *spot.states[index + 1 :])
                found.append(spot._replace(states=states))
        return found

    def _planned(self, spot: Spot) -> list[Spot]:
        """All that can be stored of a plan before a crash, up to all of it."""
        player = self._at(spot)
        player._judge_stages()
        found = planning.plan(player.world, player.now)
        self.plans += 1
        player.check(found)
        if found.owners[0].rollout is not None:
            self.ends.add(found.owners[0].rollout.phase)
        done = frozenset(player.done.get(_name(player), set()))
        todo = writes(found)
        worlds = [after(player.world, todo[:count]) for count in range(1, len(todo) + 1)]
        return [Spot(spot.time, tuple(sorted(each.states.items())), each.changes[0].rollout, done) for each in worlds]

    def _at(self, spot: Spot) -> Player:
        """The player as it would be had it come here; all that it knows follows from what is stored."""
        player = copy(self.player)
        player.now = TIMES[spot.time]
        change = structs.replace(player.change, rollout=spot.rollout)
        player.world = structs.replace(player.world, states=dict(spot.states), changes=(change,))
        player.seen_healthy = _seen(spot.states)
        player.ever_healthy = player.ever_healthy | set(player.seen_healthy)
        player.rollouts, player.done = {}, {}
        if spot.rollout is not None and spot.rollout.started is not None:
            everyone = {key: Member(number % 2, "h1:1") for number, (key, _) in enumerate(spot.states)}
            player.rollouts = {spot.rollout.name: everyone}
            player.done = {spot.rollout.name: set(spot.done)}
        return player


def _key(spot: Spot) -> Spot:
    """A spot to be found again by: what is observed on clusters is a map, and nothing here observes anything."""
    plan_reads = [(key, each.admitted, each.last_healthy, each.attempt, each.enrolment) for key, each in spot.states]
    return spot._replace(states=tuple(plan_reads))  # type: ignore[arg-type]


def _name(player: Player) -> str:
    return next(iter(player.rollouts), "")


def _seen(states: Stored) -> dict[tuple[PluginKey, str], datetime]:
    return {
        (key, progress.attempt.input_hash): progress.attempt.since
        for key, progress in states
        if progress.attempt is not None and progress.attempt.phase == "Healthy"
    }


@pytest.mark.parametrize(
    ("on_failure", "phases"),
    [
        ("Halt", {"Pending", "Progressing", "Soaking", "Halted", "Succeeded"}),
        ("Rollback", {"Pending", "Progressing", "Soaking", "RollingBack", "Halted", "Succeeded"}),
    ],
)
def test_no_interleaving_breaks_a_law(
    on_failure: OnFailure, phases: set[str], record_property: pytest.FixtureRequest
) -> None:
    explorer = Explorer(on_failure)
    count = explorer.walk()
    record_property("states", count)  # type: ignore[operator]
    print(f"{on_failure}: {count:,} states, {explorer.plans:,} plans")
    assert count > 2_000, "the walk got somewhere"
    assert explorer.ends == phases, "every phase was reached"
