"""render: the objects that plugins become."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.app.answering.options import sources_of_values
from fleetform.app.answering.plugins import reported_gates
from fleetform.app.answering.references import reported
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import PluginRender, unsteady_findings
from fleetform.model.answers.rendering import Render, RenderedPlugin, TransformsOfRender


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
            transforms=TransformsOfRender(),
            blocked=reported_gates(each.blocked, each.plugin, locator),
            values=sources_of_values(each.plugin, locator) if each.blocked else [],
        )
        for each in rendered
    ]
    return Render(items=items, diagnostics=reported(fleet.findings.in_order(unsteady_findings(rendered)), locator))
