"""Projection: from what a pass decided and stored to what objects on an API server should be. Pure.

From one pass to the next only what differs is computed anew: decisions, plans of owners and stored states keep their
identity where nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_plugins import AppliedOverrides, amiss
from fleetform.app.listing.list_rollouts import rollouts_of
from fleetform.engine.index.differences import changed_keys
from fleetform.engine.index.instances import name_beside_preset
from fleetform.engine.plan.records import Candidate, OwnerPlan, Plan, Removal, Step
from fleetform.engine.world.hashes import is_known
from fleetform.loop.accepting import Refusal
from fleetform.loop.image import Image
from fleetform.model.kinds.status import Condition, PlaceInRollout, PluginStatus, Status
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import Claim, ClusterDecisions, PluginDecision, PluginKey
from fleetform.model.state import Trouble
from fleetform.operator.generated import PRESET_LABEL
from fleetform.operator.status.conditions import answered
from fleetform.operator.status.objects import Validity, objects_told, revisions_told
from fleetform.operator.status.owners import preset_told, rollout_told
from fleetform.operator.status.plugins import Told, leaving_status, plugin_status
from fleetform.operator.status.wanted import (
    CLUSTER,
    MANAGED_BY,
    MANAGER,
    Generated,
    OwnerReference,
    Wanted,
)
from fleetform.ports.state import KnownState
from fleetform.syntax.names import cut_name, label_value, object_name_of

# Of an owner's rollouts that ended, so many are shown (B33).
_MOST_ENDED = 10


class Pass(NamedTuple):
    """A pass that is over: the fleet as it was decided, its plan, and what is stored since."""

    fleet: Fleet
    plan: Plan
    image: Image
    refusal: Refusal | None = None


class Projection:
    """What objects should be, after the last pass that was shown. wanted is by kind, namespace and name."""

    def __init__(self) -> None:
        self.wanted: dict[Ref, Wanted] = {}
        # What the last update replaced.
        self.before: dict[Ref, Wanted] = {}
        self._last: Pass | None = None
        self._validity = Validity(())
        self._amiss = _Amiss()
        self._told: dict[PluginKey, Told] = {}
        self._names: dict[PluginKey, Ref] = {}
        self._taken: dict[Ref, PluginKey] = {}
        self._leaving: dict[PluginKey, Removal] = {}
        self._gone: dict[PluginKey, Ref] = {}
        self._placed: dict[PluginKey, _Placed] = {}
        self._rollouts: dict[Ref, frozenset[Ref]] = {}
        self._others: frozenset[Ref] = frozenset()
        self._refused: dict[Ref, Wanted] = {}

    def update(self, shown: Pass) -> set[Ref]:
        """Takes a pass; which objects should be others than before, or no longer be there."""
        last, self._last = self._last, shown
        self.before, self._gone = {}, {}
        changes = _Changes(shown, last)
        changed: set[Ref] = set()
        fleet = shown.fleet.planned_as(shown.plan, self._amiss.of(shown.image))
        if changes.objects or shown.refusal is not (last.refusal if last is not None else None):
            refused = shown.refusal.findings if shown.refusal is not None else ()
            self._validity = Validity(fleet.findings.all, refused)
            changes.everything()
        changed |= self._plugins(shown, fleet, changes)
        changed |= self._presets(shown, changes)
        changed |= self._show_rollouts(fleet, changes)
        if changes.counts:
            found = [*objects_told(fleet, self._validity), *revisions_told(fleet), *self._without_effect(fleet)]
            changed |= self._show_others(found)
        return changed | self._show_refused()

    def refuse(self, refusal: Refusal | None) -> set[Ref]:
        """Before anything was accepted: what is wrong with the objects that there are."""
        self._validity = Validity((), refusal.findings if refusal is not None else ())
        return self._show_refused()

    def _show_refused(self) -> set[Ref]:
        """Objects that are not part of the fleet, as they were refused when they came."""
        changed: set[Ref] = set()
        before, self._refused = self._refused, {}
        for ref in self._validity.refused:
            if ref not in self.wanted or self.wanted[ref] is before.get(ref):
                changed |= self._put(Wanted(ref, Status(conditions=[self._validity.of(ref)])))
                self._refused[ref] = self.wanted[ref]
        for ref, wanted in before.items():
            if ref not in self._refused and self.wanted.get(ref) is wanted:
                changed |= self._drop(ref)
        return changed

    # ---- Plugins

    def _plugins(self, shown: Pass, fleet: Fleet, changes: _Changes) -> set[Ref]:
        changed: set[Ref] = set()
        overrides = AppliedOverrides()
        changes.place(self._placed)
        found = _Found(shown, fleet.state, self._placed)
        for key in changes.plugins(self._leaving):
            told = found.told(key, self._valid)
            if told is None:
                changed |= self._show_leaving(key, found)
                continue
            self._leaving.pop(key, None)
            ref = self._ref(key, told.plugin)
            if ref is None or (told.is_as(self._told.get(key)) and not changes.anew):
                continue
            self._told[key] = told
            changed |= self._put(_wanted_plugin(ref, told, overrides))
        return changed

    def _valid(self, plugin: PluginDecision) -> Condition | None:
        """What is wrong with what people wrote into it; None where they wrote nothing."""
        owner, written = plugin.target.owner, plugin.instance
        if owner.ref.kind == "Plugin":
            written = owner  # type: ignore[assignment]
        return self._validity.of(written.ref) if written is not None else None

    def _show_leaving(self, key: PluginKey, found: _Found) -> set[Ref]:
        """A plugin that nobody wants any more is shown until it is gone; one made by hand is gone with its object."""
        self._told.pop(key, None)
        removal = found.removals.get(key)
        if removal is None or removal.retain or removal.handed_to or removal.owner.kind != "PluginPreset":
            self._leaving.pop(key, None)
            ref = self._names.pop(key, None)
            if ref is None:
                return set()
            del self._taken[ref]
            self._gone[key] = ref
            return self._drop(ref)
        self._leaving[key] = removal
        ref = self._named(key)
        generated = _generated(removal.owner.name, key[1], None)
        state = found.shown.image.plugin(key)
        return self._put(Wanted(ref, leaving_status(removal, found.step(key), state), generated))

    def _ref(self, key: PluginKey, plugin: PluginDecision) -> Ref | None:
        """The object of a plugin; None where another system's object is the one that people look at."""
        return self._named(key) if plugin.target.owner.dialect == "native" else None

    def _named(self, key: PluginKey) -> Ref:
        """Names are those of a namespace: where two clusters give one name, the second gets a hash."""
        if key not in self._names:
            ref = Ref("Plugin", key[0], object_name_of(key[2]))
            if ref in self._taken:
                whole = f"{key[2]}-{key[1]}"
                ref = Ref("Plugin", key[0], cut_name(whole + "-" * 53))
            self._names[key] = ref
            self._taken[ref] = key
        return self._names[key]

    def name_of(self, key: PluginKey) -> Ref | None:
        """The object of a plugin, if it has or had one; the last that is known of one that is gone."""
        return self._names.get(key) or self._gone.get(key)

    # ---- Presets and rollouts

    def _presets(self, shown: Pass, changes: _Changes) -> set[Ref]:
        parts: dict[Ref, list[OwnerPlan]] = {}
        for owner in shown.plan.owners:
            parts.setdefault(whole_owner(owner.change.owner), []).append(owner)
        lost: dict[Ref, list[Claim]] = {}
        for claim in shown.fleet.decisions.claims:
            lost.setdefault(claim.loses.ref, []).append(claim)
        changed: set[Ref] = set()
        presets = shown.fleet.snapshot.presets
        for ref in changes.presets(parts):
            preset = presets.get(ref)
            if preset is None:
                changed |= self._drop(ref)
            elif preset.dialect == "native":
                changed |= self._put(self._preset(shown, preset, parts.get(ref, []), lost.get(ref, [])))
        return changed

    def _preset(self, shown: Pass, preset: Object[object], parts: list[OwnerPlan], lost: list[Claim]) -> Wanted:
        decided = shown.fleet.decisions.plugins
        candidates = [each for owner in parts for each in owner.change.candidates if each.key in decided]
        steps = {step.key: step for owner in parts for step in owner.steps}
        status = preset_told(
            [decided[each.key] for each in candidates],
            [shown.image.plugin(each.key) for each in candidates],
            [_hash(each) for each in candidates],
            steps,
            lost,
            _open_rollout(parts),
            self._validity.of(preset.ref),
        )
        generation = None if self._validity.was_refused(preset.ref) else preset.metadata.generation
        return Wanted(preset.ref, status, generation=generation)

    def _show_rollouts(self, fleet: Fleet, changes: _Changes) -> set[Ref]:
        changed: set[Ref] = set()
        owners = {each.change.owner: each for each in fleet.plan.owners}
        stored = fleet.state.rollouts.rollouts
        for ref in changes.owners:
            owner = owners.get(ref)
            rollouts = list(rollouts_of(fleet, owner)) if owner is not None else list(stored.get(ref, ()))
            ended = [each for each in rollouts if not each.is_open]
            kept = [each for each in rollouts if each.is_open or each in ended[-_MOST_ENDED:]]
            made: set[Ref] = set()
            for rollout in kept:
                preset = fleet.snapshot.presets.get(whole_owner(ref)) or fleet.snapshot.plugins.get(ref)
                spec = {"changeId": rollout.change_id, "preset": whole_owner(ref).name}
                labels = {MANAGED_BY: MANAGER, PRESET_LABEL: label_value(whole_owner(ref).name)}
                owned = OwnerReference.to(preset) if preset is not None else None
                name = Ref("Rollout", ref.organization, object_name_of(rollout.name))
                changed |= self._put(Wanted(name, rollout_told(fleet, owner, rollout), Generated(spec, labels, owned)))
                made.add(name)
            for gone in self._rollouts.get(ref, frozenset()) - made:
                changed |= self._drop(gone)
            self._rollouts[ref] = frozenset(made)
        return changed

    # ---- Others

    def _without_effect(self, fleet: Fleet) -> Iterator[Wanted]:
        """Plugins that people wrote and that come to nothing, such as one beside a preset that does not select its
        cluster: what is wrong with them is all that there is to say."""
        for ref, plugin in fleet.snapshot.plugins.items():
            if plugin.dialect == "native" and ref not in self._taken:
                status = PluginStatus(conditions=[self._validity.of(ref)])
                yield Wanted(ref, status, generation=plugin.metadata.generation)

    def _show_others(self, wanted: Iterable[Wanted]) -> set[Ref]:
        changed: set[Ref] = set()
        found: set[Ref] = set()
        for each in wanted:
            changed |= self._put(each)
            found.add(each.ref)
        for ref in self._others - found:
            changed |= self._drop(ref)
        self._others = frozenset(found)
        return changed

    def _put(self, wanted: Wanted) -> set[Ref]:
        before = self.wanted.get(wanted.ref)
        if before == wanted:
            return set()
        if before is not None:
            self.before.setdefault(wanted.ref, before)
        self.wanted[wanted.ref] = wanted
        return {wanted.ref}

    def _drop(self, ref: Ref) -> set[Ref]:
        return {ref} if self.wanted.pop(ref, None) is not None else set()


