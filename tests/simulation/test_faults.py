"""Whatever happens between any two writes, the end is the same and no law is broken on the way."""

from __future__ import annotations

import pytest

from simulation.exploring import FORGOTTEN, explore
from simulation.faults import KINDS, Fault
from simulation.fleet import FleetText
from simulation.laws import LawBrokenError
from simulation.scripts import SHORT, STORY
from simulation.world import World

PLAIN = FleetText(guarded=False)


@pytest.fixture(scope="module")
def undisturbed() -> World:
    world = World(SHORT, fleet=PLAIN).play()
    assert world.versions == {"eu-1": "1.0.0", "eu-2": "1.0.0"}
    return world


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
    """In a process that goes on unless the fault ends it."""
    moments = [(each, n) for each, count in undisturbed.moments.counts.items() for n in range(1, count + 1)]
    faults = [Fault(*moment, kind) for moment in moments if moment[0] == where for kind in KINDS[moment[0]]]
    for fault in faults:
        try:
            assert World(SHORT, [fault], PLAIN).play().end == undisturbed.end
        except (LawBrokenError, AssertionError) as error:
            error.add_note(str(fault))
            raise
    assert len(faults) > 50


@pytest.mark.rule("R0-19", "B1")
def test_every_pair_of_faults_at_writes_ends_the_same(undisturbed: World) -> None:
    """With another process at every pass. Pairs with faults that put something off are for the soak: those worlds never
    become the same again."""
    found = explore(SHORT, PLAIN, undisturbed.end, 2, FORGOTTEN)
    assert found.worlds > 300
    assert found.steps > 2_000
    assert found.situations >= {"a crash between admitting and delivering", "a crash during a rollback"}
