"""Scripts: what people and clusters do in a world, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fleetform.loop.asking import Verb
from simulation.situations import open_rollouts
from simulation.world import World


@dataclass(frozen=True)
class Act:
    """Something that somebody does; done again if the process ends under it."""

    name: str
    do: Callable[[World], None]

    def __call__(self, world: World) -> None:
        self.do(world)


def edit(name: str, **what: object) -> Act:
    return Act(name, lambda world: world.edit(replace(world.fleet, **what)))  # type: ignore[arg-type]


def release(version: str, **what: object) -> Act:
    """what is edited with it, in one change."""

    def do(world: World) -> None:
        world.edit(replace(world.fleet, versions=(*world.fleet.versions, version), **what))  # type: ignore[arg-type]

    return Act("-".join(("release", version, *what)), do)


def join(cluster: str) -> Act:
    def do(world: World) -> None:
        clusters = [each for each in world.fleet.clusters if each != cluster]
        world.edit(replace(world.fleet, clusters=(*clusters, cluster)))

    return Act(f"join-{cluster}", do)


def leave(cluster: str) -> Act:
    def do(world: World) -> None:
        world.edit(replace(world.fleet, clusters=tuple(each for each in world.fleet.clusters if each != cluster)))

    return Act(f"leave-{cluster}", do)


def health(cluster: str, version: str | None, says: str) -> Act:
    def do(world: World) -> None:
        world.health_says[cluster, version] = says

    return Act(f"{cluster}-{version}-{says}", do)


def wait(hours: float) -> Act:
    return Act(f"wait-{hours}", lambda world: world.wait(hours))


def _pause(world: World) -> None:
    for rollout in open_rollouts(world.image):
        if not rollout.paused and rollout.phase != "RollingBack":
            world.ask("pause", rollout.name)


def _resume(world: World) -> None:
    for rollout in open_rollouts(world.image):
        if rollout.paused:
            world.ask("resume", rollout.name)


def _replace(world: World) -> None:
    """What waits takes the place of the rollout that runs."""
    for rollout in open_rollouts(world.image):
        if rollout.queued is not None:
            world.ask("start", rollout.owner.name)


def _abort(world: World) -> None:
    for rollout in open_rollouts(world.image):
        world.ask("abort", rollout.name)


def _of_last(verb: Verb) -> Act:
    """What people ask of the last rollout; there may be nothing to ask for, and then they are told so."""

    def do(world: World) -> None:
        for rollouts in world.image.known.rollouts.rollouts.values():
            world.ask(verb, rollouts[-1].name, may_be_refused=True)

    return Act(verb, do)


def silence(cluster: str) -> Act:
    return Act(f"{cluster}-falls-silent", lambda world: world.falls_silent(cluster))


def answers(cluster: str) -> Act:
    return Act(f"{cluster}-answers", lambda world: world.silent.discard(cluster))


def _heal(world: World) -> None:
    world.health_says.clear()
    world.silent.clear()


went_back = Act("went-back", lambda world: world.witness.judge_way_back(world.image))
approve = Act("approve", lambda world: world.approve())
heal = Act("heal", _heal)
pause, resume = Act("pause", _pause), Act("resume", _resume)
replace_it, abort = Act("replace", _replace), Act("abort", _abort)
retry, roll_back = _of_last("retry"), _of_last("rollback")

# Time enough for a stage behind a window, also where the clock is set forward twice.
_THROUGH = (wait(3), approve, wait(12))
_FAILING = (health("us-1", "1.1.0", "Failed"), release("1.1.0"))
_REMOVAL = (leave("us-1"), wait(2))

STORY = (*_THROUGH, *_FAILING, *_THROUGH, release("1.2.0"), *_THROUGH, *_REMOVAL)
# For a fleet without approval and window.
SHORT = (wait(5), *_FAILING, wait(9), *_REMOVAL)
