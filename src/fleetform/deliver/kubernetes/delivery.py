"""Delivery to clusters by server-side apply, beside the passes, which hand parcels over and take what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from fleetform.clusters.ownership import Manifest, label_of
from fleetform.clusters.secrets import secret_there
from fleetform.clusters.work import ClusterKey, Clusters, Outcome, Waiting
from fleetform.deliver.kubernetes.apply import ApplyOptions, ClusterApply
from fleetform.deliver.kubernetes.drift import Found, Look, look_for_drift
from fleetform.deliver.kubernetes.problems import Problem
from fleetform.model.results.decisions import PluginKey
from fleetform.outside.errors import OutsideError
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.delivery import UNDER_WAY, Drift, Failure, Note, Parcel, Revealed
from fleetform.syntax.yaml_in import read_one

# What was found out about drift on a cluster counts for so many seconds.
_LOOKED_AT_FOR = 600.0


class KubernetesDeliveries:
    """Deliveries to all clusters."""

    def __init__(self, clusters: Clusters, clock: Callable[[], float] = time.monotonic) -> None:
        self.clusters, self.clock = clusters, clock
        # What was found on clusters when they were last looked at, and when that was.
        self.looks: dict[ClusterKey, tuple[float, Look]] = {}

    def to(
        self, cluster: ClusterKey, access: Access | AccessError, namespace: str, options: ApplyOptions
    ) -> KubernetesDelivery:
        return KubernetesDelivery(self, cluster, access, namespace, options)

    def is_under_way(self, key: PluginKey, input_hash: str) -> bool:
        under_way = self.clusters.under_way(("deliver", key))
        return isinstance(under_way, tuple) and under_way[0] == input_hash

    def is_busy(self) -> bool:
        return self.clusters.is_busy()


class KubernetesDelivery:
    """One namespace of one cluster."""

    def __init__(
        self,
        deliveries: KubernetesDeliveries,
        cluster: ClusterKey,
        access: Access | AccessError,
        namespace: str,
        options: ApplyOptions,
    ) -> None:
        self._deliveries, self._cluster, self._access = deliveries, cluster, access
        self._namespace, self._options = namespace, options

    def deliver(
        self, parcels: Sequence[Parcel], removals: Sequence[PluginKey], note: Note
    ) -> Mapping[PluginKey, Failure]:
        found: dict[PluginKey, Failure] = {}
        for parcel in parcels:
            options = self._options._replace(predecessor=parcel.predecessor)
            id_ = (parcel.input_hash, self._namespace, options)
            work = partial(_apply, parcel, self._namespace, options)
            found.update(self._begun_or_done(parcel.key, id_, work))
        for key in removals:
            work = partial(_remove, key, self._namespace, self._options.retain)
            found.update(self._begun_or_done(key, ("", self._namespace, self._options.retain), work))
        return found

    def _begun_or_done(
        self, key: PluginKey, id_: tuple[object, ...], work: Callable[[Client], Waiting[Sequence[Problem] | Failure]]
    ) -> dict[PluginKey, Failure]:
        """Nothing once it has arrived."""
        # What was seen before it arrives says nothing of what is there then.
        self._deliveries.looks.pop(self._cluster, None)
        clusters = self._deliveries.clusters
        clusters.forget(("drift", self._cluster))
        outcome = clusters.outcome(self._cluster, self._access, ("deliver", key), id_, work)
        if outcome is None:
            return {key: UNDER_WAY}
        failure = _failure(outcome)
        return {key: failure} if failure is not None else {}

    def drift(self, keys: Sequence[PluginKey], beside: Collection[str] = ()) -> Sequence[Drift]:
        """As of the last look, which is taken from time to time; OutsideError before the first one is over, and where
        the account may not look."""
        look = self._look(frozenset({self._namespace, *beside}))
        missing = [key for key in keys if label_of(key) not in look.found]
        if missing and self._namespace in look.untold:
            error = look.untold[self._namespace]
            raise OutsideError(error.message, error.hint)
        return [
            Drift(key, each.text, each.missing)
            for key in keys
            for each in look.found.get(label_of(key), (Found("its inventory", missing=True),))
        ]

    def _look(self, namespaces: frozenset[str]) -> Look:
        """One of the whole cluster for all of its namespaces: what one does not see must not be missing for another."""
        deliveries = self._deliveries
        known = deliveries.looks.get(self._cluster)
        counts = known is not None and self._namespace in known[1].namespaces
        if known is not None and counts and deliveries.clock() - known[0] <= _LOOKED_AT_FOR:
            return known[1]
        work = partial(look_for_drift, namespaces=namespaces)
        slot, id_ = ("drift", self._cluster), ("look", namespaces)
        outcome = deliveries.clusters.outcome(self._cluster, self._access, slot, id_, work)
        if outcome is None:
            if known is not None and counts:
                return known[1]
            raise OutsideError("the cluster is being looked at")
        if outcome.error is not None:
            raise outcome.error
        look: Look = outcome.answer
        deliveries.looks[self._cluster] = deliveries.clock(), look
        return look


def _apply(
    parcel: Parcel, namespace: str, options: ApplyOptions, client: Client
) -> Waiting[Sequence[Problem] | Failure]:
    reveal = parcel.reveal
    revealed = reveal(partial(secret_there, client)) if reveal is not None else Revealed(parcel.files)
    if isinstance(revealed, Failure):
        return revealed
    objects: list[Manifest] = [read_one(content.decode()) for _, content in sorted(revealed.files.items())]
    problems = yield from ClusterApply(client).apply(parcel.key, namespace, objects, options, parcel.input_hash)
    return [_without_secrets(each, revealed.secrets) for each in problems]


def _without_secrets(problem: Problem, secrets: Sequence[str]) -> Problem:
    """What a cluster refuses it may quote."""
    message, hint = problem.message, problem.hint
    for each in secrets:
        message, hint = message.replace(each, "…"), hint.replace(each, "…")
    return problem._replace(message=message, hint=hint)


def _remove(key: PluginKey, namespace: str, retain: bool, client: Client) -> Waiting[Sequence[Problem] | Failure]:
    return (yield from ClusterApply(client).remove(key, namespace, retain))


def _failure(outcome: Outcome) -> Failure | None:
    """What came of it, if it is not what it should be: the first problem in words, and how many there are."""
    if outcome.error is not None:
        return Failure(outcome.error.message, outcome.error.hint, unreachable=outcome.unreachable)
    if isinstance(outcome.answer, Failure):
        return outcome.answer
    problems: Sequence[Problem] = outcome.answer
    if not problems:
        return None
    # One that somebody must do something about comes before one that may pass.
    first = next((each for each in problems if each.refused), problems[0])
    more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
    return Failure(f"{first}{more}", first.hint, first.refused)
