"""What Plugins tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from fleetform.app.answering.plugins import config_status
from fleetform.app.answering.waits import shown_state
from fleetform.app.listing.list_plugins import AppliedOverrides, reason_word, resolved
from fleetform.engine.plan.records import Reason, Removal, Step
from fleetform.model.kinds.status import (
    AddOnStatus,
    AppliedOverrideStatus,
    Condition,
    ConfigReference,
    HeldBy,
    PlaceInRollout,
    PluginStatus,
    State,
)
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.advice import Do
from fleetform.model.results.decisions import Gate, PluginDecision
from fleetform.model.state import PluginState
from fleetform.operator.advice import with_kubectl
from fleetform.operator.status.conditions import answered, as_status, condition, sentence, shortened
from fleetform.syntax.addresses import without_logins
from fleetform.syntax.times import time_text

_MOST_FILES = 10


class Told(NamedTuple):
    """All that a Plugin's status follows from. step is None where another owner keeps the plugin out; wanted is the
    hash that its owner wants of it, amiss what is not as it should be about what was delivered, and valid what is wrong
    with what people wrote into it. running is the version that has arrived."""

    plugin: PluginDecision
    step: Step | None
    state: PluginState
    wanted: str | None
    rollout: str | None
    rejected: frozenset[str]
    amiss: Sequence[Condition] = ()
    valid: Condition | None = None
    running: str | None = None

    def is_as(self, other: Told | None) -> bool:
        """Whether nothing differs. Decisions are compared by identity, what is stored by content."""
        return other is not None and self.plugin is other.plugin and self[1:] == other[1:]


def plugin_status(told: Told, overrides: AppliedOverrides) -> PluginStatus:
    plugin, step, state = told.plugin, told.step, told.state
    stands = _state(told)
    held = [*_unrendered(told), *_held(plugin, step.reasons if step is not None else None)]
    blocked = [each for each in held if each.gate in VALIDITY_GATES]
    waiting = [each for each in held if each.gate not in VALIDITY_GATES]
    drift = [*state.drift[:_MOST_FILES]]
    if len(state.drift) > _MOST_FILES:
        drift.append(f"and {len(state.drift) - _MOST_FILES:,} more")
    return PluginStatus(
        definition=plugin.target.definition,
        release_namespace=plugin.target.release_namespace,
        release_name=plugin.target.release_name,
        state=stands,
        running=told.running,
        wanted=plugin.wanted_version or plugin.target.wanted,
        target=told.wanted,
        admitted=state.admitted.input_hash if state.admitted is not None else None,
        last_healthy=state.last_healthy.input_hash if state.last_healthy is not None else None,
        since=time_text(state.attempt.since) if state.attempt is not None else None,
        waits_for=_gates(held),
        until=_until(step.reasons if step is not None else ()),
        rollout=PlaceInRollout(name=told.rollout, stage=_stage(step)) if told.rollout else None,
        rejected=sorted(told.rejected),
        blocked=blocked,
        waiting=waiting,
        failure=shortened(without_logins(state.failure)) or None,
        drift=drift,
        applied_overrides=[as_status(each, AppliedOverrideStatus) for each in overrides.of(plugin)],
        config_references=_configs(plugin, stands == "UpToDate" and state.is_healthy),
        conditions=[
            ready_told(told),
            _up_to_date(stands, held, state),
            answered(resolved(plugin)),
            *_moving(stands, held, state),
            *told.amiss,
            *([told.valid] if told.valid is not None else []),
        ],
    )


def add_on_status(told: Told) -> AddOnStatus:
    """The same of an add-on of Open Cluster Management, as far as it has room for it (R1-10)."""
    applied = _state(told) == "UpToDate" and told.state.is_healthy
    return AddOnStatus(config_references=_configs(told.plugin, applied))


def leaving_status(removal: Removal, step: Step | None, state: PluginState, running: str | None) -> PluginStatus:
    """Of a plugin that nobody wants any more, and that is still there."""
    admitted, installer = state.admitted, state.admitted.installer if state.admitted is not None else None
    held = [_reason(each, None) for each in step.reasons] if step is not None else []
    message = sentence(["it is no longer wanted", *(each.message for each in held[:1])])
    return PluginStatus(
        definition=admitted.definition if admitted is not None else None,
        release_namespace=installer.release_namespace if installer is not None else None,
        release_name=installer.release_name if installer is not None else None,
        state="Leaving",
        running=running,
        admitted=admitted.input_hash if admitted is not None else None,
        last_healthy=state.last_healthy.input_hash if state.last_healthy is not None else None,
        waits_for=_gates(held),
        until=_until(step.reasons if step is not None else ()),
        # By that name deletions are approved. Where they wait for nobody there is no rollout.
        rollout=PlaceInRollout(name=removal.rollout) if any(each.gate == "deletes" for each in held) else None,
        waiting=held,
        conditions=[condition("UpToDate", False, reason_word(held[0].gate) if held else "Leaving", message)],
    )


def without_effect(valid: Condition) -> PluginStatus:
    """Of one that a person wrote and that comes to nothing, such as one beside a preset that is gone."""
    why = valid.message if valid.reason != "Valid" else "no preset makes a plugin of it"
    return PluginStatus(state="NoEffect", conditions=[condition("Ready", False, "NotInstalled", why), valid])


def _state(told: Told) -> State:
    if told.step is None:
        return "Blocked"
    # A plan is made before what it starts is stored.
    if told.step.is_start and told.state.in_flight:
        return "InFlight"
    return shown_state(told.step)


def _stage(step: Step | None) -> str | None:
    return step.stage or None if step is not None else None


def _held(plugin: PluginDecision, reasons: Sequence[Reason] | None) -> list[HeldBy]:
    if reasons is None:
        return [_gate(each, plugin) for each in plugin.blocked_by]
    options: dict[tuple[str, Do], str] = {(each.gate, each.do): each.option for each in plugin.blocked_by}
    return [_reason(each, options.get((each.gate, each.do))) for each in reasons]


def _unrendered(told: Told) -> Iterator[HeldBy]:
    """That what its plan starts is not made yet, as something to render it is not there for now."""
    message = next((each.message for each in told.amiss if each.type == "NotRendered"), None)
    if message is not None and told.step is not None and told.step.is_free:
        yield HeldBy(gate="render", message=message)


def _gate(gate: Gate, plugin: PluginDecision) -> HeldBy:
    reason = Reason(gate.gate, gate.message, gate.do, gate.until, gate.ref or plugin.target.owner.ref)
    return _reason(reason, gate.option)


def _reason(reason: Reason, option: str | None) -> HeldBy:
    return HeldBy(
        gate=reason.gate,
        option=option or None,
        message=shortened(without_logins(reason.message)),
        until=time_text(reason.until) if reason.until is not None else None,
        object=str(reason.ref) if reason.ref is not None else None,
        do=shortened(without_logins(with_kubectl(reason.do))) or None,
    )


def _gates(held: Iterable[HeldBy]) -> str | None:
    return ", ".join(dict.fromkeys(each.gate for each in held)) or None


def _until(reasons: Iterable[Reason]) -> str | None:
    """When the last gate opens, if time opens all of them."""
    times: list[datetime] = []
    for each in reasons:
        if each.until is None:
            return None
        times.append(each.until)
    return time_text(max(times)) if times else None


def _configs(plugin: PluginDecision, applied: bool) -> list[ConfigReference]:
    found = [as_status(config_status(each), ConfigReference) for each in plugin.configs.effective]
    return [structs.replace(each, last_applied_config=each.desired_config) for each in found] if applied else found


# ---- Conditions


def ready_told(told: Told) -> Condition:
    """Whether what was admitted is healthy: an upgrade that waits takes nothing away from that."""
    state = told.state
    admitted, attempt = state.admitted, state.attempt
    if admitted is None:
        return condition("Ready", False, "NotInstalled", "nothing was admitted yet")
    if told.step is not None and told.step.state == "Unreachable":
        return condition("Ready", None, "Unreachable", _first(told.step.reasons))
    missing = next((each for each in told.amiss if each.type == "NotDelivered"), None)
    if missing is not None:
        return condition("Ready", False, "NotDelivered", missing.message)
    if attempt is not None and attempt.phase == "Failed":
        why = "took too long" if attempt.timed_out else "failed"
        return condition("Ready", False, "Failed", sentence([f"{admitted.version} {why}", state.failure]))
    if attempt is not None and attempt.phase == "SetAside":
        return condition("Ready", None, "Unreachable", "the cluster does not answer")
    if state.in_flight:
        return condition("Ready", False, "InFlight", f"{admitted.version} is being brought there")
    if state.is_healthy:
        return condition("Ready", True, "Healthy", f"{admitted.version} is healthy")
    return condition("Ready", None, "NotObserved", f"nobody has seen yet how {admitted.version} is doing")


def _up_to_date(stands: State, held: Sequence[HeldBy], state: PluginState) -> Condition:
    if stands == "UpToDate":
        return condition("UpToDate", True, "UpToDate", "it has what is wanted")
    if stands == "InFlight":
        back = state.attempt is not None and state.attempt.back
        return condition("UpToDate", False, "InFlight", "it goes back to what was healthy" if back else "it is changed")
    if not held:
        return condition("UpToDate", False, stands, state.failure)
    first = held[0]
    do = f" ({first.do})" if first.do else ""
    also = list(dict.fromkeys(each.gate for each in held[1:] if each.gate != first.gate))
    told = sentence([f"{first.message}{do}", f"also held by {', '.join(also)}" if also else ""])
    return condition("UpToDate", False, reason_word(first.gate), told)


def _moving(stands: State, held: Sequence[HeldBy], state: PluginState) -> Iterator[Condition]:
    """The two conditions by which other tools tell work from standstill; they are there only while they hold."""
    if stands == "InFlight":
        yield condition("Reconciling", True, "InFlight", "it is changed")
    elif stands == "Failed" and held and held[0].gate == "wait":
        # Another try is due: nobody has to do anything yet.
        yield condition("Reconciling", True, "Retry", held[0].message)
    elif stands in ("Failed", "Blocked"):
        message = held[0].message if held else state.failure
        yield condition("Stalled", True, reason_word(held[0].gate) if held else stands, message)


def _first(reasons: Sequence[Reason]) -> str:
    return reasons[0].message if reasons else ""
