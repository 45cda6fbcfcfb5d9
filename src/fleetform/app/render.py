"""render: the objects that plugins become."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.app.answering.options import sources_of_values
from fleetform.app.answering.plugins import reported_gates
from fleetform.app.answering.references import reported
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import PluginRender, notes_on
from fleetform.model.answers.rendering import (
    IgnoredByPriority,
    KeptByTransform,
    LeftOutObject,
    Render,
    RenderedPlugin,
    TransformsOfRender,
)
from fleetform.model.results.rendering import Transformation


def render_answer(fleet: Fleet, rendered: Sequence[PluginRender]) -> Render:
    """What became of plugins, with their objects."""
    locator = fleet.input.locator
    items = [
        RenderedPlugin(
            cluster=each.plugin.cluster.ref.name,
            plugin=each.plugin.name,
            organization=each.plugin.organization,
            definition=each.plugin.target.definition,
            version=each.plugin.version,
            input_hash=fleet.inputs.hash(each.plugin),
            render_key=each.key,
            objects=list(each.objects),
            transforms=_transforms(each.transformation),
            blocked=reported_gates(each.blocked, each.plugin, locator),
            values=sources_of_values(each.plugin, locator) if each.blocked else [],
        )
        for each in rendered
    ]
    notes = notes_on(rendered)
    return Render(items=items, diagnostics=reported(fleet.findings.in_order(notes), locator))


def _transforms(found: Transformation) -> TransformsOfRender:
    return TransformsOfRender(
        kept=[KeptByTransform(object=each.object, by=each.by, op=each.op, path=each.pointer) for each in found.kept],
        ignored=[
            IgnoredByPriority(
                object=each.object,
                plugin=each.plugin,
                operation=each.operation,
                reason=each.reason,
                winner=each.winner,
            )
            for each in found.ignored
        ],
        whiteouts=[LeftOutObject(object=name, plugins=list(plugins)) for name, plugins in found.whiteouts],
    )
