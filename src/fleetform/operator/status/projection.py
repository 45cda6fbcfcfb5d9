"""Projection: from what a pass decided and stored to what objects on an API server should be. Pure.

From one pass to the next only what differs is computed anew: decisions, plans of owners and stored states keep their
identity where nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_plugins import AppliedOverrides
from fleetform.app.listing.list_rollouts import rollouts_of
from fleetform.engine.plan.records import OwnerPlan, Removal
from fleetform.loop.accepting import Refusal
from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.kinds.status import Condition, PlaceInRollout, Status
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import Claim, PluginDecision, PluginKey
from fleetform.operator.generated import PRESET_LABEL
from fleetform.operator.status.objects import Validity, objects_told, revisions_told
from fleetform.operator.status.owners import preset_told, rollout_told
from fleetform.operator.status.passes import Amiss, Changes, Found, Pass, Placed, wanted_hash, whole_owner
from fleetform.operator.status.plugins import Told, add_on_status, leaving_status, plugin_status, without_effect
from fleetform.operator.status.wanted import (
    ADD_ON,
    ADD_ONS,
    CLUSTER,
    MANAGED_BY,
    MANAGER,
    Generated,
    OwnerReference,
    Wanted,
)
from fleetform.syntax.names import cut_name, label_value, object_name_of

# Of an owner's rollouts that ended, so many are shown (B33).
_MOST_ENDED = 10


class Projection:
    """What objects should be, after the last pass that was shown. wanted is by kind, namespace and name."""

    def __init__(self) -> None:
        self.wanted: dict[Ref, Wanted] = {}
        # What the last update replaced.
        self.before: dict[Ref, Wanted] = {}
        self._last: Pass | None = None
        self._validity = Validity(())
        self._amiss = Amiss()
        self._told: dict[PluginKey, Told] = {}
        self._names: dict[PluginKey, Ref] = {}
        self._taken: dict[Ref, PluginKey] = {}
        self._leaving: dict[PluginKey, Removal] = {}
        self._gone: dict[PluginKey, Ref] = {}
        self._placed: dict[PluginKey, Placed] = {}
        self._rollouts: dict[Ref, frozenset[Ref]] = {}
        self._others: frozenset[Ref] = frozenset()
        self._refused: dict[Ref, Wanted] = {}

    def update(self, shown: Pass) -> set[Ref]:
        """Takes a pass; which objects should be others than before, or no longer be there."""
        last, self._last = self._last, shown
        self.before, self._gone = {}, {}
        changes = Changes(shown, last)
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
            others = objects_told(fleet, self._validity, shown.image.heard)
            found = [*others, *revisions_told(fleet), *self._without_effect(fleet)]
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

    def _plugins(self, shown: Pass, fleet: Fleet, changes: Changes) -> set[Ref]:
        changed: set[Ref] = set()
        overrides = AppliedOverrides()
        changes.place(self._placed)
        found = Found(shown, fleet.state, self._placed)
        for key in changes.plugins(self._leaving):
            told = found.told(key, self._valid)
            if told is None:
                changed |= self._show_leaving(key, found)
                continue
            self._leaving.pop(key, None)
            if told.is_as(self._told.get(key)):
                continue
            self._told[key] = told
            owner = told.plugin.target.owner
            if owner.dialect == "ocm":
                changed |= self._put(_wanted_add_on(told))
            elif owner.dialect == "native" or owner.ref.kind == "PluginPreset":
                changed |= self._put(_wanted_plugin(self._named(key), told, overrides))
        return changed

    def _valid(self, plugin: PluginDecision) -> Condition | None:
        """What is wrong with what people wrote into it; None where they wrote nothing."""
        owner, written = plugin.target.owner, plugin.instance
        if owner.ref.kind == "Plugin":
            written = owner  # type: ignore[assignment]
        return self._validity.of(written.ref) if written is not None else None

    def _show_leaving(self, key: PluginKey, found: Found) -> set[Ref]:
        """A plugin that nobody wants any more is shown until it is gone; one made by hand is gone with its object."""
        told = self._told.pop(key, None)
        if told is not None and told.plugin.target.owner.dialect == "ocm":
            return self._drop(_add_on(told.plugin))
        removal = found.removals.get(key)
        if removal is None or removal.retain or removal.handed_to or removal.owner.kind != "PluginPreset":
            self._leaving.pop(key, None)
            ref = self._names.pop(key, None)
            if ref is None:
                return set()
            del self._taken[ref]
            self._gone[key] = ref
            written = found.shown.fleet.snapshot.plugins.get(ref)
            if written is not None and written.dialect == "native":
                # What a person wrote into it is still there.
                self._others |= {ref}
                return self._put(self._without_effect_at(written))
            return self._drop(ref)
        self._leaving[key] = removal
        ref = self._named(key)
        generated = _generated(removal.owner.name, key[1], None)
        state = found.shown.image.plugin(key)
        return self._put(Wanted(ref, leaving_status(removal, found.step(key), state, found.running(key)), generated))

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

    def _presets(self, shown: Pass, changes: Changes) -> set[Ref]:
        parts: dict[Ref, list[OwnerPlan]] = {}
        for owner in shown.plan.owners:
            parts.setdefault(whole_owner(owner.change.owner), []).append(owner)
        lost: dict[Ref, list[Claim]] = {}
        for claim in shown.fleet.decisions.claims:
            lost.setdefault(claim.loses.ref, []).append(claim)
        changed: set[Ref] = set()
        presets = shown.fleet.snapshot.presets
        counted = changes.presets()
        for ref in counted:
            preset = presets.get(ref)
            if preset is None:
                changed |= self._drop(ref)
            elif preset.dialect == "native":
                changed |= self._put(self._preset(shown, preset, parts.get(ref, []), lost.get(ref, [])))
        if changes.objects:
            for ref, preset in presets.items():
                if ref not in counted and preset.dialect == "native":
                    changed |= self._put(self._judged_again(preset))
        return changed

    def _judged_again(self, preset: Object[object]) -> Wanted:
        """A preset of which only what is wrong with it may be another: a large one is not counted again for that."""
        wanted = self.wanted[preset.ref]
        *counted, _ = wanted.status.conditions
        status = structs.replace(wanted.status, conditions=[*counted, self._validity.of(preset.ref)])
        return structs.replace(wanted, status=status, generation=self._generation(preset))

    def _preset(self, shown: Pass, preset: Object[object], parts: list[OwnerPlan], lost: list[Claim]) -> Wanted:
        decided = shown.fleet.decisions.plugins
        candidates = [each for owner in parts for each in owner.change.candidates if each.key in decided]
        steps = {step.key: step for owner in parts for step in owner.steps}
        status = preset_told(
            [decided[each.key] for each in candidates],
            [shown.image.plugin(each.key) for each in candidates],
            [wanted_hash(each) for each in candidates],
            steps,
            lost,
            _open_rollout(parts),
            self._validity.of(preset.ref),
        )
        return Wanted(preset.ref, status, generation=self._generation(preset))

    def _generation(self, preset: Object[object]) -> int | None:
        return None if self._validity.was_refused(preset.ref) else preset.metadata.generation

    def _show_rollouts(self, fleet: Fleet, changes: Changes) -> set[Ref]:
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
                yield self._without_effect_at(plugin)

    def _without_effect_at(self, plugin: Object[PluginSpec]) -> Wanted:
        return Wanted(plugin.ref, without_effect(self._validity.of(plugin.ref)), generation=plugin.metadata.generation)

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


def _wanted_add_on(told: Told) -> Wanted:
    return Wanted(_add_on(told.plugin), add_on_status(told), api_version=ADD_ONS)


def _add_on(plugin: PluginDecision) -> Ref:
    """The object of an add-on: in the namespace of its cluster."""
    return Ref(ADD_ON, plugin.cluster.ref.name, plugin.target.definition)


def _generated(preset: str, cluster: str, owner: Object[object] | None) -> Generated:
    """It says what a person would write to say more about this plugin (B4); all the rest is the preset's to say."""
    spec = {"presetRef": {"name": preset}, "clusterName": cluster}
    labels = {MANAGED_BY: MANAGER, PRESET_LABEL: label_value(preset), CLUSTER: label_value(cluster)}
    return Generated(spec, labels, OwnerReference.to(owner) if owner is not None else None)
