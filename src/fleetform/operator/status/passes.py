"""Passes: what differs from one to the next, and what is known of single plugins in one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_plugins import amiss
from fleetform.engine.index.differences import changed_keys
from fleetform.engine.index.instances import name_beside_preset
from fleetform.engine.plan.records import Candidate, OwnerPlan, Plan, Step
from fleetform.engine.world.hashes import is_known
from fleetform.loop.accepting import Refusal
from fleetform.loop.image import Image
from fleetform.model.kinds.status import Condition
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision, PluginKey
from fleetform.model.state import Deployed, Trouble
from fleetform.operator.status.conditions import answered
from fleetform.operator.status.plugins import Told
from fleetform.ports.state import KnownState


class Pass(NamedTuple):
    """A pass that is over: the fleet as it was decided, its plan, and what is stored since."""

    fleet: Fleet
    plan: Plan
    image: Image
    refusal: Refusal | None = None


class Amiss:
    """What is known, with what is amiss about deliveries and renders; found again only where those are others."""

    def __init__(self) -> None:
        self._image: Image | None = None
        self._troubles: Mapping[PluginKey, Trouble] = {}
        self._altered: frozenset[str] = frozenset()

    def of(self, image: Image) -> KnownState:
        last, self._image = self._image, image
        if last is None or last.deliveries is not image.deliveries:
            records = image.deliveries.items()
            self._troubles = {key: each.trouble for key, each in records if each.trouble is not None}
        if last is None or last.states is not image.states:
            self._altered = frozenset(hash_ for hash_, each in image.states.items() if each.changed)
        return replace(image.known, troubles=self._troubles, altered=self._altered)


class Placed(NamedTuple):
    """A plugin's place in the plan of its owner."""

    owner: OwnerPlan
    candidate: Candidate
    step: Step


class Found:
    """What is known of single plugins in a pass; found where it is asked for."""

    def __init__(self, shown: Pass, known: KnownState, placed: Mapping[PluginKey, Placed]) -> None:
        self.shown, self._known, self._placed = shown, known, placed
        self.removals = {each.key: each for each in shown.plan.world.removals}
        self._leaving = {step.key: step for step in shown.plan.removals}

    def step(self, key: PluginKey) -> Step | None:
        """Of a plugin that nobody wants any more."""
        return self._leaving.get(key)

    def told(self, key: PluginKey, valid: Callable[[PluginDecision], Condition | None]) -> Told | None:
        """None: nobody wants it."""
        shown = self.shown
        here = shown.fleet.decisions.clusters.get(Ref("Cluster", key[0], key[1]))
        plugin = here.plugins.get(key[2]) if here is not None else None
        placed = self._placed.get(key) if plugin is not None else None
        if plugin is None and here is not None:
            plugin = next((each.plugin for each in here.claims if each.candidate.name == key[2]), None)
        if plugin is None:
            return None
        rollout = placed.owner.rollout if placed is not None and placed.step.stage else None
        return Told(
            plugin,
            placed.step if placed is not None else None,
            shown.image.plugin(key),
            wanted_hash(placed.candidate) if placed is not None else None,
            rollout.name if rollout is not None and rollout.is_open else None,
            shown.fleet.snapshot.rejected.get(plugin.target.owner.ref, frozenset()),
            [answered(each) for each in amiss(plugin, self._known)],
            valid(plugin),
            self.running(key),
        )

    def running(self, key: PluginKey) -> str | None:
        """The version that has arrived. Between one and the next nobody knows what of which is there: it is the one
        that was healthy last."""
        image = self.shown.image
        record, state = image.deliveries.get(key), image.plugin(key)
        arrived = record.input_hash if record is not None else ""
        if arrived in image.states:
            return image.states[arrived].version
        known = next((each for each in (state.admitted, state.last_healthy) if _is(each, arrived)), state.last_healthy)
        return known.version if known is not None else None


