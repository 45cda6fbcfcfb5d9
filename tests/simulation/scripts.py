"""Scripts: what people and clusters do in a world, one after another."""

from __future__ import annotations

from dataclasses import replace

from simulation.world import Action, World


def edit(**what: object) -> Action:
    def act(world: World) -> None:
        world.edit(replace(world.fleet, **what))  # type: ignore[arg-type]

    return act


def release(version: str) -> Action:
    def act(world: World) -> None:
        if version not in world.fleet.versions:
            world.edit(replace(world.fleet, versions=(*world.fleet.versions, version)))

    return act


def health(cluster: str, version: str | None, says: str) -> Action:
    def act(world: World) -> None:
        world.health_says[cluster, version] = says

    return act


def wait(hours: float) -> Action:
    return lambda world: world.wait(hours)


def approve(world: World) -> None:
    world.approve()


# Time enough for a stage behind a window, also where the clock is set forward twice.
_THROUGH = (wait(3), approve, wait(12))
INSTALL = _THROUGH
FAILING = (health("us-1", "1.1.0", "Failed"), release("1.1.0"), *_THROUGH)
GOOD = (release("1.2.0"), *_THROUGH)
REMOVAL = (edit(clusters=("eu-1", "eu-2")), wait(2))

STORY = (*INSTALL, *FAILING, *GOOD, *REMOVAL)
# For a fleet without approval and window.
SHORT = (wait(5), health("us-1", "1.1.0", "Failed"), release("1.1.0"), wait(9), *REMOVAL)
