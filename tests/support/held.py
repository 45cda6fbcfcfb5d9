"""One cluster, x, that would start now, and every gate that can hold it: alone or with others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import structs

from fleetform.engine.plan.records import Change, World
from fleetform.engine.plan.rollouts import Policy, Rollout, StageTimes
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.objects import Ref
from fleetform.model.reasons import VALIDITY_GATES
from fleetform.model.results.decisions import Gate
from fleetform.model.state import Attempt, Enrolment, PluginState
from support.plans import (
    CHANGE,
    DAY,
    HOUR,
    MINUTE,
    NEW,
    NEXT_CHANGE,
    NO_RETRIES,
    NOON,
    OLD,
    OWNER,
    Hand,
    candidate,
    key,
    stages,
)

ROLLOUT = "certs-aaaaaaaa"
LATER = NOON + 3 * HOUR


class Held:
    """Stage qa is done, x is next in stage prod beside y, which is done too. Gates are put on before it is built."""

    def __init__(self) -> None:
        self.x: dict[str, Any] = {"gates": ()}
        self.rules: dict[str, dict[str, Any]] = {"qa": {}, "prod": {}}
        self.change: dict[str, Any] = {}
        self.calendar: dict[str, tuple[Window, ...]] = {}
        self.qa = self.done_at(NOON - 2 * HOUR)
        self.y = self.done_at(NOON - 2 * HOUR)
        self.qa_done: datetime | None = NOON - HOUR
        self.others: list[tuple[Change, dict[tuple[str, str, str], PluginState]]] = []
        self.mine: dict[str, Any] = {}

    def done_at(self, at: datetime) -> PluginState:
        return PluginState(NEW, NEW, attempt=Attempt("h1:new", ROLLOUT, at, at, "Healthy"))

    def flying(self, **fields: Any) -> PluginState:
        return PluginState(NEW, OLD, attempt=Attempt("h1:new", ROLLOUT, NOON - MINUTE, NOON - MINUTE, **fields))

    def hand(self) -> Hand:
        policy = Policy("standard", stages(**self.rules))
        began = NOON - 4 * HOUR
        prod = StageTimes("prod", 2, None if self.y.attempt is None else began)
        times = (StageTimes("qa", 1, began, self.qa_done), prod)
        rollout = Rollout(ROLLOUT, OWNER, CHANGE, policy, began, times, "Progressing", began)
        places = {"q": ("qa", self.qa), "x": ("prod", PluginState(OLD, OLD, **self.mine)), "y": ("prod", self.y)}
        states = {
            key(name): structs.replace(progress, enrolment=Enrolment(ROLLOUT, stage, NEW, OLD))
            for name, (stage, progress) in places.items()
        }
        calendar = Calendar(**self.calendar)
        candidates = (candidate("q", "qa"), candidate("x", "prod", calendar=calendar, **self.x), candidate("y", "prod"))
        fields = {"owner": OWNER, "change_id": CHANGE, "policy": policy, "rollout": rollout, **self.change}
        changes = [Change(candidates=candidates, **fields)]
        for change, more in self.others:
            changes.append(change)
            states |= more
        return Hand(World(tuple(changes), states, limits={"acme": NO_RETRIES}))


def _stage(held: Held) -> None:
    held.qa, held.qa_done = held.flying(), None


def _soak(held: Held) -> None:
    held.qa, held.qa_done = held.done_at(NOON - HOUR), None
    held.rules["qa"]["soak"] = LATER - (NOON - HOUR)


def _wait(held: Held) -> None:
    held.rules["prod"]["wait"] = LATER - (NOON - HOUR)
    held.y = PluginState(OLD, OLD)


def _in_flight(held: Held) -> None:
    other = candidate("x", plugin="dns")
    attempt = Attempt("h1:new", "", NOON - MINUTE, NOON - MINUTE)
    owner = Ref("PluginPreset", "acme", "dns")
    held.others.append((Change(owner, "c1:other", (other,)), {other.key: PluginState(NEW, OLD, attempt=attempt)}))


def _unreachable(held: Held) -> None:
    held.x["silent_since"] = NOON - 5 * MINUTE


def _queue(held: Held) -> None:
    held.y = held.flying()
    held.change["change_id"] = NEXT_CHANGE
    held.mine["attempt"] = Attempt("h1:new", ROLLOUT, NOON - HOUR, NOON - HOUR, "Healthy")
    held.x["wanted"] = structs.replace(NEW, input_hash="h1:newer")


def _validity(gate: str) -> Callable[[Held], None]:
    def put(held: Held) -> None:
        held.x["gates"] = (*held.x["gates"], Gate(gate, f"{gate} stands in the way", "mend it"))

    return put


def _put(where: str, name: str, value: object) -> Callable[[Held], None]:
    def put(held: Held) -> None:
        {"x": held.x, "prod": held.rules["prod"], "change": held.change, "calendar": held.calendar}[where][name] = value

    return put


def _budget(held: Held) -> None:
    held.y = held.flying(phase="Failed", failures=1)


def _concurrency(held: Held) -> None:
    held.y = held.flying()
    held.rules["prod"]["max_concurrency"] = 1


# Gates that can hold at the same time, each put on by a function.
TOGETHER: dict[str, Callable[[Held], None]] = {
    "suspended": _put("change", "suspended", True),
    "budget": _budget,
    "stage": _stage,
    "soak": _soak,
    "wait": _wait,
    "approval": _put("prod", "approvals", ApprovalRule(1)),
    "veto": _put("x", "hold", "database migration"),
    "unreachable": _unreachable,
    "in-flight": _in_flight,
    "dependency": _put("x", "depends_on", ("crds",)),
    "notice": _put("x", "not_before", LATER),
    "freeze": _put("calendar", "soft", (Window("holidays", begin=NOON - DAY, end=LATER),)),
    "window": _put("calendar", "allow", (Window("nights", "0 15 * * *", timedelta(hours=4)),)),
    "downstream": _validity("downstream"),
    **{gate: _validity(gate) for gate in sorted(VALIDITY_GATES - {"rejected", "render-failed"})},
}
# What rules each other out: one stage cannot be both unfinished and soaking, a wait begins when the stage before is
# done, a stage that waits has not started, and its budget is then not spent.
APART = [{"stage", "soak"}, {"stage", "wait"}, {"soak", "wait"}, {"budget", "wait"}]
ALONE: dict[str, Callable[[Held], None]] = {**TOGETHER, "concurrency": _concurrency, "queue": _queue}


def held_by(*gates: str) -> Hand:
    held = Held()
    for gate in gates:
        ALONE[gate](held)
    return held.hand()
