"""simulate: what would happen, from the difference of two sides or from what a state says, if assumptions came true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from fleetform.app.answering.references import reported
from fleetform.app.answering.simulated import Side, simulated
from fleetform.app.comparing.what_runs import running_side
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.decide_by import Prospect
from fleetform.engine.plan.records import World
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.scenario import Simulation as Played
from fleetform.engine.plan.simulate import simulate as play
from fleetform.engine.world.stored import objects_after
from fleetform.model.answers.simulation import SimulatedStage, Simulation
from fleetform.model.objects import Ref
from fleetform.model.shape import did_you_mean
from fleetform.model.state import PluginState
from fleetform.ports.state import KnownState
from fleetform.syntax.times import duration_text


class Simulated(NamedTuple):
    """The answer, and what would be stored in the end."""

    answer: Simulation
    state: KnownState


def simulate(
    fleet: Fleet,
    scope: Scope,
    scenario: Scenario,
    before: Fleet | None = None,
    assumptions: Iterable[tuple[str, str]] = (),
) -> Simulated:
    """What would happen to a fleet from its time on. before: what it wants is what runs (as in diff)."""
    _check_clusters(fleet, scenario)
    side = before.input.name if before is not None else "what runs"
    if before is not None:
        fleet = running_side(fleet, before)
    world = _within(fleet.world, scope)
    played = play(world, fleet.snapshot.at, scenario)
    answer = simulated(played, world, Side(side, fleet.input.name), assumptions)
    found = [each for each in fleet.findings.of_objects if each.object is None or scope.offers(each.object)]
    if scope.narrowed:
        labels = {ref: each.labels for ref, each in fleet.snapshot.clusters.items()}
        inside = {(ref.organization, ref.name) for ref in labels if scope.holds_cluster(ref, labels[ref])}
        kept = [each for each in answer.events if (each.organization, each.cluster) in inside]
        answer = structs.replace(answer, events=kept)
    answer = structs.replace(answer, diagnostics=reported(found, fleet.input.locator))
    answer = structs.replace(answer, stages=_with_decide_by(answer.stages, played, world, scenario))
    return Simulated(answer, _state_after(fleet, played))


def _state_after(fleet: Fleet, played: Played) -> KnownState:
    """What would be stored at the end of a simulation, as a state that other verbs read."""
    world = played.after
    plugins: dict[Ref, dict[str, PluginState]] = {ref: dict(here) for ref, here in fleet.state.plugins.items()}
    for (organization, cluster, name), state in world.states.items():
        plugins.setdefault(Ref("Cluster", organization, cluster), {})[name] = state
    for event in played.events:
        if event.reason == "delete" and event.event == "Succeeded":
            plugins.get(Ref("Cluster", event.organization, event.cluster), {}).pop(event.plugin, None)
    stored = fleet.state.rollouts
    owners, admitted = fleet.owner_changes, dict(stored.admitted)
    for rollout in played.rollouts:
        stored = stored.with_rollout(rollout)
        contents = owners.contents(rollout.owner)
        remembered = objects_after(admitted.get(rollout.owner), None, rollout, contents)
        if remembered is not None:
            admitted[rollout.owner] = remembered
    silent = {
        Ref("Cluster", each.cluster.organization, each.cluster.name): each.cluster.silent_since
        for change in world.changes
        for each in change.candidates
        if each.cluster.silent_since is not None
    }
    approvals = tuple(
        dict.fromkeys((*stored.approvals, *(each for change in world.changes for each in change.approvals)))
    )
    rollouts = structs.replace(stored, approvals=approvals, admitted=admitted, silent_since=silent)
    return replace(fleet.state, plugins=plugins, rollouts=rollouts)


def _with_decide_by(
    stages: list[SimulatedStage], played: Played, world: World, scenario: Scenario
) -> list[SimulatedStage]:
    """Stages with the latest time for their approvals, where they need any: each rollout by itself."""
    owners = {each.name: each.owner for each in played.rollouts}
    prospects: dict[str, Prospect] = {}
    found = []
    for stage in stages:
        asked = stage.approvals
        if asked is None or not asked.required or asked.at is None or not stage.clusters:
            found.append(stage)
            continue
        name = stage.rollout
        if name not in prospects:
            prospects[name] = Prospect(world, owners[name], played.start, scenario)
        # One that begins after another has ended is not under way yet.
        latest = prospects[name].decide_by(stage.name) if prospects[name].name == name else None
        if latest is not None:
            costs = duration_text(latest.costs) if latest.costs is not None else None
            told = structs.replace(asked, decide_by=latest.at, later_costs=costs)
            stage = structs.replace(stage, approvals=told)
        found.append(stage)
    return found


def _within(world: World, scope: Scope) -> World:
    """One organization moves by itself; clusters share stages, so that some of them say nothing about the others."""
    if scope.organization is None:
        return world
    return structs.replace(
        world,
        changes=tuple(each for each in world.changes if scope.holds(each.owner)),
        removals=tuple(each for each in world.removals if scope.holds(each.owner)),
    )


def _check_clusters(fleet: Fleet, scenario: Scenario) -> None:
    names = {ref.name for ref in fleet.snapshot.clusters}
    for spell in (*scenario.failing, *scenario.unreachable):
        if spell.cluster not in names:
            hint = did_you_mean(spell.cluster, sorted(names), "see `fleetform get clusters -A`")
            raise NotFoundError(f"there is no cluster {spell.cluster}", hint)
