"""Random schedules: no law is broken, and everything that must be tried comes up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.faults import OLDER_FILES, Fault
from simulation.schedules import Schedule, drawn, played
from simulation.scripts import answers, approve, edit, health, join, leave, release, roll_back, silence, wait
from simulation.situations import SITUATIONS


@pytest.mark.rule("R0-19", "B1", "B8", "B21")
def test_random_schedules_break_no_law_and_every_situation_comes_up() -> None:
    """`make soak` plays more; `PYTHONPATH=tests python -m simulation --replay SEED` a failing one again."""
    missing = set(SITUATIONS)
    for seed in range(300):
        try:
            missing -= played(drawn(seed)).situations
        except AssertionError as error:
            error.add_note(str(drawn(seed)))
            raise
    assert not missing


@pytest.mark.rule("R0-19", "B21")
def test_what_was_removed_without_an_answer_is_brought_again_when_its_cluster_comes_again() -> None:
    """For a pass the source says what it said before the cluster joined, and nobody hears that its plugin went."""
    script = [wait(2), approve, wait(3), edit("supersede", supersede="Replace"), release("1.1.0"), wait(3)]
    faults = [Fault("delivery", number, "lost-answer") for number in (10, 12)]
    faults += [Fault("pass", number, OLDER_FILES) for number in (14, 25, 29)]
    world = played(Schedule(2004682, [*script, join("eu-3"), approve], faults))
    assert world.versions["eu-3"] == "9.0.0"


def test_a_seed_is_the_same_schedule_with_the_same_end_in_every_process() -> None:
    program = """if True:
        import hashlib, sys
        from simulation.schedules import drawn, played
        for seed in (3, 17, 255):
            world = played(drawn(seed))
            told = [(each.at, each.event, each.cluster, each.version, each.reason) for each in world.witness.events]
            print(drawn(seed), hashlib.sha256(repr((told, world.moments.counts)).encode()).hexdigest())
    """
    printed = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1


@pytest.mark.rule("B22")
def test_what_was_brought_and_not_recorded_is_removed_when_it_is_no_longer_wanted() -> None:
    """A process ends between a first delivery and its record, and then the cluster is not in the files any more."""
    script = [wait(2), approve, edit("only-eu", only_eu=True), wait(1)]
    for number in (7, 8, 9):
        faults = [Fault("delivery", 3, "crash-after"), Fault("pass", number, OLDER_FILES)]
        played(Schedule(60229, script, faults))


@pytest.mark.rule("B21", "S51")
def test_a_cluster_that_comes_to_a_stage_in_which_nobody_was_gets_what_went_by_way_of_it() -> None:
    """The only cluster of the first stage leaves, the next change goes to the second, and then one joins the first."""
    empties = [wait(2), approve, wait(3), leave("eu-2"), wait(1), release("1.1.0"), wait(1), approve, wait(4)]
    world = played(Schedule(80343, [*empties, edit("replicas", replicas=5), wait(1), join("eu-3"), wait(0.1)], []))
    first = next(each for each in world.witness.events if each.cluster == "eu-3")
    assert (first.event, first.version, first.rollout) == ("Started", "1.1.0", "")


@pytest.mark.rule("B8", "B26")
def test_a_rollout_that_older_files_replaced_needs_consent_anew_and_gets_there_with_it() -> None:
    """For one pass the source says what it said before the last edit, at every pass of a rollout."""
    script = [wait(2), approve, wait(3), edit("supersede", supersede="Replace")]
    asked = set()
    for number in range(14, 26):
        world = played(Schedule(80292, script, [Fault("pass", number, OLDER_FILES)]))
        asked.add(len({name for name, _ in world.witness.approved}))
    assert asked == {2, 3}, "each consent is to one rollout"


@pytest.mark.rule("B34", "B24")
def test_what_failed_is_tried_again_while_another_cluster_stands_failed_with_the_same() -> None:
    """A retry is nothing new: each of them heals or is given up by itself."""
    fails = [wait(2), approve, wait(12), health("eu-1", "1.1.0", "Failed"), release("1.1.0"), wait(3), approve]
    world = played(Schedule(710120, [*fails, wait(1.01), health("eu-2", "1.1.0", "Failed"), wait(0.5)], []))
    tried = [each.cluster for each in world.witness.events if (each.event, each.version) == ("Started", "1.1.0")]
    assert (tried.count("eu-1") > 1, tried.count("eu-2") > 1, tried.count("us-1")) == (True, True, 0)


@pytest.mark.rule("B24", "R2-1")
def test_what_did_not_reach_a_cluster_does_not_go_there_while_the_first_stage_stands_failed_with_it() -> None:
    """1.1.0 had succeeded without a cluster that did not answer, 1.2.0 failed, and so did the way back to 1.1.0."""
    left_out = [wait(2), approve, wait(3), silence("eu-1"), release("1.1.0"), wait(6), approve, wait(1.5)]
    back = [health("eu-2", "1.2.0", "Failed"), health("eu-2", "1.1.0", "Failed"), release("1.2.0"), wait(1.5)]
    world = played(Schedule(722269, [*left_out, *back, approve, answers("eu-1"), wait(6)], []))
    assert ("eu-1", "1.1.0") not in {(each.cluster, each.version) for each in world.witness.events}


@pytest.mark.rule("B25", "B21")
def test_a_cluster_that_was_started_before_anybody_noticed_its_silence_is_not_waited_for() -> None:
    """The first stage is done when who joined it is: the other one has not answered since before it was started."""
    silent = [wait(2), approve, wait(12), silence("eu-2"), release("1.1.0"), wait(0.2), release("1.2.0"), roll_back]
    joined = [wait(1.5), approve, join("eu-3"), wait(6)]
    world = played(Schedule(1560, [*silent, *joined], []))
    assert ("eu-1", "1.2.0") in {(each.cluster, each.version) for each in world.witness.events}