class Changes:
    """What differs between two passes."""

    def __init__(self, now: Pass, last: Pass | None) -> None:
        self._now, self._last = now, last
        self.anew = last is None
        fleet, before = now.fleet, last.fleet if last is not None else None
        self.objects = before is None or _objects(fleet) != _objects(before)
        self._clusters = changed_keys(fleet.decisions.clusters, before.decisions.clusters if before is not None else {})
        plans = {each.change.owner: each for each in now.plan.owners}
        then = {each.change.owner: each for each in last.plan.owners} if last is not None else {}
        self._plans = {ref: (plans.get(ref), then.get(ref)) for ref in changed_keys(plans, then)}
        stored = now.image.known.rollouts.rollouts
        stored_then = last.image.known.rollouts.rollouts if last is not None else {}
        self.owners = sorted({*self._plans, *changed_keys(stored, stored_then)})
        silenced = last is not None and _heard(now.image) != _heard(last.image)
        # While something moves, what it comes to in numbers is of no use to anybody.
        self.counts = self.objects or silenced or (bool(self._clusters) and now.plan.is_idle)

    def everything(self) -> None:
        """What is wrong with objects is another: all of them may tell something else."""
        self.counts = True
        self.objects = True

    def place(self, placed: dict[PluginKey, Placed]) -> None:
        """Brings the places of plugins up to date."""
        for _, before in self._plans.values():
            for step in before.steps if before is not None else ():
                if step.key in placed and placed[step.key].owner is before:
                    del placed[step.key]
        for owner, _ in self._plans.values():
            if owner is not None:
                pairs = zip(owner.change.candidates, owner.steps, strict=True)
                placed.update((step.key, Placed(owner, candidate, step)) for candidate, step in pairs)

    def plugins(self, leaving: Iterable[PluginKey]) -> list[PluginKey]:
        now, last = self._now, self._last
        found: set[PluginKey] = set(leaving)
        sides = [now.fleet.decisions.clusters, last.fleet.decisions.clusters if last is not None else {}]
        for ref in self._clusters:
            for clusters in sides:
                found.update(_keys(ref, clusters.get(ref)))
        for pair in self._plans.values():
            for owner in pair:
                found.update(step.key for step in (owner.steps if owner is not None else ()))
        found.update(step.key for step in now.plan.removals)
        if self.objects:
            for ref, plugin in now.fleet.snapshot.plugins.items():
                found.add((ref.organization, plugin.spec.cluster_name or "", name_beside_preset(plugin)))
        known, known_then = now.image.known.plugins, last.image.known.plugins if last is not None else {}
        for ref in changed_keys(known, known_then):
            names = changed_keys(known.get(ref, {}), known_then.get(ref, {}))
            found.update((ref.organization, ref.name, name) for name in names)
        found.update(changed_keys(now.image.deliveries, last.image.deliveries if last is not None else {}))
        unrendered_then = last.image.known.unrendered if last is not None else {}
        found.update(changed_keys(now.image.known.unrendered, unrendered_then))
        if last is not None and now.image.states is not last.image.states:
            altered = changed_keys(now.image.states, last.image.states)
            found.update(self._running({each for each in altered if each in last.image.states}))
        return sorted(found)

    def _running(self, hashes: set[str]) -> Iterator[PluginKey]:
        """Plugins that were admitted with one of some hashes."""
        for cluster, here in self._now.image.known.plugins.items() if hashes else ():
            for name, state in here.items():
                if state.admitted is not None and state.admitted.input_hash in hashes:
                    yield cluster.organization, cluster.name, name

    def presets(self) -> set[Ref]:
        """Presets of which something may have to be counted again."""
        now, last = self._now, self._last
        found = {whole_owner(ref) for ref in self._plans}
        decided, decided_then = now.fleet.decisions.clusters, last.fleet.decisions.clusters if last is not None else {}
        for ref in self._clusters:
            found.update(_owners_of_others(decided.get(ref), decided_then.get(ref)))
        known, known_then = now.image.known.plugins, last.image.known.plugins if last is not None else {}
        for ref in changed_keys(known, known_then):
            names = {*changed_keys(known.get(ref, {}), known_then.get(ref, {}))}
            for here in (decided.get(ref), decided_then.get(ref)):
                candidates = here.candidates if here is not None else ()
                found.update(each.target.owner.ref for each in candidates if each.name in names)
        presets, presets_then = now.fleet.snapshot.presets, last.fleet.snapshot.presets if last is not None else {}
        return {*changed_keys(presets, presets_then), *(ref for ref in found if ref.kind == "PluginPreset")}


def _owners_of_others(here: ClusterDecisions | None, then: ClusterDecisions | None) -> Iterator[Ref]:
    """The owners of what is decided of a cluster in one of two passes and not, as the same object, in the other."""
    sides = [_decided(each) for each in (here, then)]
    for number in sides[0].keys() ^ sides[1].keys():
        yield (sides[0].get(number) or sides[1][number]).target.owner.ref


def _decided(here: ClusterDecisions | None) -> dict[int, PluginDecision]:
    """Plugins, and those that lost a claim, by the identity of what is decided."""
    if here is None:
        return {}
    found = {id(each): each for each in here.plugins.values()}
    return found | {id(each): each.candidate for each in here.claims}


def _heard(image: Image) -> tuple[object, ...]:
    """What is known of clusters: which have answered, which do not, and why."""
    rollouts = image.known.rollouts
    return image.heard, rollouts.silent_since, rollouts.silent_because


def _is(deployed: Deployed | None, input_hash: str) -> bool:
    return deployed is not None and bool(input_hash) and deployed.input_hash == input_hash


def whole_owner(ref: Ref) -> Ref:
    """The owner that a part with a rollout of its own belongs to."""
    return ref._replace(name=ref.name.partition("/")[0]) if ref.kind == "PluginPreset" else ref


def _objects(fleet: Fleet) -> tuple[int, ...]:
    """The maps of objects, by identity: they are the same where no object is another."""
    of = fleet.snapshot
    maps = (of.organizations, of.clusters, of.definitions, of.presets, of.plugins, of.overrides, of.others)
    return tuple(map(id, maps))


def _keys(ref: Ref, here: ClusterDecisions | None) -> Iterator[PluginKey]:
    for plugin in here.candidates if here is not None else ():
        yield ref.organization, ref.name, plugin.name


def wanted_hash(candidate: Candidate) -> str | None:
    wanted = candidate.wanted.input_hash
    return wanted if is_known(wanted) else None
