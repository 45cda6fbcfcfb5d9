"""Reading clusters: what bindings ask of them is read there, and stored with the plugins that need it (B16).

Nothing of it is asked for within a pass: clusters are read beside it, and what they said is what the next pass decides
from. A cluster on which nothing is read is asked from time to time whether it answers (B25).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import is_
from typing import NamedTuple

import msgspec
from msgspec import structs

from fleetform.app.fleet import Fleet
from fleetform.loop.cluster_answers import ClusterAnswers
from fleetform.loop.image import Image
from fleetform.loop.records import ON_HUB, DeliveryRecord
from fleetform.loop.surroundings import Surroundings
from fleetform.model.objects import Ref
from fleetform.model.results.bindings import FieldOnCluster
from fleetform.model.results.decisions import ClusterDecisions, PluginDecision, PluginKey, Secret
from fleetform.model.state import NOT_READ, NOTHING_OBSERVED, PluginState, Reading
from fleetform.ports.observing import ClusterAnswer, FieldAnswer

ClusterKey = tuple[str, str]


class _Asked(NamedTuple):
    """A field as a binding means it, and where it is looked for: in its namespace, or that of the release."""

    meant: FieldOnCluster
    there: FieldOnCluster


# By plugin, then by the name that it is observed under.
_Wanted = Mapping[str, Mapping[str, _Asked]]
_NONE: _Wanted = {}


class ReadClusters(NamedTuple):
    """The image with what clusters said, and when some are asked again."""

    image: Image
    look_at: datetime | None = None


class ClusterReadings:
    """What it keeps only saves work: which fields are wanted on a cluster is found once for each decision."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._wanted: dict[Ref, tuple[ClusterDecisions, _Wanted]] = {}
        # Clusters of which that was found anew in this pass.
        self._anew: set[ClusterKey] = set()
        # Whether anything may be wanted of any cluster, and what that follows from.
        self._reads: tuple[tuple[object, ...], bool] = ((), False)
        self._delivered: tuple[Mapping[PluginKey, DeliveryRecord], frozenset[ClusterKey]] = ({}, frozenset())

    def run(self, fleet: Fleet, image: Image, now: datetime) -> ReadClusters:
        reader = self._around.reader
        if reader is None:
            return ReadClusters(image)
        wanted = self._find_wanted(fleet)
        fields = {cluster: _fields(each) for cluster, each in wanted.items()}
        for cluster in self._delivered_to(image):
            if Ref("Cluster", *cluster) in fleet.snapshot.clusters:
                fields.setdefault(cluster, frozenset())
        if not fields:
            return ReadClusters(image)
        digests = fleet.inputs.secret_digest

        def digest_of(organization: str, text: str) -> str:
            return (digests(organization, Secret(None, text)) if digests is not None else None) or ""

        answers = ClusterAnswers()
        changed: dict[PluginKey, PluginState | None] = {}
        found = reader.read(fields, digest_of, now)
        for cluster, answer in found.items():
            if answer.answered is not None:
                answers.heard(cluster, answer.answered, answer.why)
            if answer.answered is not None or cluster in self._anew:
                changed.update(_read_on(image, cluster, wanted.get(cluster, _NONE), answer, now))
        image = answers.told(image.with_plugins(changed), now)
        return ReadClusters(image, min(each.look_at for each in found.values()))

    def _find_wanted(self, fleet: Fleet) -> dict[ClusterKey, _Wanted]:
        self._anew = set()
        if not self._may_read(fleet):
            self._wanted = {}
            return {}
        before, self._wanted = self._wanted, {}
        for ref, here in fleet.decisions.clusters.items():
            known = before.get(ref)
            if known is None or known[0] is not here:
                self._anew.add((ref.organization, ref.name))
                known = (
                    here,
                    {name: each for name, plugin in here.plugins.items() if (each := self._asked(fleet, plugin))},
                )
            self._wanted[ref] = known
        return {(ref.organization, ref.name): each for ref, (_, each) in self._wanted.items() if each}

    def _may_read(self, fleet: Fleet) -> bool:
        snapshot = fleet.snapshot
        written = (snapshot.presets, snapshot.plugins, snapshot.definitions, snapshot.retired)
        if len(self._reads[0]) != len(written) or not all(map(is_, self._reads[0], written)):
            self._reads = written, fleet.decisions.binders.reads_clusters()
        return self._reads[1]

    def _asked(self, fleet: Fleet, plugin: PluginDecision) -> dict[str, _Asked]:
        """What a plugin needs to have read; nothing where others bring it to its cluster."""
        decisions = fleet.decisions
        owner = decisions.index.owners[plugin.target.owner]
        fields = dict(decisions.binders.fields_on(owner, plugin.cluster, plugin.name))
        if not fields or not self._around.is_straight(fleet, plugin):
            return {}
        home = plugin.target.release_namespace
        return {name: _Asked(each, each._replace(namespace=each.namespace or home)) for name, each in fields.items()}

    def _delivered_to(self, image: Image) -> frozenset[ClusterKey]:
        """The clusters that something was brought to."""
        known, clusters = self._delivered
        if known is not image.deliveries:
            places = (each.destination for each in image.deliveries.values())
            found = {each.cluster for each in places if each.kind == "kubernetes"}
            clusters = frozenset(each for each in found if not each[1].startswith(ON_HUB))
            self._delivered = image.deliveries, clusters
        return clusters


