"""What decisions show: overrides without effect, ties, required options without a value, releases with two owners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fleetform.engine.check.addon_templates import lint_templates
from fleetform.engine.check.gathered import Gathered
from fleetform.engine.check.output_cycles import lint_output_cycles
from fleetform.engine.check.quotas import lint_quotas
from fleetform.engine.check.report import listed
from fleetform.engine.check.unresolved import lint_unresolved
from fleetform.engine.decisions import Decisions
from fleetform.engine.report.effects import Effects, hidden_items, winning_items
from fleetform.model.objects import At, Object, Path
from fleetform.model.results.decisions import Gate, Item, PluginDecision, Revision
from fleetform.model.results.diagnostics import Diagnostic, Severity

# Where an item is written.
_Place = tuple[Object[object], Path, str | int]


def lint_effects(decisions: Decisions, effects: Effects) -> Iterator[Diagnostic]:
    """What the decisions over a whole fleet show and does not make it invalid."""
    yield from _lint_overrides(decisions.overrides, effects)
    yield from _lint_ties(effects)
    yield from lint_unresolved(decisions)
    yield from lint_templates(decisions)
    yield from lint_owners(decisions)


def lint_decisions(decisions: Decisions, gathered: Gathered | None = None) -> Iterator[Diagnostic]:
    """What the decisions over a whole fleet show and may make it invalid."""
    gathered = gathered or Gathered(decisions)
    yield from lint_gates(decisions, gathered)
    yield from lint_output_cycles(decisions)
    yield from lint_claims(decisions)
    yield from lint_quotas(decisions)
    # Imported here, as it knows the planner: a question about one plugin never comes this way, and start-up counts.
    from fleetform.engine.check.staged import lint_staged

    yield from lint_staged(decisions, gathered)


def lint_owners(decisions: Decisions) -> Iterator[Diagnostic]:
    """Presets that select no cluster, and plugins of one name."""
    index = decisions.index
    used = {plugin.target.owner for plugin in decisions.plugins.values()}
    used |= {claim.loses for claim in decisions.claims}
    for object_, owner in index.owners.items():
        if object_ not in used and owner.matchers and index.clusters.of(object_.ref.organization):
            message = f"the preset {object_.ref.name} selects no cluster"
            at = object_.at("spec", "clusterSelector")
            yield Diagnostic("nothing-selected", message, "fix its clusterSelector", "warning", object_.ref, at)
    # Two plugins of one name in an organization would be one object on Kubernetes.
    first: dict[tuple[str, str], PluginDecision] = {}
    for plugin in decisions.plugins.values():
        other = first.setdefault((plugin.organization, plugin.name), plugin)
        if other is not plugin:
            clusters = f"{other.cluster.ref.name} and {plugin.cluster.ref.name}"
            message = f"the plugins on {clusters} are both named {plugin.name}"
            one, two = (each.target.owner.at("metadata", "name") for each in (plugin, other))
            ref = plugin.target.owner.ref
            yield Diagnostic("bad-name", message, "rename a preset or a cluster", "warning", ref, one, (two,))


def lint_claims(decisions: Decisions) -> Iterator[Diagnostic]:
    """Releases, and names of plugins, that two owners want on one cluster."""
    for claim in decisions.claims:
        message = f"{claim.loses.ref.kind} {claim.loses.ref.name} and {claim.keeps.ref.kind} {claim.keeps.ref.name} "
        message += f"both claim {claim.claimed} on {claim.cluster.ref.name}; the older one keeps it"
        hint = "give one another name or releaseName, or write presetRef if only values are meant"
        related = (claim.keeps.at("metadata", "name"),)
        # Two presets may meet on a cluster, and the older keeps it; a Plugin beside a preset must say what it is (B4).
        by_hand = "Plugin" in (claim.loses.ref.kind, claim.keeps.ref.kind)
        severity: Severity = "error" if by_hand else "warning"
        at = claim.loses.at("metadata", "name")
        yield Diagnostic("two-owners", message, hint, severity, claim.loses.ref, at, related)


def lint_effects_of(decisions: Decisions, override: Object[object]) -> Iterator[Diagnostic]:
    """The same of one override alone, if it applies."""
    effects = Effects(decisions, override)
    yield from _lint_overrides([override] if override in decisions.index.overrides else (), effects)
    yield from (each for each in _lint_ties(effects) if each.object == override.ref)


def _lint_overrides(overrides: Iterable[Object[object]], effects: Effects) -> Iterator[Diagnostic]:
    """Overrides without effect."""
    for object_ in overrides:
        ref, at = object_.ref, object_.at("metadata", "name")
        if not effects.reaches_any(object_):
            message = f"the override {ref.name} reaches no plugin"
            hint = "fix its selector or definition names, or delete it"
            yield Diagnostic("dead-override", message, hint, "warning", ref, at)
        elif effects.is_shadowed(object_):
            why = effects.silenced(object_)
            reached = len(effects.plugins(object_))
            on = f"all {reached:,} plugins it matches" if reached > 1 else "the only plugin it matches"
            causes = {
                "hidden by others": "other overrides win",
                "left out": "its optional variables cannot be resolved",
            }
            because = " or ".join(causes[each] for each in why)
            message = f"the override {ref.name} has no effect: {because} on {on}"
            others = "bind the optional variables that it refers to" if "left out" in why else "those that win"
            yield Diagnostic("shadowed-override", message, f"delete it, or {others}", "warning", ref, at)


def _lint_ties(effects: Effects) -> Iterator[Diagnostic]:
    for tie in effects.ties():
        winner, loser = tie.winner, tie.loser
        names = f"{loser.layer.object.ref.name} and {winner.layer.object.ref.name}"
        where = f"on {tie.plugins:,} plugin{'s' if tie.plugins != 1 else ''}"
        if tie.undecided:
            message = f"overrides {names} of one rank disagree on {winner.text} {where}; their names decide"
            hint = "stamp them with the annotation fleetform.dev/created, or make one more specific"
            ref = winner.layer.object.ref
            yield Diagnostic("tie-undecided", message, hint, "warning", ref, winner.at, (loser.at,))
        else:
            how = "the newer one wins" if tie.by == "created" else "their times are equal, so their names decide"
            message = f"overrides {names} of one rank disagree on {winner.text} {where}; {how}"
            yield Diagnostic("tie", message, "", "info", winner.layer.object.ref, winner.at, (loser.at,))


def lint_gates(decisions: Decisions, gathered: Gathered | None = None) -> Iterator[Diagnostic]:
    """Gates that values raise, once for each owner, with the clusters on which they stand."""
    found: dict[tuple[Object[object], str, str, str, At | None], list[tuple[PluginDecision, Gate]]] = {}
    for plugin in (gathered or Gathered(decisions)).gated:
        wanted = plugin.upgrade or plugin
        unresolved = {each.message for each in wanted.unresolved}
        for gate in wanted.gates:
            # lint_unresolved reports the others.
            if gate.gate in ("required-option", "value-type") and gate.message not in unresolved:
                key = (plugin.target.owner, gate.gate, gate.message, gate.option, gate.at)
                found.setdefault(key, []).append((plugin, gate))
    for (owner, kind, message, *_), where in found.items():
        plugin, gate = where[0]
        clusters = listed([each.cluster.ref.name for each, _ in where])
        what = f"{plugin.target.definition} {(plugin.upgrade or plugin).version} on {clusters}"
        code, text = "wrong-type", f"{message}: {what}"
        if kind == "required-option":
            code, text = "missing-required", f"{gate.option} is required and has no value: {what}"
        at = gate.at or owner.at("spec")
        if _is_nowhere(decisions, plugin, gate):
            yield Diagnostic("wrong-index", text, "fix the path", "error", gate.ref, at)
        else:
            yield Diagnostic(code, text, gate.do, "warning", gate.ref or owner.ref, at)


def _is_nowhere(decisions: Decisions, stopped: PluginDecision, gate: Gate) -> bool:
    """Whether a path of an option leads nowhere whatever the plugin and the version; else it is a gate there (S59)."""
    decided = (stopped.upgrade or stopped).options.get(gate.option)
    standing = next((each for each in decided.misfits if each.at == gate.at), None) if decided is not None else None
    if standing is None:
        return False
    place = _place(standing)
    seen: set[Revision] = set()
    for plugin in decisions.plugins.values():
        for each in (plugin, plugin.upgrade) if plugin.upgrade is not None else (plugin,):
            revision = each.target.revision
            for decision in each.options.values() if revision is not None else ():
                said = [item for item in (*winning_items(decision), *hidden_items(decision)) if _place(item) == place]
                if any(item not in decision.misfits for item in said):
                    return False
                seen |= {revision} if said and revision is not None else set()
    versions = (version for each in seen for version in decisions.versions_of(each).values())
    return all(version in seen or version.find(standing.steps) is None for version in versions)


def _place(item: Item) -> _Place:
    return item.layer.object, item.collection, item.index
