"""Live exports: objects that a system made itself are what runs, and not what somebody wrote (S65)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from fleetform.engine.layers.owners import definition_of
from fleetform.model.kinds.preset import PluginSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.state import Deployed, PluginState
from fleetform.ports.state import KnownState
from fleetform.syntax.trees import as_map, text_at
from fleetform.syntax.versions import VersionError, parse_version


def set_apart(
    objects: Sequence[Object[object]], state: KnownState, diagnostics: list[Diagnostic]
) -> tuple[list[Object[object]], KnownState]:
    """The objects that somebody wrote, and the state with what runs by the others; a state that is given wins."""
    if all(each.conventions.injected is None for each in objects):
        return list(objects), state
    # Imported where it is needed: most fleets have no manifests of it, and start-up time counts.
    from fleetform.dialects.greenhouse.injected import with_base_domain
    from fleetform.dialects.greenhouse.read import MADE_BY

    presets = {each.ref for each in objects if each.ref.kind == "PluginPreset"}
    known = {cluster: dict(plugins) for cluster, plugins in state.plugins.items()}
    written = []
    for object_ in with_base_domain(list(objects)):
        spec = object_.spec
        if not object_.conventions.made_by_system or not isinstance(spec, PluginSpec):
            written.append(object_)
            continue
        preset = Ref("PluginPreset", object_.ref.organization, object_.labels[MADE_BY])
        if preset not in presets:
            message = f"the Plugin {object_.ref.name} was made by the preset {preset.name}, which is not here"
            hint = "add the preset, or remove the label if the Plugin is to be on its own"
            at = object_.at("metadata", "labels", MADE_BY)
            diagnostics.append(Diagnostic("missing-reference", message, hint, "warning", object_.ref, at))
        version = text_at(as_map(object_.content).get("status"), "version")
        with suppress(VersionError):
            definition, _ = definition_of(spec.plugin_definition or "", None)
            runs = PluginState(admitted=Deployed(str(parse_version(version or "")), definition))
            cluster = Ref("Cluster", object_.ref.organization, spec.cluster_name or "")
            known.setdefault(cluster, {}).setdefault(object_.ref.name, runs)
    return written, replace(state, plugins=known)
