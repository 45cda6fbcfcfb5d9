"""Joining: what a new cluster gets while a rollout runs: what its stage has admitted, version and values (B21, S51).

A cluster is decided on the side that its stage is at: with the owner's objects as they were last admitted, or as the
rollout brings them, which may be others than those of now (B8). What is its own stays its own: facts, labels, and
values and overrides that reach it alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.decisions import Decisions
from fleetform.engine.desired import Inputs
from fleetform.engine.plan.records import Candidate
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.versions.lifecycle import Lifecycle
from fleetform.engine.world.candidate import Candidates
from fleetform.engine.world.contents import ContentHashes, digest
from fleetform.engine.world.sides import KeptObjects, snapshot_of_side
from fleetform.engine.world.stored import AdmittedObjects, Contents
from fleetform.model.results.decisions import PluginDecision, PluginKey
from fleetform.model.snapshot import Snapshot
from fleetform.model.state import Deployed, PluginState
from fleetform.syntax.versions import VersionError, parse_version


class Redecide(NamedTuple):
    """How another side is decided: side indexes a snapshot beside these decisions, at_version decides a plugin there.

    at_version gives None where nobody can tell.
    """

    side: Callable[[Decisions, Snapshot], Decisions]
    at_version: Callable[[Decisions, PluginDecision, str], PluginDecision | None]


class OnSide(NamedTuple):
    """A plugin as it is decided on another side, and what it becomes there."""

    plugin: PluginDecision
    side: Decisions
    deployed: Deployed


class Joiners(NamedTuple):
    """An owner's candidates, those of new clusters with what they get meanwhile, and how that was decided."""

    candidates: list[Candidate]
    decided: Mapping[PluginKey, tuple[OnSide, ...]] = {}


class Joining:
    """Decides the new clusters of one owner."""

    def __init__(
        self, decisions: Decisions, inputs: Inputs, hashes: ContentHashes, kept: KeptObjects, redecide: Redecide
    ) -> None:
        self._decisions, self._inputs, self._hashes = decisions, inputs, hashes
        self._kept, self._redecide = kept, redecide
        self._sides: dict[str, tuple[Decisions, Candidates] | None] = {}

    def with_sides(
        self,
        candidates: list[Candidate],
        plugins: list[PluginDecision],
        states: list[PluginState],
        lifecycle: Lifecycle,
        now: Contents,
        admitted: AdmittedObjects,
        last: Rollout | None,
    ) -> Joiners:
        """Candidates of clusters where nothing is installed, with what their stage has admitted.

        baseline is what the owner last admitted, underway what the rollout that runs brings, if a newer change waits,
        earlier what was admitted before the last one, if that has succeeded.
        """
        running = last if last is not None and last.is_open and last.started is not None else None
        upcoming = admitted.upcoming if running is not None and running.contents != digest(now) else None
        runs = [each.admitted for each in states]
        brought = [_target(each, running) for each in states] if running is not None else []
        over = last if last is not None and last.phase == "Succeeded" else None
        earlier = admitted.earlier if over is not None else None
        left = [_before(each, over) for each in states] if over is not None else []
        result, decided = list(candidates), {}
        for index, (candidate, plugin) in enumerate(zip(candidates, plugins, strict=True)):
            if runs[index] is not None:
                continue
            before = self._on_side(
                plugin, candidate, lifecycle, now, admitted.objects, _common(candidates, candidate, runs)
            )
            under = None
            if upcoming is not None:
                version = _common(candidates, candidate, brought)
                under = self._on_side(plugin, candidate, lifecycle, now, upcoming, version)
            past = None
            if earlier is not None:
                version = _common(candidates, candidate, left)
                past = self._on_side(plugin, candidate, lifecycle, now, earlier, version)
            decided[candidate.key] = tuple(each for each in (before, under, past) if each is not None)
            result[index] = structs.replace(
                candidate,
                baseline=before.deployed if before is not None else None,
                underway=under.deployed if under is not None else None,
                earlier=past.deployed if past is not None else None,
            )
        return Joiners(result, decided)

    def _on_side(
        self,
        plugin: PluginDecision,
        candidate: Candidate,
        lifecycle: Lifecycle,
        now: Contents,
        then: Contents,
        runs: Counter[str],
    ) -> OnSide | None:
        """A plugin with its owner's objects as they were, at the version that its stage has of those."""
        versions = set(_versions(then, plugin))
        known = [each for each, _ in runs.most_common() if each in versions]
        version = known[0] if known else next(iter(versions)) if len(versions) == 1 else None
        found = self._side(now, then, lifecycle)
        if version is None or found is None:
            return None
        side, deployed = found
        older = self._redecide.at_version(side, plugin, version)
        if older is None or older.gates:
            return None
        # Policies that stage some kinds of change alone tell them apart by parts.
        return OnSide(older, side, deployed.deployed(older, candidate.wanted.parts is not None))

    def _side(self, now: Contents, then: Contents, lifecycle: Lifecycle) -> tuple[Decisions, Candidates] | None:
        key = digest(then)
        if key not in self._sides:
            snapshot = snapshot_of_side(self._hashes, now, then, self._kept)
            self._sides[key] = None
            if snapshot is not None:
                side = self._redecide.side(self._decisions, snapshot)
                inputs = Inputs(side, self._inputs.transforms, self._inputs.secret_digest)
                self._sides[key] = side, Candidates(side, inputs, lifecycle)
        return self._sides[key]


def _target(state: PluginState, running: Rollout) -> Deployed | None:
    place = state.enrolment
    return place.target if place is not None and place.rollout == running.name else None


def _before(state: PluginState, over: Rollout) -> Deployed | None:
    place = state.enrolment
    return place.before if place is not None and place.rollout == over.name else None


def _common(candidates: list[Candidate], joining: Candidate, found: list[Deployed | None]) -> Counter[str]:
    """The versions of a stage's clusters, by how many have each; of all clusters, if it has none."""
    pairs = [(each.stage, has.version) for each, has in zip(candidates, found, strict=True) if has and has.version]
    here = Counter(sorted(version for stage, version in pairs if stage == joining.stage))
    return here or Counter(sorted(version for _, version in pairs))


def _versions(contents: Contents, plugin: PluginDecision) -> Iterator[str]:
    """The versions of a plugin's definition among the objects of a side."""
    for identity in contents:
        text, _, version = identity.partition("@")
        kind, _, name = text.partition("#")[0].partition("/")
        if version and kind == "PluginDefinition" and name.rpartition("/")[2] == plugin.target.definition:
            try:
                yield str(parse_version(version))
            except VersionError:
                yield version
