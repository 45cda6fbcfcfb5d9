"""explain: what one plugin on one cluster gets, and why."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.app.answering.masks import masked
from fleetform.app.answering.options import applied, explained_option, skipped_item
from fleetform.app.answering.plugins import explained_binding, hidden_config, named_config, reported_gates
from fleetform.app.answering.references import reported
from fleetform.app.answering.upgrades import affected_values, changelog, options_of
from fleetform.app.errors import AmbiguousError, NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.revisions import lifecycle_in
from fleetform.app.scope import Scope, elsewhere
from fleetform.engine.desired import values_tree
from fleetform.engine.versions.choose import versions_between
from fleetform.engine.versions.lifecycle import upgrade_times
from fleetform.engine.versions.span import span_between
from fleetform.model.answers.explanation import (
    AwaitedPlugin,
    Explanation,
    TargetState,
    UpgradeAhead,
    WantedVersion,
)
from fleetform.model.results.decisions import OptionDecision, PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.option_paths import PathError, normal_form, parse_path
from fleetform.syntax.times import time_text


def find_plugin(fleet: Fleet, scope: Scope, name: str | None, definition: str | None) -> PluginDecision:
    """The plugin that is meant: by its own name, by its preset's and a cluster, or by a definition and a cluster."""
    # A contender is asked about by its preset: its own name may be another plugin's.
    candidates = [*scope.plugins(fleet), *scope.contenders(fleet)]
    if definition is not None:
        found = [each for each in candidates if each.target.definition == definition]
        asked = f"plugin of definition {definition}"
    else:
        found = [each for each in candidates if each.name == name] or [
            each for each in candidates if each.target.owner.ref.name == name
        ]
        asked = f"plugin or preset {name}"
    if len(found) == 1:
        return found[0]
    if not found:
        hint = elsewhere(fleet, scope) or _hint(candidates, name, definition, scope)
        raise NotFoundError(f"there is no {asked}{_where(scope)}", hint)
    choices = [f"{each.organization}/{each.name} on {each.cluster.ref.name}" for each in found]
    hint = "name the plugin itself" if scope.cluster else "name the cluster with -c, or the plugin itself"
    raise AmbiguousError(f"{len(found):,} plugins fit {name or definition}", choices, hint)


def _where(scope: Scope) -> str:
    where = f" on {scope.cluster}" if scope.cluster else ""
    where += " on a cluster that -l selects" if scope.labels else ""
    return f"{where} in {scope.organization}" if scope.organization else where


def _hint(candidates: list[PluginDecision], name: str | None, definition: str | None, scope: Scope) -> str:
    if definition is not None:
        known = {each.target.definition for each in candidates}
    else:
        known = {each.target.owner.ref.name for each in candidates} | {each.name for each in candidates}
    listed = f"there {'is' if len(known) == 1 else 'are'} {', '.join(sorted(known)[:8])}" if known else ""
    otherwise = listed if scope.cluster and known else "see `fleetform get plugins`"
    return did_you_mean(name or definition or "", sorted(known), otherwise)


def find_option(plugin: PluginDecision, text: str) -> OptionDecision:
    """The option a path belongs to: the longest declared name wins (R0-8)."""
    try:
        form = normal_form(parse_path(text))
    except PathError as error:
        raise NotFoundError(f"{text} is not a path: {error.message}", "write a.b, a.b[0] or /a/b/0") from error
    by_form = {normal_form(each.slot.steps): each for each in plugin.options.values()}
    for length in range(len(form), 0, -1):
        if form[:length] in by_form:
            return by_form[form[:length]]
    names = list(plugin.options)
    ending = [name for name in names if name.rpartition(".")[2] == text]
    hint = did_you_mean(text, ending or names, f"it has {', '.join(names[:8])}{', …' if len(names) > 8 else ''}")
    what = f"{plugin.target.definition} {plugin.version or ''}".strip()
    raise NotFoundError(f"{what} has no option {text}", hint)


def explain(fleet: Fleet, plugin: PluginDecision, option: str | None = None) -> Explanation:
    """The explanation of a plugin, or of one option of it."""
    locator, options, inputs, target = fleet.input.locator, plugin.options, fleet.inputs, plugin.target
    chosen = list(options.values()) if option is None else [find_option(plugin, option)]
    return Explanation(
        plugin=plugin.name,
        organization=plugin.organization,
        cluster=plugin.cluster.ref.name,
        definition=target.definition,
        target=TargetState(version=plugin.version, input_hash=inputs.hash(plugin)),
        admitted=fleet.state.admitted.get(plugin.key),
        applied_overrides=applied(plugin, options),
        values=masked(values_tree(options)),
        options=[explained_option(each, locator, _variables_in(fleet, plugin, each)) for each in chosen],
        skipped=[skipped_item(each, locator) for each in plugin.skipped],
        running=plugin.running,
        wanted=WantedVersion(version=plugin.wanted_version, range=target.wanted, forced=target.forced),
        upgrade=_upgrade_ahead(fleet, plugin),
        blocked=reported_gates(plugin.blocked_by, plugin, locator),
        waiting=reported_gates(plugin.waits, plugin, locator),
        config_mode=plugin.configs.mode,
        configs=[named_config(each, locator) for each in plugin.configs.effective],
        configs_hidden=[hidden_config(each, locator) for each in plugin.configs.hidden],
        waits_for=[AwaitedPlugin(definition=name, plugin=offering) for name, offering in inputs.producers(plugin)],
        bindings=[explained_binding(each, target.owner, locator) for each in inputs.bound(plugin)],
        diagnostics=reported(about(fleet, plugin), locator),
    )


def _variables_in(fleet: Fleet, plugin: PluginDecision, decision: OptionDecision) -> list[str]:
    """The variables that those items refer to which made an option what it is."""
    items = [item for item in (decision.winner, *(part.winner for part in decision.parts)) if item is not None]
    return sorted({name for item in items for name in fleet.inputs.variable_references(plugin, item)})


def _upgrade_ahead(fleet: Fleet, plugin: PluginDecision) -> UpgradeAhead | None:
    """The upgrade that a plugin has before it, if any: its times, what it brings, whose values it affects."""
    wanted = plugin.upgrade or plugin
    goal = wanted.target.revision
    if plugin.running is None or goal is None or goal.version == plugin.running:
        return None
    versions = fleet.decisions.versions_of(goal)
    passed = versions_between(versions, plugin.running, goal.version)
    times = upgrade_times(lifecycle_in(fleet, plugin.organization), passed, goal, fleet.snapshot)
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


def about(fleet: Fleet, plugin: PluginDecision) -> list[Diagnostic]:
    """Findings about the objects that decide this plugin."""
    refs = {plugin.target.owner.ref, plugin.cluster.ref, *(each.ref for each in plugin.shared.overrides)}
    if plugin.instance is not None:
        refs.add(plugin.instance.ref)
    if plugin.target.revision is not None:
        refs.add(plugin.target.revision.object.ref)
    return [each for each in fleet.object_findings if each.object in refs]
