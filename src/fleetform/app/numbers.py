"""numbers: how a fleet stands, counted from a plan: what is pending and why, waits, is blocked, has failed (R2-27).

Counts are by organization and by preset, gate or reason. None is by cluster or plugin: there may be 100,000 of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from fleetform.engine.plan.records import OwnerPlan, Plan, Step
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN


@dataclass
class Numbers:
    """Keys are (organization, preset), but for pending, which has a reason, too, and waiting: (organization, gate).

    versions counts the distinct ones that run. waiting_since is the time of the oldest change that is not everywhere
    yet, by organization.
    """

    plugins: Counter[tuple[str, str]] = field(default_factory=Counter)
    pending: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter)
    blocked: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: dict[tuple[str, str], int] = field(default_factory=dict)
    waiting_since: dict[str, datetime] = field(default_factory=dict)


def numbers(found: Plan, unrendered: Collection[PluginKey] = ()) -> Numbers:
    """unrendered are starts of the plan that were not made, since something to render them is not there for now."""
    counted = Numbers()
    for owner in found.owners:
        _count_owner(counted, found, owner, unrendered)
    owners = {each.key: each.owner for each in found.world.removals}
    for step in found.removals:
        if step.action in ("wait", "block", "delete"):
            _count_step(counted, step.key[0], owners[step.key].name, step)
    return counted


def _count_owner(counted: Numbers, found: Plan, owner: OwnerPlan, unrendered: Collection[PluginKey]) -> None:
    organization, preset = owner.change.owner.organization, owner.change.owner.name
    key = (organization, preset)
    # Zeros are told, too: a rule that compares with a number that is not there never fires, and never clears.
    counted.plugins[key] += len(owner.steps)
    counted.blocked[key] += 0
    counted.failed[key] += 0
    states = found.world.states
    versions: set[str] = set()
    behind = False
    for step in owner.steps:
        admitted = states.get(step.key, UNKNOWN).admitted
        if admitted is not None and admitted.version is not None:
            versions.add(admitted.version)
        if step.state != "UpToDate":
            behind = True
            _count_step(counted, organization, preset, step, step.key in unrendered)
    counted.versions[key] = len(versions)
    rollout = owner.rollout
    if behind and rollout is not None and rollout.is_open:
        before = counted.waiting_since.get(organization)
        counted.waiting_since[organization] = min(before, rollout.created) if before is not None else rollout.created


def _count_step(counted: Numbers, organization: str, preset: str, step: Step, is_unrendered: bool = False) -> None:
    """A plugin is pending for one reason, the first that holds it or else its state, and waits for every gate."""
    gates = dict.fromkeys(reason.gate for reason in step.reasons)
    if is_unrendered and step.is_free:
        gates["render"] = None
    reason = next(iter(gates), step.state)
    counted.pending[organization, preset, reason] += 1
    for gate in gates:
        counted.waiting[organization, gate] += 1
    counted.blocked[organization, preset] += step.state == "Blocked"
    counted.failed[organization, preset] += step.state == "Failed"
