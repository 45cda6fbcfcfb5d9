"""explain: what one plugin on one cluster gets, and why."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied, explained_option, skipped_item
from fleetform.app.answering.plugins import explained_binding, hidden_config, named_config, reported_gates
from fleetform.app.answering.references import reported
from fleetform.app.answering.upgrades import affected_values, changelog, options_of
from fleetform.app.fleet import Fleet
from fleetform.app.questions import find_option
from fleetform.engine.desired import values_tree
from fleetform.engine.layers.injected import with_injected
from fleetform.engine.versions.choose import versions_between
from fleetform.engine.versions.lifecycle import lifecycle_in, upgrade_times
from fleetform.engine.versions.span import span_between
from fleetform.model.answers.explanation import (
    AdmittedState,
    AwaitedPlugin,
    Explanation,
    TargetState,
    UpgradeAhead,
    WantedVersion,
)
from fleetform.model.objects import AnyObject
from fleetform.model.results.decisions import OptionDecision, PluginDecision
from fleetform.syntax.hashing import as_written
from fleetform.syntax.times import time_text

_MOST_AHEAD = 200


def explain(fleet: Fleet, plugin: PluginDecision, option: str | None = None) -> Explanation:
    """The explanation of a plugin, or of one option of it."""
    locator, options, inputs, target = fleet.input.locator, plugin.options, fleet.inputs, plugin.target
    chosen = list(options.values()) if option is None else [find_option(plugin, option)]
    state = fleet.state.plugin(plugin.cluster.ref, plugin.name)
    admitted = state.admitted
    told = {name: getattr(admitted, name, None) for name in AdmittedState.__struct_fields__}
    # Comparable with what is wanted, which is hashed as it is written; what was read is told of each variable.
    told["input_hash"] = as_written(told["input_hash"])
    known = {name: value for name, value in told.items() if value is not None}

    def variables_in(decision: OptionDecision) -> list[str]:
        """The variables that those items refer to which made an option what it is."""
        items = [item for item in (decision.winner, *(part.winner for part in decision.parts)) if item is not None]
        return sorted({name for item in items for name in inputs.variable_references(plugin, item)})

    return Explanation(
        plugin=plugin.name,
        organization=plugin.organization,
        cluster=plugin.cluster.ref.name,
        definition=target.definition,
        target=TargetState(version=plugin.version, input_hash=inputs.hash(plugin)),
        admitted=AdmittedState(**known) if known else None,
        applied_overrides=applied(plugin, options),
        values=with_injected(masked(values_tree(options)), inputs.injected(plugin)),
        options=[explained_option(each, locator, variables_in(each)) for each in chosen],
        skipped=[skipped_item(each, locator) for each in plugin.skipped],
        running=plugin.running,
        wanted=WantedVersion(
            version=plugin.wanted_version, range=target.wanted, forced=(plugin.upgrade or plugin).target.forced
        ),
        upgrade=_upgrade_ahead(fleet, plugin),
        blocked=reported_gates(plugin.blocked_by, plugin, locator),
        waiting=reported_gates(plugin.waits, plugin, locator),
        config_mode=plugin.configs.mode,
        configs=[named_config(each, locator) for each in plugin.configs.effective],
        configs_hidden=[hidden_config(each, locator) for each in plugin.configs.hidden],
        waits_for=[AwaitedPlugin(definition=name, plugin=offering) for name, offering in inputs.producers(plugin)],
        bindings=[explained_binding(each, plugin, state.readings, locator) for each in inputs.bound(plugin)],
        diagnostics=reported(fleet.findings.about(plugin), locator),
    )


def explain_ahead(fleet: Fleet) -> None:
    """Explains some plugins to nobody: for each owner and override one, up to a number.

    Where objects stand in their files, and what is wrong with them, is found when it is first asked for and then known.
    """
    seen: set[AnyObject] = set()
    explained = 0
    for plugin in {(each.target.owner, each.shared): each for each in fleet.decisions.plugins.values()}.values():
        made_of = {plugin.target.owner, *plugin.shared.overrides}
        if not made_of <= seen:
            seen |= made_of
            explain(fleet, plugin)
            explained += 1
            if explained == _MOST_AHEAD:
                return


def _upgrade_ahead(fleet: Fleet, plugin: PluginDecision) -> UpgradeAhead | None:
    """The upgrade that a plugin has before it, if any: its times, what it brings, whose values it affects."""
    wanted = plugin.upgrade or plugin
    goal = wanted.target.revision
    if plugin.running is None or goal is None or goal.version == plugin.running:
        return None
    versions = fleet.decisions.versions_of(goal)
    passed = versions_between(versions, plugin.running, goal.version)
    times = upgrade_times(lifecycle_in(fleet.snapshot, plugin.organization), passed, goal, fleet.snapshot)
    running = versions.get(plugin.running)
    span = span_between(versions, running, goal) if running is not None else None
    return UpgradeAhead(
        from_=plugin.running,
        to=goal.version,
        announced_at=time_text(times.announced),
        not_before=time_text(times.not_before),
        grace_until=time_text(times.grace_until) if times.grace_until is not None else None,
        forced_at=time_text(times.forced) if times.forced is not None else None,
        changelog=changelog(span) if span is not None else UNSET,
        options=options_of(span, versions) if span is not None else UNSET,
        affected=affected_values(span, wanted, fleet.input.locator) if span is not None else UNSET,
    )
