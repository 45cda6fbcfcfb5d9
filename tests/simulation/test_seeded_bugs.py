"""Every law can be broken: with a small bug put in, the simulated world notices, and by that law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from fleetform.app.rendering.plugin_renders import PluginRender, render_plugins
from fleetform.engine.plan import members, starts
from fleetform.engine.plan import plan as planning
from fleetform.engine.plan.gates import approval, budget, chain, soak, stage
from fleetform.engine.plan.gates.concurrency import concurrency
from fleetform.engine.plan.stages import Standing
from fleetform.engine.plan.view import StageView
from fleetform.engine.world.changes import OwnerChanges
from fleetform.loop import accepting, admitting, control, intake, leaving
from fleetform.loop.delivering import Deliveries
from fleetform.ports.sources import SourceFiles
from fleetform.ports.store import Event
from simulation.faults import Fault
from simulation.laws import LAWS, LawBrokenError
from simulation.scripts import (
    STORY,
    Act,
    answers,
    approve,
    heal,
    health,
    join,
    leave,
    release,
    replace_it,
    silence,
    wait,
    went_back,
)
from simulation.world import World

Patch = pytest.MonkeyPatch
# Approved before the soak is over; while the first stage is not healthy; and a failure with somebody left to start.
EARLY = (wait(0.2), approve, wait(3))
UNHEALTHY = (health("eu-2", "1.0.0", "Unknown"), wait(0.1), approve, wait(0.2))
INSTALLED = (wait(3), approve, wait(12))
FAILS_FIRST = (*INSTALLED, health("eu-1", "1.1.0", "Failed"), release("1.1.0"), wait(3), approve, wait(12))
# Who would be next stands failed, too, and with something else.
FAILS_BESIDE = (*INSTALLED, health("us-1", "1.0.0", "Failed"), *FAILS_FIRST[3:])
# What did not come to a cluster is wanted there when dev has failed on its way back to it.
GOES_ON = (
    *(*INSTALLED, silence("eu-1"), release("1.1.0"), wait(1.5), approve, wait(12)),
    *(health("eu-2", "1.2.0", "Failed"), health("eu-2", "1.1.0", "Failed"), release("1.2.0"), wait(1.5)),
    *(approve, answers("eu-1"), wait(3)),
)
# A change that failed in gold comes again, for its fix failed in dev; a cluster that joins; dev's last one that leaves.
AGAIN = (
    *(*INSTALLED, health("eu-1", "1.1.0", "Failed"), health("eu-2", "1.2.0", "Failed"), release("1.1.0")),
    *(wait(1.5), approve, wait(0.05), release("1.2.0"), wait(0.01), replace_it, wait(1), approve, wait(4)),
)
# The same while that is healthy in dev, to which it goes back; then it fails in gold.
COMES_BACK = (
    *(*INSTALLED, health("eu-1", "1.1.0", "Failed"), health("eu-2", "1.2.0", "Failed"), release("1.1.0"), wait(0.5)),
    *(release("1.2.0"), wait(0.01), replace_it, wait(3), approve, wait(12), heal, wait(3), went_back),
)
JOINS = (*INSTALLED, release("1.1.0"), wait(0.2), join("us-2"), wait(0.2))
# One that is healthy with a change falls silent, and answers again when that has gone back.
LEFT_BEHIND = (
    *(*INSTALLED, health("us-1", "1.1.0", "Failed"), release("1.1.0", replicas=5), wait(1.5), silence("eu-2"), approve),
    *(wait(12), heal, wait(3), went_back),
)
LEAVES = (*INSTALLED, release("1.1.0"), wait(0.2), approve, leave("eu-2"), wait(6))


def _no_slots(patch: Patch) -> None:
    patch.setattr(starts, "concurrency", lambda here: None)


def _no_slots_at_first(patch: Patch) -> None:
    """First installs take none."""
    patch.setattr(starts, "concurrency", lambda here: concurrency(here) if here.tally.of(Standing.DONE) > 1 else None)


def _forgets_failures(patch: Patch) -> None:
    """Of a rollout that was replaced."""
    patch.setattr(members, "_takes_part", lambda rollout, progress, again: progress.in_flight)


def _begins_anew(patch: Patch) -> None:
    """What goes on where it had not come to is taken for something that was nowhere before."""
    patch.setattr(OwnerChanges, "_continues", lambda *_: ())


def _left_is_done(patch: Patch) -> None:
    patch.setattr(StageView, "was_left", False)


def _joins_with_what_is_new(patch: Patch) -> None:
    found = starts._start_meanwhile
    patch.setattr(starts, "_start_meanwhile", lambda view, member, baseline: found(view, member, member.target))


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
    found = leaving.gone

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


def _unrendered_is_empty(patch: Patch) -> None:
    """Where the tool that renders is missing nothing comes out, and that is taken for all there is."""

    def rendered(*asked: Any, **more: Any) -> Any:
        results = render_plugins(*asked, **more)
        return [PluginRender(each.plugin, key="r1:") if each.unavailable else each for each in results]

    patch.setattr(admitting, "render_plugins", rendered)


class _Deaf:
    """Delivers, and does not hear what failed."""

    def __init__(self, deliverer: Any) -> None:
        self._deliverer = deliverer

    def deliver(self, *asked: Any) -> Any:
        self._deliverer.deliver(*asked)
        return {}

    def drift(self, *asked: Any) -> Any:
        return self._deliverer.drift(*asked)


def _deaf(patch: Patch) -> None:
    """What was refused is taken for delivered, and nobody tries again."""
    found = Deliveries.__init__

    def init(self: Deliveries, deliverer: Any, *others: Any) -> None:
        found(self, lambda destination: _Deaf(deliverer(destination)), *others)

    patch.setattr(Deliveries, "__init__", init)


def _never_at_rest(patch: Patch) -> None:
    """Every pass has something to tell."""
    found = leaving.let_go

    def let_go(image: Any, removals: Any, clusters: Any, now: Any, extras: Any) -> Any:
        extras.events.append(Event(now, "acme", "eu-1", "web-eu-1", "Looked"))
        return found(image, removals, clusters, now, extras)

    patch.setattr(control, "let_go", let_go)


def _leaves_behind(patch: Patch) -> None:
    """What did not answer while its rollout went back is left to whatever is wanted next."""
    patch.setattr(starts, "way_back_of_left_behind", lambda view, members: [])


def _forgets_what_was_before(patch: Patch) -> None:
    """What a change had brought before another one took its place there."""
    patch.setattr(members, "_kept", lambda place: None)


@pytest.mark.parametrize(
    ("bug", "law", "script", "faults"),
    [
        (_no_slots, "concurrency", STORY, []),
        (_no_slots_at_first, "concurrency", STORY, []),
        (_no_budget, "budget", FAILS_FIRST, []),
        (_no_budget, "budget", FAILS_BESIDE, []),
        (_forgets_failures, "budget", AGAIN, []),
        (_no_window, "window", STORY, []),
        (_no_stage, "stage", UNHEALTHY, []),
        (_left_is_done, "stage", LEAVES, []),
        (_begins_anew, "stage", GOES_ON, []),
        (_no_soak, "soak", EARLY, []),
        (_no_approval, "approval", STORY, []),
        (_joins_with_what_is_new, "joining", JOINS, []),
        (_other_bytes, "admitted", STORY, []),
        (_what_is_not_admitted, "admitted", STORY, []),
        (_taken_as_whole, "removal", STORY, [Fault("pass", 9, "half-read")]),
        (_empty_deletes, "removal", STORY, [Fault("pass", 9, "empty")]),
        (_unrendered_is_empty, "removal", STORY, [Fault("pass", 10, "no-renders")]),
        (_leaves_behind, "back", LEFT_BEHIND, []),
        (_forgets_what_was_before, "back", COMES_BACK, []),
        (_never_at_rest, "rest", STORY, []),
        (_deaf, "end", STORY, [Fault("delivery", 5, "refused")]),
    ],
)
def test_a_seeded_bug_breaks_its_law(
    monkeypatch: Patch, bug: Callable[[Patch], None], law: str, script: tuple[Act, ...], faults: list[Fault]
) -> None:
    undisturbed = World(script).play()
    World(script, faults).play().must_end_as(undisturbed)
    # The planner counts again by itself; what it would not see is for these laws.
    monkeypatch.setattr(planning, "check_plan", lambda found: None)
    bug(monkeypatch)
    with pytest.raises(LawBrokenError) as found:
        World(script, faults).play().must_end_as(undisturbed)
    assert found.value.law == law


def test_every_law_has_a_seeded_bug() -> None:
    [mark] = test_a_seeded_bug_breaks_its_law.pytestmark  # type: ignore[attr-defined]
    assert {case[1] for case in mark.args[1]} == set(LAWS)
