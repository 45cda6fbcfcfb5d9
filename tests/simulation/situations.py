"""Situations that random schedules must get into: what never came up was never tried."""

from __future__ import annotations

from fleetform.engine.plan.records import Approval
from fleetform.engine.plan.rollouts import Rollout
from fleetform.loop.image import Image
from fleetform.ports.store import Event
from simulation.laws import DEV

# Clusters that are not there at first.
JOINERS = frozenset({"us-2", "eu-3"})
SITUATIONS = frozenset(
    {
        "a crash between admitting and delivering",
        "a crash during a rollback",
        "a failure during a rollback",
        "a rollback that could not be delivered",
        "an approval that came to nothing",
        "an approval that was void while something was in flight",
        "a cluster that left during a rollout",
        "a cluster that joined during a rollout",
        "a cluster that joined and went back",
        "a newer change while one was in flight",
        "a change that replaced one in flight",
        "a change that waited for another",
        "a change that waited for a rollback",
        "a rollout that was paused in flight",
        "a clock that was set back during a soak",
        "a store that was down during a rollout",
        "a process that was replaced during a soak",
        "a source that was not whole during a rollout",
        "a cluster that did not answer during a rollback",
        "a cluster that went back when it answered again",
        "a cluster that caught up when it answered again",
    }
)


def open_rollouts(image: Image) -> list[Rollout]:
    return [each for of_owner in image.known.rollouts.rollouts.values() for each in of_owner if each.is_open]


def in_flight(image: Image) -> bool:
    return any(state.in_flight for here in image.known.plugins.values() for state in here.values())


def of_edit(image: Image, joined: bool, left: bool, changed: bool) -> set[str]:
    """What an edit meets. changed: what is wanted of clusters is another."""
    running = [each for each in open_rollouts(image) if each.started is not None]
    found = set()
    if running and joined:
        found.add("a cluster that joined during a rollout")
    if running and left:
        found.add("a cluster that left during a rollout")
    if running and changed and in_flight(image):
        found.add("a newer change while one was in flight")
    return found


def of_crash(image: Image) -> set[str]:
    found = set()
    for cluster, here in image.known.plugins.items():
        for name, state in here.items():
            if not state.in_flight or state.attempt is None:
                continue
            record = image.deliveries.get((cluster.organization, cluster.name, name))
            if record is None or record.input_hash != state.attempt.input_hash:
                found.add("a crash between admitting and delivering")
            if state.attempt.back:
                found.add("a crash during a rollback")
    return found


def of_pass(image: Image, kind: str | None, down: bool) -> set[str]:
    """What a pass with a fault meets; without one, what people made of rollouts."""
    running = open_rollouts(image)
    found = _of_requests(image, running)
    if any(each.queued for each in running):
        found.add("a change that waited for another")
    if any(each.queued and each.phase == "RollingBack" for each in running):
        found.add("a change that waited for a rollback")
    if image.known.rollouts.silent_since and any(each.phase == "RollingBack" for each in running):
        found.add("a cluster that did not answer during a rollback")
    if running and down:
        found.add("a store that was down during a rollout")
    if running and kind in ("unreadable", "half-read", "empty"):
        found.add("a source that was not whole during a rollout")
    if any(each.phase == "Soaking" for each in running):
        found |= {"a clock that was set back during a soak"} if kind == "clock-back" else set()
        found |= {"a process that was replaced during a soak"} if kind == "restart" else set()
    for cluster, here in image.known.plugins.items():
        for name, state in here.items():
            record = image.deliveries.get((cluster.organization, cluster.name, name))
            if state.in_flight and state.attempt is not None and state.attempt.back and record and record.failing:
                found.add("a rollback that could not be delivered")
    return found


def _of_requests(image: Image, running: list[Rollout]) -> set[str]:
    """What people asked for while something was on its way."""
    found = set()
    if any(each.paused for each in running) and in_flight(image):
        found.add("a rollout that was paused in flight")
    if any(each.phase == "Superseded" for of in image.known.rollouts.rollouts.values() for each in of):
        found.add("a change that replaced one in flight")
    if in_flight(image) and any(_is_void(each, image) for each in image.known.rollouts.approvals):
        found.add("an approval that was void while something was in flight")
    return found


def _is_void(approval: Approval, image: Image) -> bool:
    """Its rollout ended before it came to the stage: what comes instead needs consent of its own."""
    rollouts = [each for of in image.known.rollouts.rollouts.values() for each in of if each.name == approval.rollout]
    stages = [stage for each in rollouts if not each.is_open for stage in each.stages if stage.name == approval.stage]
    return any(each.started is None for each in stages)


def of_history(events: list[Event], approved: set[tuple[str, str]], image: Image) -> set[str]:
    """What came up, as it is told in the end."""
    found = set()
    last: dict[str, str] = {}
    over = {each.name: each.ended for of in image.known.rollouts.rollouts.values() for each in of}
    healthy = set()
    for each in events:
        until = over.get(each.rollout)
        if each.event == "RolledBack" and until is not None and each.at > until:
            found.add("a cluster that went back when it answered again")
        if each.event == "Started" and not each.rollout and each.cluster in healthy:
            found.add("a cluster that caught up when it answered again")
        healthy |= {each.cluster} if each.event == "Healthy" else set()
        if each.event == "Failed" and last.get(each.cluster) == "RolledBack":
            found.add("a failure during a rollback")
        if each.event == "RolledBack" and each.cluster in JOINERS:
            found.add("a cluster that joined and went back")
        last[each.cluster] = each.event
    started = {each.rollout for each in events if each.event == "Started" and each.cluster not in DEV}
    ended = {each.name for of in image.known.rollouts.rollouts.values() for each in of if not each.is_open}
    if any(name in ended and name not in started for name, _ in approved):
        found.add("an approval that came to nothing")
    return found
