"""Presets, with how far their plugins have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

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
from fleetform.model.objects import Object
from fleetform.model.results.decisions import Claim, PluginDecision, PluginKey
from fleetform.model.state import PluginState


def list_presets(fleet: Fleet, scope: Scope) -> Iterator[ListedPreset]:
    plugins: dict[Object[object], list[PluginDecision]] = {}
    for plugin in scope.plugins(fleet):
        plugins.setdefault(plugin.target.owner, []).append(plugin)
    steps = {each.key: each for each in fleet.plan.steps}
    for preset in fleet.snapshot.presets.values():
        if scope.holds(preset.ref):
            mine = plugins.get(preset, [])
            stored = [fleet.state.plugin(each.cluster.ref, each.name) for each in mine]
            wanted = [fleet.inputs.state_hash(each.upgrade or each) for each in mine]
            lost = [claim for claim in fleet.decisions.claims if claim.loses is preset]
            status = preset_status(mine, stored, wanted, steps, lost, bool(fleet.state.plugins))
            yield ListedPreset(**structs.asdict(listed_object(preset, fleet.decisions.index)), status=status)


def preset_status(
    plugins: Sequence[PluginDecision],
    stored: Sequence[PluginState],
    wanted: Sequence[str | None],
    steps: Mapping[PluginKey, Step],
    lost: Sequence[Claim],
    is_state_known: bool,
) -> PresetStatus:
    """What a preset's plugins have come to: what is stored of each, and the hash that is wanted, in their order."""
    progress: PresetProgress | UnsetType = UNSET
    summary = summarize(zip(stored, wanted, strict=True))
    # What they run, where that is known: while a rollout is on its way it is not what was decided.
    running = [each.admitted.version if each.admitted is not None else None for each in stored]
    decided = [each.version for each in plugins]
    versions = Counter(each or "none" for each in (running if is_state_known else decided))
    if is_state_known:
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
