"""Presets, with how far their plugins have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import UNSET, UnsetType, structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.answering.waits import shown_state
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.plan.records import Step
from fleetform.engine.report.progress import summarize
from fleetform.model.answers.listed_objects import (
    ListedPreset,
    PresetConflict,
    PresetPlugins,
    PresetProgress,
    PresetStatus,
)
from fleetform.model.kinds.preset import PluginPresetSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision, PluginKey


def list_presets(fleet: Fleet, scope: Scope) -> Iterator[ListedPreset]:
    plugins: dict[Object[object], list[PluginDecision]] = {}
    for plugin in scope.plugins(fleet):
        plugins.setdefault(plugin.target.owner, []).append(plugin)
    steps = {each.key: each for each in fleet.plan.steps}
    for preset in fleet.snapshot.presets.values():
        if scope.holds(preset.ref):
            status = _preset_status(fleet, preset, plugins.get(preset, []), steps)
            yield ListedPreset(**structs.asdict(listed_object(preset, fleet.decisions.index)), status=status)


def _preset_status(
    fleet: Fleet, preset: Object[PluginPresetSpec], plugins: list[PluginDecision], steps: dict[PluginKey, Step]
) -> PresetStatus:
    lost = [claim for claim in fleet.decisions.claims if claim.loses is preset]
    progress: PresetProgress | UnsetType = UNSET
    wanted = [fleet.inputs.hash(each.upgrade or each) for each in plugins]
    stored = [fleet.state.plugin(each.cluster.ref, each.name) for each in plugins]
    summary = summarize(zip(stored, wanted, strict=True))
    # What they run, where that is known: while a rollout is on its way it is not what was decided.
    running = [each.admitted.version if each.admitted is not None else None for each in stored]
    decided = [each.version for each in plugins]
    versions = Counter(each or "none" for each in (running if fleet.state.plugins else decided))
    if fleet.state.plugins:
        progress = PresetProgress(
            total=summary.total, updating=summary.updating, failed=summary.failed, succeeded=summary.succeeded
        )
    states = Counter(shown_state(steps[each.key]) for each in plugins if each.key in steps)
    return PresetStatus(
        plugins=PresetPlugins(
            total=len(plugins) + len(lost),
            updated=summary.updated,
            ready=sum(
                each.is_healthy and each.admitted is not None and each.admitted.input_hash == hash_ is not None
                for each, hash_ in zip(stored, wanted, strict=True)
            ),
            waiting=states["Waiting"] + states["Paused"],
            blocked=states["Blocked"] + len(lost),
            failed=states["Failed"],
            unreachable=states["Unreachable"],
        ),
        versions=dict(sorted(versions.items())),
        summary=progress,
        conflicts=[PresetConflict(cluster=each.cluster.ref.name, with_=each.keeps.ref.name) for each in lost] or UNSET,
    )
