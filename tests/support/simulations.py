"""Simulations for pictures: worlds played by the planner, as answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

from fleetform.app.answering.simulated import Side, simulated
from fleetform.engine.plan.rollouts import Policy
from fleetform.engine.plan.scenario import Scenario
from fleetform.engine.plan.simulate import simulate
from fleetform.engine.plan.stages import ApprovalRule
from fleetform.engine.plan.windows.calendar import Calendar
from fleetform.engine.plan.windows.openings import Window
from fleetform.model.answers.simulation import Simulation
from support.plans import DAY, HOUR, NOON, candidate, stages, world_of

SVG = "{http://www.w3.org/2000/svg}"
NIGHTS = Window("nights", "0 22 * * *", timedelta(hours=4))
FREEZE = Window("xmas", begin=NOON + 2 * DAY, end=NOON + 4 * DAY)


def played(scenario: Scenario | None = None, policy: Policy | None = None, **sizes: int) -> Simulation:
    """Stages of so many clusters each: the last one has windows, a freeze and an approval."""
    sizes = sizes or {"qa": 2, "prod": 4, "gold": 3}
    names = list(sizes)
    rules: dict[str, dict[str, Any]] = {name: {"soak": HOUR, "max_concurrency": 2} for name in names}
    rules[names[-1]]["approvals"] = ApprovalRule(2)
    calendars = {name: Calendar() for name in names} | {names[-1]: Calendar((NIGHTS,), (), (FREEZE,))}
    candidates = [
        candidate(f"{name}-{number}", name, calendar=calendars[name])
        for name, size in sizes.items()
        for number in range(size)
    ]
    world = world_of(candidates, policy or Policy("standard", stages(**rules)))
    found = simulate(world, NOON, scenario)
    return simulated(found, world, Side("git:main", "."), [("each start takes", "10m")])


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def of_class(root: ElementTree.Element, name: str, class_: str) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}{name}") if class_ in (each.get("class") or "").split()]


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