class _Amiss:
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


class _Placed(NamedTuple):
    """A plugin's place in the plan of its owner."""

    owner: OwnerPlan
    candidate: Candidate
    step: Step


class _Found:
    """What is known of single plugins in a pass; found where it is asked for."""

    def __init__(self, shown: Pass, known: KnownState, placed: Mapping[PluginKey, _Placed]) -> None:
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
            _hash(placed.candidate) if placed is not None else None,
            rollout.name if rollout is not None and rollout.is_open else None,
            shown.fleet.snapshot.rejected.get(plugin.target.owner.ref, frozenset()),
            [answered(each) for each in amiss(plugin, self._known)],
            valid(plugin),
        )


class _Changes:
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
        # While something moves, what it comes to in numbers is of no use to anybody.
        self.counts = self.objects or (bool(self._clusters) and now.plan.is_idle)

    def everything(self) -> None:
        """What is wrong with objects is another: all of them may tell something else."""
        self.counts = True
        self.objects = True

    def place(self, placed: dict[PluginKey, _Placed]) -> None:
        """Brings the places of plugins up to date."""
        for _, before in self._plans.values():
            for step in before.steps if before is not None else ():
                if step.key in placed and placed[step.key].owner is before:
                    del placed[step.key]
        for owner, _ in self._plans.values():
            if owner is not None:
                pairs = zip(owner.change.candidates, owner.steps, strict=True)
                placed.update((step.key, _Placed(owner, candidate, step)) for candidate, step in pairs)

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

    def presets(self, parts: Mapping[Ref, object]) -> set[Ref]:
        if self.objects:
            then = self._last.fleet.snapshot.presets.keys() if self._last is not None else set()
            return {*self._now.fleet.snapshot.presets, *then}
        found = {whole_owner(ref) for ref in self._plans}
        for ref in self._clusters:
            here = self._now.fleet.decisions.clusters.get(ref)
            found.update(each.target.owner.ref for each in (here.candidates if here is not None else ()))
        known = self._now.image.known.plugins
        known_then = self._last.image.known.plugins if self._last is not None else {}
        for ref in changed_keys(known, known_then):
            here = self._now.fleet.decisions.clusters.get(ref)
            found.update(each.target.owner.ref for each in (here.candidates if here is not None else ()))
        return {ref for ref in found if ref.kind == "PluginPreset"}


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


