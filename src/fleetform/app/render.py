"""render: the objects that plugins become."""

from __future__ import annotations

from collections.abc import Sequence

from fleetform.app.answering.options import sources_of_values
from fleetform.app.answering.plugins import reported_gates
from fleetform.app.answering.references import reported
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.rendering.plugin_renders import PluginRender, notes_on
from fleetform.engine.decide import at_version
from fleetform.model.answers.rendering import (
    IgnoredByPriority,
    KeptByTransform,
    LeftOutObject,
    Render,
    RenderedPlugin,
    TransformsOfRender,
)
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.rendering import Transformation
from fleetform.syntax.versions import parse_version


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


def plugin_at_version(fleet: Fleet, plugin: PluginDecision, version: str) -> PluginDecision:
    """A plugin as it would be at another version of its definition, with what is written now."""
    found = at_version(fleet.decisions, plugin, version.removeprefix("v"))
    if found is None:
        revision = plugin.target.revision
        known = sorted(fleet.decisions.versions_of(revision), key=parse_version) if revision is not None else []
        listed = f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
        hint = listed if known else "see `fleetform get revisions`"
        raise NotFoundError(f"{plugin.target.definition} has no version {version}", hint)
    return found
