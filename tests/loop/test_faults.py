"""Whatever happens between any two writes, the end is the same and no law is broken on the way.

Every single fault at every boundary of a whole story (install, a failing upgrade and its rollback, a good upgrade, a
removal), pairs of faults, and random schedules; a failing schedule names itself and replays.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from fleetform.model.results.decisions import PluginKey
from fleetform.ports.store import StoreError
from loop.test_control import plane, upgraded
from support.faults import AT_COMMIT, AT_DELIVERY, Boundaries, CrashError, Fault, FaultyStore, FaultyTargets, Kind
from support.plane import ScriptedHealth

ALL = {"eu-1", "eu-2", "us-1"}


class Story:
    """The story of a small fleet in a world with faults; what it comes to, and the laws that it keeps."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.boundaries = Boundaries({(each.where, each.number): each.kind for each in faults})
        self.plane = plane()
        self.plane.store = FaultyStore(self.plane.store, self.boundaries, self.plane)
        self.plane.targets = FaultyTargets(self.boundaries)
        self.plane.health = ScriptedHealth(self.plane.targets)
        self.crashes = 0
        self.plane.restart()

    def play(self) -> Story:
        self._wait(hours=4)
        self.plane.health.says["us-1", "1.1.0"] = "Failed"
        upgraded(self.plane)
        self._wait(hours=6)
        upgraded(self.plane, "1.2.0")
        self._wait(hours=6)
        files = self.plane.files.files
        files["preset.yaml"] = files["preset.yaml"].replace(
            "clusterSelector: {}", "clusterSelector: {matchLabels: {region: eu}}"
        )
        self._wait(hours=2)
        return self

    def _wait(self, hours: int) -> None:
        until = self.plane.clock.at + timedelta(hours=hours)
        passes = 0
        while True:
            passes += 1
            assert passes < 400, "it does not come to rest"
            try:
                report = self.plane.control.run_pass()
            except CrashError:
                self.crashes += 1
                self.plane.restart()
                continue
            except StoreError:
                continue
            finally:
                self._check_laws()
            if report.wrote:
                continue
            if report.next_look is None or report.next_look > until:
                break
            self.plane.clock.at = report.next_look
        self.plane.clock.at = max(until, self.plane.clock.at)

    def _check_laws(self) -> None:
        image = replace(self.plane.control.image)
        states = {
            (cluster.organization, cluster.name, name): state
            for cluster, here in image.known.plugins.items()
            for name, state in here.items()
        }
        flying = [key for key, state in states.items() if state.in_flight]
        gold = [key for key in flying if key[1] != "eu-2"]
        assert len(gold) <= 1, f"more in flight than the stage allows: {gold}"
        for key, parcel in self.plane.targets.there.items():
            assert parcel.input_hash in image.states, f"{key} got what was never admitted"
        assert self.plane.targets.there.keys() <= states.keys() | self._leaving(states)

    def _leaving(self, states: Iterable[PluginKey]) -> set[PluginKey]:
        return {key for key in self.plane.targets.there if key not in states and key[1] == "us-1"}

    @property
    def end(self) -> object:
        """What it came to: what is on the clusters, what is stored of plugins, and what was told; without times."""
        image = self.plane.control.image
        stored = {
            (cluster.name, name): (state.admitted, state.last_healthy, state.attempt and state.attempt.phase)
            for cluster, here in image.known.plugins.items()
            for name, state in here.items()
        }
        rollouts = [
            (each.name, each.phase, each.rejected)
            for of_owner in image.known.rollouts.rollouts.values()
            for each in of_owner
        ]
        there = {key: parcel.input_hash for key, parcel in self.plane.targets.there.items()}
        told = sorted(each.message.key for each in self.plane.store.feed())
        return there, stored, rollouts, set(image.deliveries), told


@pytest.fixture(scope="module")
def undisturbed() -> Story:
    story = Story().play()
    assert set(story.plane.versions) == {"eu-1", "eu-2"}
    assert set(story.plane.versions.values()) == {"1.2.0"}
    return story


def test_the_story_reaches_what_it_is_about(undisturbed: Story) -> None:
    """Otherwise faults would be tried where nothing happens."""
    events = {each.event for cluster in ALL for each in undisturbed.plane.store.events("acme", cluster)}
    assert {"Started", "Healthy", "Failed", "RolledBack", "Deleted"} <= events
    told = {each.message.event for each in undisturbed.plane.store.feed()}
    assert told == {"Started", "Failed", "Halted", "RolledBack", "Finished"}
    assert undisturbed.boundaries.commits > 30
    assert undisturbed.boundaries.deliveries > 10


def _single(story: Story) -> list[Fault]:
    commits = [Fault("commit", n, kind) for n in range(1, story.boundaries.commits + 1) for kind in AT_COMMIT]
    deliveries = [Fault("delivery", n, kind) for n in range(1, story.boundaries.deliveries + 1) for kind in AT_DELIVERY]
    return [*commits, *deliveries]


@pytest.mark.rule("R0-19", "B1", "R2-25")
def test_every_single_fault_at_every_boundary_ends_the_same(undisturbed: Story) -> None:
    schedules = _single(undisturbed)
    for fault in schedules:
        story = Story([fault]).play()
        assert story.end == undisturbed.end, fault
    assert len(schedules) > 200


def test_random_schedules_of_faults_end_the_same(undisturbed: Story) -> None:
    single = _single(undisturbed)
    crashes = 0
    for seed in range(60):
        chance = random.Random(seed)
        faults = chance.sample(single, chance.randint(2, 8))
        story = Story(faults).play()
        crashes += story.crashes
        assert story.end == undisturbed.end, (seed, faults)
    assert crashes > 60


def test_pairs_of_faults_right_after_each_other_end_the_same(undisturbed: Story) -> None:
    commits = range(1, undisturbed.boundaries.commits)
    kinds: tuple[Kind, ...] = ("crash-before", "lost-answer")
    for number, first, second in itertools.product(commits, kinds, kinds):
        faults = [Fault("commit", number, first), Fault("commit", number + 1, second)]
        assert Story(faults).play().end == undisturbed.end, faults