def _hash(candidate: Candidate) -> str | None:
    wanted = candidate.wanted.input_hash
    return wanted if is_known(wanted) else None


def _open_rollout(parts: Iterable[OwnerPlan]) -> PlaceInRollout | None:
    for owner in parts:
        rollout = owner.rollout
        if rollout is not None and rollout.is_open:
            stage = next((each.name for each in rollout.stages if each.done is None), None)
            return PlaceInRollout(name=rollout.name, stage=stage)
    return None


def _wanted_plugin(ref: Ref, told: Told, overrides: AppliedOverrides) -> Wanted:
    owner, instance = told.plugin.target.owner, told.plugin.instance
    status = plugin_status(told, overrides)
    if owner.ref.kind != "PluginPreset":
        return Wanted(ref, status, generation=owner.metadata.generation)
    generated = _generated(owner.ref.name, told.plugin.cluster.ref.name, owner)
    generation = instance.metadata.generation if instance is not None else None
    return Wanted(ref, status, generated, generation)


def _generated(preset: str, cluster: str, owner: Object[object] | None) -> Generated:
    """It says what a person would write to say more about this plugin (B4); all the rest is the preset's to say."""
    spec = {"presetRef": {"name": preset}, "clusterName": cluster}
    labels = {MANAGED_BY: MANAGER, PRESET_LABEL: label_value(preset), CLUSTER: label_value(cluster)}
    return Generated(spec, labels, OwnerReference.to(owner) if owner is not None else None)
