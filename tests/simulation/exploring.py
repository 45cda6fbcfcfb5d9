"""Every schedule of up to so many faults, without playing each from the beginning.

What happens next depends on what is stored, on what is out there and on the time alone, if another process begins at
every pass. So worlds that have become the same are one world: most faults are forgotten a pass later, and a second one
then meets a world that was met before. That a process which goes on ends in the same way is for single faults and
random schedules to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from simulation.faults import KINDS, Fault
from simulation.fleet import FleetText
from simulation.world import Action, World


@dataclass
class Explored:
    """What was seen: distinct worlds, steps from one to the next, and what came up in them."""

    worlds: int = 0
    steps: int = 0
    situations: set[str] = field(default_factory=set)


def explore(script: Sequence[Action], fleet: FleetText, most: int = 2) -> Explored:
    """Plays every schedule of up to so many faults; each must end as the undisturbed world."""
    undisturbed = World(script, fleet=fleet).play()
    found = Explored()
    left_at: dict[bytes, int] = {}
    todo: list[tuple[World, int, tuple[Fault, ...]]] = [(World(script, fleet=fleet), most, ())]
    while todo:
        world, left, before = todo.pop()
        digest = world.digest
        if left_at.get(digest, -1) >= left:
            continue
        found.worlds += digest not in left_at
        left_at[digest] = left
        for after, faults in _steps(world, left):
            found.steps += 1
            found.situations |= after.situations
            path = (*before, *faults)
            if after.until is None and after.index == len(script):
                after.must_rest()
                after.must_end_as(undisturbed, f"{path}: ")
            else:
                todo.append((after, left - len(faults), path))
    return found


def _steps(world: World, left: int) -> Iterator[tuple[World, tuple[Fault, ...]]]:
    """What becomes of a world in one step, without a fault and with every one that can happen in it."""
    todo: list[tuple[Fault, ...]] = [()]
    while todo:
        faults = todo.pop()
        after = world.copy(faults)
        try:
            after.step()
        except AssertionError as error:
            error.add_note(f"at {world.clock.at}, step {world.index} of the script, with {faults}")
            raise
        yield after, faults
        if len(faults) < left:
            # A second one can only happen at a moment after the first.
            met = after.moments.met
            since = met.index(faults[-1][:2]) + 1 if faults else 0
            todo += [(*faults, Fault(*moment, kind)) for moment in met[since:] for kind in KINDS[moment[0]]]