def _fields(wanted: _Wanted) -> frozenset[FieldOnCluster]:
    return frozenset(asked.there for of_plugin in wanted.values() for asked in of_plugin.values())


def _read_on(
    image: Image, cluster: ClusterKey, wanted: _Wanted, answer: ClusterAnswer, now: datetime
) -> dict[PluginKey, PluginState | None]:
    """Plugins of a cluster of which something else is known by now."""
    changed: dict[PluginKey, PluginState | None] = {}
    known = image.known.plugins.get(Ref("Cluster", *cluster), {})
    for name in {*wanted, *(name for name, state in known.items() if state.readings)}:
        key = (*cluster, name)
        before = image.plugin(key)
        after = _with_answers(before, wanted.get(name, {}), answer.fields, now)
        if after is not before:
            changed[key] = after
    return changed


def _with_answers(
    state: PluginState, wanted: Mapping[str, _Asked], answers: Mapping[FieldOnCluster, FieldAnswer], now: datetime
) -> PluginState:
    """The same if nothing is another. What is no longer asked for is forgotten; what a state export brought stays."""
    observed = {name: value for name, value in state.observed.items() if name not in state.readings or name in wanted}
    readings = {name: each for name, each in state.readings.items() if name in wanted}
    for name, asked in wanted.items():
        answer = answers.get(asked.there)
        if answer is None:
            continue
        known = readings.get(name)
        is_same_field = known is None or (known.of, known.namespace) == (asked.meant.identity, asked.there.namespace)
        if not is_same_field:
            known = None
            observed.pop(name, None)
        readings[name] = after = _reading(asked, known, name in observed, observed.get(name), answer, now)
        if answer.digest:
            observed.pop(name, None)
        elif not answer.problem and (known is None or after.since != known.since or name not in observed):
            observed[name] = answer.value
    if readings == state.readings and observed.keys() == state.observed.keys():
        return state
    return structs.replace(state, observed=observed or NOTHING_OBSERVED, readings=readings or NOT_READ)


def _reading(
    asked: _Asked, known: Reading | None, has_value: bool, value: object, answer: FieldAnswer, now: datetime
) -> Reading:
    """How a field was read; since when it is so stays as it was while its value does."""
    if answer.problem:
        before = known or Reading(asked.meant.identity, now, asked.there.namespace or "", is_known=has_value)
        return structs.replace(before, problem=answer.problem, do=answer.do)
    same = known is not None and known.is_known and known.digest == answer.digest
    if same and not answer.digest:
        # To the last type: Python takes true for 1.
        same = has_value and msgspec.json.encode(value) == msgspec.json.encode(answer.value)
    since = known.since if same and known is not None else now
    return Reading(asked.meant.identity, since, asked.there.namespace or "", answer.digest, do=answer.do)
