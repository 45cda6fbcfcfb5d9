"""Whatever happens between any two writes, the end is the same and no law is broken on the way."""

from __future__ import annotations

from random import Random

import pytest

from simulation.exploring import explore
from simulation.faults import KINDS, OLDER_FILES, Fault
from simulation.fleet import FleetText
from simulation.scripts import SHORT, STORY, release, wait
from simulation.world import World

PLAIN = FleetText(guarded=False)


@pytest.fixture(scope="module")
def undisturbed() -> World:
    world = World(SHORT, fleet=PLAIN).play()
    assert world.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0"}
    return world


def single_faults(world: World) -> list[Fault]:
    moments = [(where, n) for where, count in world.moments.counts.items() for n in range(1, count + 1)]
    return [Fault(*moment, kind) for moment in moments for kind in KINDS[moment[0]]]


def must_end_the_same(undisturbed: World, *faults: Fault) -> None:
    """In a process that goes on unless a fault ends it."""
    try:
        World(SHORT, faults, PLAIN).play().must_end_as(undisturbed)
    except AssertionError as error:
        error.add_note(str(faults))
        raise


def test_the_story_reaches_what_it_is_about(undisturbed: World) -> None:
    """Otherwise faults would be tried where nothing happens."""
    for world in (undisturbed, World(STORY).play()):
        events = {each.event for each in world.witness.events}
        assert events >= {"Started", "Healthy", "Failed", "RolledBack", "Deleted"}
        assert world.moments.counts["commit"] > 30
        assert world.moments.counts["delivery"] > 8


@pytest.mark.rule("R0-19", "B1", "R2-25")
@pytest.mark.parametrize("where", ["pass", "commit", "delivery"])
def test_every_single_fault_at_every_moment_ends_the_same(undisturbed: World, where: str) -> None:
    faults = [each for each in single_faults(undisturbed) if each.where == where]
    for fault in faults:
        must_end_the_same(undisturbed, fault)
    assert len(faults) > 50


@pytest.mark.rule("R0-19", "B1")
def test_every_pair_of_faults_ends_the_same() -> None:
    """At passes, commits and deliveries, with another process at every pass."""
    found = explore(SHORT, PLAIN)
    assert found.worlds > 10_000
    assert found.steps > 30_000
    assert found.situations >= {"a crash between admitting and delivering", "a crash during a rollback"}


@pytest.mark.rule("R0-19", "B1")
def test_pairs_of_faults_end_the_same_in_a_process_that_goes_on(undisturbed: World) -> None:
    """A sample: what such a process remembers never is the same again, so that each is played from the beginning."""
    chance, faults = Random(1), single_faults(undisturbed)
    for _ in range(120):
        must_end_the_same(undisturbed, *chance.sample(faults, 2))


@pytest.mark.rule("R0-19", "B1", "B22")
def test_files_older_than_those_read_before_break_no_law_at_any_pass_and_do_not_stay() -> None:
    """They are taken for what people want: what is gone in them may end a rollout, but what comes next arrives."""
    script = (*SHORT, release("9.0.0"), wait(9))
    passes = World(script, fleet=PLAIN).play().moments.counts["pass"]
    for number in range(1, passes + 1):
        world = World(script, [Fault("pass", number, OLDER_FILES)], PLAIN).play()
        assert world.versions == {"eu-1": "9.0.0", "eu-2": "9.0.0"}
