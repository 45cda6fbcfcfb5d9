"""Every law can be broken: with a small bug put in, the simulated world notices, and by that law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan import plan as planning
from fleetform.engine.plan import starts
from fleetform.engine.plan.gates import approval, budget, chain, soak, stage
from fleetform.loop import accepting, control, delivering, intake
from fleetform.loop.delivering import Deliveries
from fleetform.ports.sources import SourceFiles
from fleetform.ports.store import Event
from simulation.faults import Fault
from simulation.laws import LawBrokenError
from simulation.scripts import STORY, Act, approve, health, release, wait
from simulation.world import World

Patch = pytest.MonkeyPatch
# Approved before the soak is over; while the first stage is not healthy; and a failure with somebody left to start.
EARLY = (wait(0.2), approve, wait(3))
UNHEALTHY = (health("eu-2", "1.0.0", "Unknown"), wait(0.1), approve, wait(0.2))
FAILS_FIRST = (
    *(wait(3), approve, wait(12)),
    *(health("eu-1", "1.1.0", "Failed"), release("1.1.0"), wait(3), approve, wait(12)),
)


def _no_slots(patch: Patch) -> None:
    patch.setattr(starts, "concurrency", lambda here: None)


def _no_budget(patch: Patch) -> None:
    _without_gates(patch, "MEMBER_GATES", budget.budget)


def _without_gates(patch: Patch, gates: str, *left_out: object) -> None:
    patch.setattr(chain, gates, tuple(each for each in getattr(chain, gates) if each not in left_out))


def _no_window(patch: Patch) -> None:
    patch.setattr(chain, "window", lambda *_: None)


def _no_stage(patch: Patch) -> None:
    _without_gates(patch, "STAGE_GATES", stage.stage, soak.soak)


def _no_soak(patch: Patch) -> None:
    _without_gates(patch, "STAGE_GATES", soak.soak)


def _no_approval(patch: Patch) -> None:
    _without_gates(patch, "STAGE_GATES", approval.approval)


def _other_bytes(patch: Patch) -> None:
    found = Deliveries._parcel

    def parcel(self: Deliveries, image: Any, key: Any) -> Any:
        made: Any = found(self, image, key)
        return structs.replace(made, files={**made.files, "more.yaml": b"kind: ConfigMap\n"})

    patch.setattr(Deliveries, "_parcel", parcel)


def _what_is_not_admitted(patch: Patch) -> None:
    found = Deliveries._parcel

    def parcel(self: Deliveries, image: Any, key: Any) -> Any:
        made: Any = found(self, image, key)
        newest = max(image.states.items(), key=lambda each: str(each[1].version))
        return structs.replace(made, input_hash=newest[0])

    patch.setattr(Deliveries, "_parcel", parcel)


def _taken_as_whole(patch: Patch) -> None:
    """What could not be read is taken for gone."""
    found = accepting.accept

    def accept(reading: SourceFiles, *others: Any) -> Any:
        return found(reading._replace(problems=()), *others)

    patch.setattr(intake, "accept", accept)


def _empty_deletes(patch: Patch) -> None:
    """An empty source removes everything that was delivered."""
    found = delivering.gone

    def gone(image: Any, removals: Any, steps: Any) -> Any:
        every = dict.fromkeys(image.deliveries, "")
        return every if _EMPTY[0] else found(image, removals, steps)

    def accept(reading: SourceFiles, *others: Any) -> Any:
        _EMPTY[0] = not reading.files
        return accepting.accept(reading, *others)

    _EMPTY[0] = False
    patch.setattr(intake, "accept", accept)
    patch.setattr(control, "gone", gone)


_EMPTY = [False]


def _never_at_rest(patch: Patch) -> None:
    """Every pass has something to tell."""
    found = delivering.let_go

    def let_go(image: Any, removals: Any, clusters: Any, now: Any, extras: Any) -> Any:
        extras.events.append(Event(now, "acme", "eu-1", "web-eu-1", "Looked"))
        return found(image, removals, clusters, now, extras)

    patch.setattr(control, "let_go", let_go)


@pytest.mark.parametrize(
    ("bug", "law", "script", "faults"),
    [
        (_no_slots, "concurrency", STORY, []),
        (_no_budget, "budget", FAILS_FIRST, []),
        (_no_window, "window", STORY, []),
        (_no_stage, "stage", UNHEALTHY, []),
        (_no_soak, "soak", EARLY, []),
        (_no_approval, "approval", STORY, []),
        (_other_bytes, "admitted", STORY, []),
        (_what_is_not_admitted, "admitted", STORY, []),
        (_taken_as_whole, "removal", STORY, [Fault("pass", 9, "half-read")]),
        (_empty_deletes, "removal", STORY, [Fault("pass", 9, "empty")]),
        (_never_at_rest, "rest", STORY, []),
    ],
)
def test_a_seeded_bug_breaks_its_law(
    monkeypatch: Patch, bug: Callable[[Patch], None], law: str, script: tuple[Act, ...], faults: list[Fault]
) -> None:
    World(script, faults).play()
    # The planner counts again by itself; what it would not see is for these laws.
    monkeypatch.setattr(planning, "check_plan", lambda found: None)
    bug(monkeypatch)
    with pytest.raises(LawBrokenError) as found:
        World(script, faults).play()
    assert found.value.law == law
