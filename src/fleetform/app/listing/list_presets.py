"""Presets, with how far their plugins have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import UNSET, UnsetType, structs

from fleetform.app.answering.manifests import listed_object
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.report.progress import summarize
from fleetform.model.answers.listing import (
    ListedPreset,
    PresetConflict,
    PresetPlugins,
    PresetProgress,
    PresetStatus,
)
from fleetform.model.kinds.preset import PluginPresetSpec
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision


def list_presets(fleet: Fleet, scope: Scope) -> Iterator[ListedPreset]:
    plugins: dict[Object[object], list[PluginDecision]] = {}
    for plugin in scope.plugins(fleet):
        plugins.setdefault(plugin.target.owner, []).append(plugin)
    for preset in fleet.snapshot.presets.values():
        if scope.holds(preset.ref):
            status = _preset_status(fleet, preset, plugins.get(preset, []))
            yield ListedPreset(**structs.asdict(listed_object(preset, fleet.decisions.index)), status=status)


def _preset_status(fleet: Fleet, preset: Object[PluginPresetSpec], plugins: list[PluginDecision]) -> PresetStatus:
    versions = Counter(plugin.version or "none" for plugin in plugins)
    lost = [claim for claim in fleet.decisions.claims if claim.loses is preset]
    updated: int | UnsetType = UNSET
    progress: PresetProgress | UnsetType = UNSET
    if fleet.state.plugins:
        states = (fleet.state.plugin(each.cluster.ref, each.name) for each in plugins)
        wanted = (fleet.inputs.hash(each.upgrade or each) for each in plugins)
        summary = summarize(zip(states, wanted, strict=True))
        updated = summary.updated
        progress = PresetProgress(
            total=summary.total, updating=summary.updating, failed=summary.failed, succeeded=summary.succeeded
        )
    return PresetStatus(
        plugins=PresetPlugins(
            total=len(plugins) + len(lost),
            blocked=sum(bool(plugin.blocked_by) for plugin in plugins) + len(lost),
            updated=updated,
        ),
        versions=dict(sorted(versions.items())),
        summary=progress,
        conflicts=[PresetConflict(cluster=each.cluster.ref.name, with_=each.keeps.ref.name) for each in lost] or UNSET,
    )
