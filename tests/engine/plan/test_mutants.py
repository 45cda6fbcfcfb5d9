"""Every law can fail: for each, a planner with one small mistake, and the player that finds it.

The plan's check of itself is taken out first, so that it is the laws that find the mistake; another test shows which
of the mistakes that check finds by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs

from fleetform.engine.plan import current, failure, members, owner, plan, progress, starts
from fleetform.engine.plan.checks import PlanError
from fleetform.engine.plan.gates import approval, chain
from fleetform.engine.plan.progress import Patience
from fleetform.engine.plan.records import Candidate, Reason
from fleetform.engine.plan.stages import StageRule, Standing, Tally
from fleetform.engine.plan.view import View
from fleetform.model.state import Attempt, Deployed, PluginState
from support.chance import play_by_chance
from support.held import held_by
from support.laws import LawBrokenError
from support.plans import HOUR, NOON

Mutate = Callable[[pytest.MonkeyPatch], None]


def without(name: str, gate: str) -> Mutate:
    """A chain that has lost a gate."""

    def mutate(patch: pytest.MonkeyPatch) -> None:
        gates = getattr(chain, name)
        assert any(each.__name__ == gate for each in gates)
        patch.setattr(chain, name, tuple(each for each in gates if each.__name__ != gate))

    return mutate


def never(module: object, name: str) -> Mutate:
    """A gate that never holds."""
    return lambda patch: patch.setattr(module, name, lambda *_args, **_fields: None)


def _any_hash(patch: pytest.MonkeyPatch) -> None:
    """Done is whatever was healthy last, by any hash."""
    right = members.stand

    def stand(
        view: View, candidate: Candidate, known: PluginState, target: Deployed, rule: StageRule | None
    ) -> tuple[Standing, datetime | None]:
        attempt = known.attempt
        if attempt is not None and attempt.phase == "Healthy":
            target = structs.replace(target, input_hash=attempt.input_hash)
        return right(view, candidate, known, target, rule)

    patch.setattr(members, "stand", stand)


def _no_soak(patch: pytest.MonkeyPatch) -> None:
    right = members.stand

    def stand(
        view: View, candidate: Candidate, known: PluginState, target: Deployed, rule: StageRule | None
    ) -> tuple[Standing, datetime | None]:
        return right(view, candidate, known, target, structs.replace(rule, soak=timedelta(0)) if rule else None)

    patch.setattr(members, "stand", stand)


def _unknown_is_healthy(patch: pytest.MonkeyPatch) -> None:
    right = progress.observed
    patch.setattr(
        progress,
        "observed",
        lambda known, hash_, health, at: right(known, hash_, health.replace("Unknown", "Healthy"), at),
    )


def _stale_is_fresh(patch: pytest.MonkeyPatch) -> None:
    """An observation counts whichever hash it is about."""
    right = progress.observed

    def observed(known: PluginState, _hash: str, health: Any, at: datetime) -> PluginState:
        return right(known, known.attempt.input_hash if known.attempt else "", health, at)

    patch.setattr(progress, "observed", observed)


def _membership_follows_labels(patch: pytest.MonkeyPatch) -> None:
    right = members.place

    def place(view: View, found: list[members.Member]) -> None:
        for each in found:
            known = each.progress.enrolment
            if known is not None:
                other = structs.replace(known, stage=each.candidate.stage)
                each.progress = structs.replace(each.progress, enrolment=other)
        right(view, found)

    patch.setattr(owner, "place", place)


def _targets_follow_wishes(patch: pytest.MonkeyPatch) -> None:
    """A rollout that runs takes up whatever is wanted by now."""
    right = members.place

    def place(view: View, found: list[members.Member]) -> None:
        for each in found:
            known = each.progress.enrolment
            if known is not None:
                other = structs.replace(known, target=each.candidate.wanted)
                each.progress = structs.replace(each.progress, enrolment=other)
        right(view, found)

    patch.setattr(owner, "place", place)


def _always_replaces(patch: pytest.MonkeyPatch) -> None:
    right = current.current_rollout
    patch.setattr(
        owner, "current_rollout", lambda change, pairs, urgent, _replace, now: right(change, pairs, urgent, True, now)
    )


def _approvals_of_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(approval, "people", lambda approvals, *_bound: frozenset(each.user for each in approvals))


def _looks_late(patch: pytest.MonkeyPatch) -> None:
    right = plan.next_look_of

    def next_look(*args: Any) -> datetime | None:
        found = right(*args)
        return found + 12 * HOUR if found is not None else None

    patch.setattr(plan, "next_look_of", next_look)


def _retries_for_ever(patch: pytest.MonkeyPatch) -> None:
    def retry_at(_self: Patience, attempt: Attempt) -> datetime:
        return attempt.since

    patch.setattr(Patience, "retry_at", retry_at)


def _rolls_back_to_nothing_known(patch: pytest.MonkeyPatch) -> None:
    right = progress.rolled_back

    def rolled_back(known: PluginState, rollout: str, now: datetime) -> PluginState:
        after = right(known, rollout, now)
        return structs.replace(after, admitted=Deployed("0.9.0", "certs", "h1:unheard-of"))

    patch.setattr(failure, "rolled_back", rolled_back)


def _stages_of_the_lost_are_done(patch: pytest.MonkeyPatch) -> None:
    """What waits does not count, so a stage is done before anything was started in it."""

    def is_finished(self: Tally, _forgives: bool, _budget: int) -> bool:
        return self.of(Standing.APPLYING, Standing.SOAKING) == 0

    patch.setattr(Tally, "is_finished", is_finished)


def _forgets_failures(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Tally, "failed", property(lambda _self: 0))


def _no_reasons(*_args: object) -> tuple[Reason, ...]:
    return ()


# By law: a mistake, and a fleet on which it shows.
MUTANTS: dict[str, tuple[Mutate, dict[str, Any]]] = {
    "stage order: the gate is lost": (without("STAGE_GATES", "stage"), {"stages": 3, "approvals": 0}),
    "stage order: what waits does not count": (_stages_of_the_lost_are_done, {"stages": 3, "clusters": 5}),
    "stage order: membership follows labels": (_membership_follows_labels, {"stages": 3, "approvals": 0}),
    "soak: not waited for": (_no_soak, {"soak": HOUR, "stages": 2, "approvals": 0, "windowed": False}),
    "done: by any hash": (_any_hash, {"stages": 2, "approvals": 0}),
    "done: Unknown is healthy": (_unknown_is_healthy, {"stages": 2, "approvals": 0, "windowed": False}),
    "done: an observation of another hash counts": (_stale_is_fresh, {"stages": 2, "approvals": 0, "windowed": False}),
    "concurrency: no limit": (never(starts, "concurrency"), {"concurrency": 1, "clusters": 5}),
    "budget: the gate is lost": (
        without("MEMBER_GATES", "budget"),
        {"budget": 0, "on_failure": "Halt", "concurrency": 1},
    ),
    "budget: failures are forgotten": (_forgets_failures, {"budget": 0, "on_failure": "Halt", "concurrency": 1}),
    "budget: retries without end": (_retries_for_ever, {"retries": 1, "stages": 1}),
    "window: never closed": (never(chain, "window"), {"windowed": True}),
    "freeze: never holds": (never(chain, "freeze"), {"frozen": True, "windowed": False}),
    "veto: the gate is lost": (without("CLUSTER_GATES", "veto"), {}),
    "unreachable: the gate is lost": (without("CLUSTER_GATES", "unreachable"), {}),
    "approval: the gate is lost": (without("STAGE_GATES", "approval"), {"approvals": 2, "stages": 1}),
    "approval: of anything by anyone": (_approvals_of_anything, {"approvals": 2, "stages": 1}),
    "a rollout finishes on its snapshot: targets follow": (_targets_follow_wishes, {"stages": 2, "concurrency": 1}),
    "a rollout finishes on its snapshot: replaced": (_always_replaces, {"stages": 1, "concurrency": 1}),
    "next look: late": (_looks_late, {"windowed": True}),
    "rollback: to what was never healthy": (_rolls_back_to_nothing_known, {"on_failure": "Rollback", "retries": 0}),
}
FOUND_BY_ITSELF = {
    "concurrency: no limit",
    "stage order: the gate is lost",
    "budget: the gate is lost",
}


def _play(fleet: dict[str, Any], tries: int = 150) -> None:
    for seed in range(tries):
        play_by_chance(seed, moves=50, **fleet)


@pytest.mark.parametrize("law", sorted(MUTANTS))
def test_a_mistake_is_found_by_the_laws(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, fleet = MUTANTS[law]
    mutate(monkeypatch)
    monkeypatch.setattr(plan, "check_plan", _no_reasons)
    with pytest.raises(LawBrokenError):
        _play(fleet)


@pytest.mark.parametrize("law", sorted(FOUND_BY_ITSELF))
def test_the_plan_itself_finds_that_it_starts_too_much(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate, fleet = MUTANTS[law]
    mutate(monkeypatch)
    with pytest.raises(PlanError):
        _play(fleet)


@pytest.mark.parametrize("law", sorted(MUTANTS))
def test_without_a_mistake_the_same_games_break_no_law(law: str) -> None:
    _, fleet = MUTANTS[law]
    _play(fleet, tries=6)


def test_the_plan_itself_finds_two_changes_on_one_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    without("CLUSTER_GATES", "in_flight")(monkeypatch)
    hand = held_by("in-flight")
    with pytest.raises(PlanError, match="in flight"):
        hand.look()


def test_the_plan_itself_finds_anext_look_of_that_is_not_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "next_look_of", lambda *_args: NOON)
    with pytest.raises(PlanError, match="next look"):
        held_by("window").look()
