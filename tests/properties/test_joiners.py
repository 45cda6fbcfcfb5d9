"""A cluster that joins at any moment gets at once what its stage has admitted, and ends where all others end (B21)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties.strategies import examples
from support.worlds import TIERS, cluster, definition, installed, policy, preset

SOAKING = policy(
    "{name: qa, clusterSelector: {matchLabels: {tier: qa}}, minSuccessTime: 1h}, "
    + "{name: gold, remainder: true, maxConcurrency: 1}"
)
OPS = ("version", "values", "override", "healthy", "healthy", "fail", "half-hour", "two-hours", "two-hours")


class Story:
    """What may have happened to a fleet of two stages before somebody joins it."""

    def __init__(self) -> None:
        self.folder = installed(policy=SOAKING)
        self.edits = 0
        self.before: str | None = None
        self.finish()

    def do(self, op: str) -> None:
        self.edits += 1
        if op == "version":
            self.folder.edit(**{f"certs-{self.edits}": definition(f"1.{self.edits}.0")})
        elif op == "values":
            self.folder.edit(preset=preset(values=f"[{{name: replicas, value: {self.edits + 1}}}]"))
        elif op == "override":
            self.folder.edit(override=override(self.edits + 1))
        elif op in ("healthy", "fail"):
            flying = self.flying()
            (self.folder.healthy if op == "healthy" else self.folder.fail)(*flying[:1])
        self.folder.now += {"half-hour": timedelta(minutes=30), "two-hours": timedelta(hours=2)}.get(op, timedelta(0))
        self.folder.go()
        self._remember()

    def flying(self) -> list[str]:
        return sorted(key[1] for key, state in self.folder.fleet.owner_changes.states.items() if state.in_flight)

    def admitted_in(self, tier: str) -> str | None:
        """What a stage has admitted: what the rollout that runs brought to a cluster of it, if it has not halted, else
        what was before it."""
        states = [self.folder.state(name) for name, each in TIERS.items() if each == tier]
        rollout = self.folder.rollout
        if rollout.is_open and rollout.phase != "Halted":
            states = [each for each in states if each.attempt and each.attempt.rollout == rollout.name]
            brought = {each.admitted.input_hash for each in states if each.admitted is not None}
            assert len(brought) <= 1
            return brought.pop() if brought else self.before
        return self.before

    def _remember(self) -> None:
        """What all have once a rollout is over."""
        if not self.folder.rollout.is_open:
            [self.before] = {self.hash_on(name) for name in TIERS}

    def hash_on(self, name: str) -> str | None:
        admitted = self.folder.state(name).admitted
        return admitted.input_hash if admitted is not None else None

    def join(self, name: str, tier: str) -> None:
        self.folder.edit(joined=cluster(name, tier=tier))

    def finish(self) -> None:
        """Long enough for a change that waits for another."""
        for _ in range(4):
            self.folder.finish()
            self.folder.now += timedelta(hours=2)
        self._remember()


def override(replicas: int) -> str:
    return (
        "apiVersion: fleetform.dev/v1alpha1\nkind: PluginOverride\nmetadata: {name: more, namespace: acme}\n"
        f"spec: {{overrides: [{{path: replicas, value: {replicas}}}]}}\n"
    )


@pytest.mark.rule("B21", "S51")
@examples(40)
@given(st.lists(st.sampled_from(OPS), min_size=1, max_size=7), st.sampled_from(["qa", "gold"]))
def test_who_joins_gets_at_once_what_its_stage_has_admitted_and_ends_as_the_others(ops: list[str], tier: str) -> None:
    story = Story()
    for op in ops:
        story.do(op)
    expected = story.admitted_in(tier)
    story.join("new-1", tier)
    story.folder.go()
    assert story.hash_on("new-1") == expected
    story.finish()
    assert story.hash_on("new-1") == story.before
