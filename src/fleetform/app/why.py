"""why: what keeps plugins from what is wanted, until when, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fleetform.app.answering.references import reported
from fleetform.app.answering.waits import Waits, shown_state
from fleetform.app.broken import Broken
from fleetform.app.consents import consent_findings
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.app.states import ALL_STATES, StateFilter
from fleetform.engine.plan.records import Step
from fleetform.model.answers.planning import Why, WhyItem
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean, what_there_is

_TIMING = ("Approval", "LifecyclePolicy", "RolloutPolicy", "UpdateWindow")


def why(
    fleet: Fleet,
    scope: Scope,
    name: str | None = None,
    states: StateFilter = ALL_STATES,
    now: datetime | None = None,
) -> Why:
    """How the plugins of a scope stand; name is a plugin's, its preset's or its definition's.

    now is the time that it is told at: nothing is planned anew, but how far away things are is another.
    """
    steps = [each for each in fleet.plan.steps if scope.holds_plugin(fleet, each.key)]
    meant = [each for each in steps if name is None or name in _names(fleet, each)]
    if name is not None and not meant:
        where = f" on {scope.cluster}" if scope.cluster else ""
        known = sorted({one for each in steps for one in _names(fleet, each)})
        listed = what_there_is(known) if known else "it has none"
        raise NotFoundError(f"there is no plugin {name}{where}", did_you_mean(name, known, listed))
    waits = Waits(fleet, now)
    items = waits.items(each for each in meant if states.holds(shown_state(each)))
    found = [each for each in fleet.findings.of_objects if scope.concerns(each.object)]
    shown = {(each.organization, each.cluster, each.plugin) for each in items if each.state != "UpToDate"}
    owners = [owner for owner in fleet.plan.owners if any(each.key in shown for each in owner.steps)]
    found += consent_findings(fleet, owners, shown)
    return Why(items=sorted(items, key=_order), diagnostics=reported(found, fleet.input.locator))


def reaching_why(fleet: Fleet, errors: Sequence[Diagnostic], scope: Scope) -> list[Diagnostic]:
    """The errors that an answer may depend on: those that reach plugins, and those of policies and windows (S64)."""
    found = Broken(fleet, errors).reaching(scope) if errors else []
    timing = [each for each in errors if each.object is not None and each.object.kind in _TIMING]
    return [*found, *(each for each in timing if each.object is not None and scope.offers(each.object))]


def exit_code(items: list[WhyItem]) -> int:
    """0 if all are up to date, 3 if one is blocked, else 1: of several the worst (S48)."""
    states = {each.state for each in items}
    if "Blocked" in states:
        return 3
    return 1 if states - {"UpToDate"} else 0


def _order(item: WhyItem) -> tuple[str, str, str]:
    return item.organization, item.cluster, item.plugin


def _names(fleet: Fleet, step: Step) -> set[str]:
    """What people call a plugin: its name, that of its preset, and that of its definition."""
    known = step.progress.admitted
    found = {step.key[2]}
    if known is not None and known.definition is not None:
        found.add(known.definition)
    if known is not None and known.installer is not None:
        found.add(known.installer.owner.name)
    plugin = fleet.decisions.plugins.get(step.key)
    if plugin is not None:
        found |= {plugin.target.owner.ref.name, plugin.target.definition}
    return found
