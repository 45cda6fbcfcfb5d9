"""The health of what was applied to clusters, as their API servers tell. Clusters are asked beside the passes, which
take what is known: no pass waits for a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from fleetform.clusters.inventory import Known, ObjectRef
from fleetform.clusters.listing import Live, inventories, live_objects, wanted
from fleetform.clusters.ownership import Manifest, label_of
from fleetform.clusters.work import ClusterKey, Clusters, Waiting
from fleetform.model.results.decisions import PluginKey
from fleetform.observe.flux_revisions import is_of_older_revision, source_of
from fleetform.observe.object_health import WITHOUT_STATUS, ObjectHealth, health_of
from fleetform.outside.kubernetes.access import Access, AccessError
from fleetform.outside.kubernetes.client import Client
from fleetform.ports.observing import Applied, CheckedObject, Delivered, Observer, Verdict

# How often a cluster is asked while something on it is under way, and while all of it is healthy.
_SOON, _LATER = timedelta(seconds=5), timedelta(seconds=30)
# What the account may not ask is asked less and less often.
_LONGEST = timedelta(minutes=1)
# What was asked about: plugins with the hash that was delivered.
_Asked = frozenset[tuple[PluginKey, str]]


@dataclass
class _Cluster:
    """What is known of one cluster: what each plugin's hash was found to be, when and what it was asked last, and how
    often in a row it answered nothing of use."""

    verdicts: dict[tuple[PluginKey, str], Verdict] = field(default_factory=dict)
    due: datetime | None = None
    asking: _Asked = frozenset()
    refusals: int = 0

    def put_off(self, now: datetime, pause: timedelta | None = None) -> None:
        """It answered nothing of use: it is asked less and less often, unless it is known when to ask again."""
        pause = pause if pause is not None else min(_SOON * (1 << min(self.refusals, 8)), _LONGEST)
        self.due, self.refusals = now + pause, self.refusals + 1


class AppliedObserver:
    """Asks clusters about what was applied to them, and another observer about everything else."""

    def __init__(
        self, clusters: Clusters, access_of: Callable[[ClusterKey], Access | AccessError], otherwise: Observer
    ) -> None:
        self._clusters, self._access_of, self._otherwise = clusters, access_of, otherwise
        self._known: dict[ClusterKey, _Cluster] = {}

    def observe(self, delivered: Sequence[Delivered], now: datetime) -> Mapping[PluginKey, Verdict]:
        here: dict[ClusterKey, list[Delivered]] = {}
        elsewhere = []
        for each in delivered:
            if each.applied is None:
                elsewhere.append(each)
            else:
                here.setdefault(each.applied.cluster, []).append(each)
        found = dict(self._otherwise.observe(elsewhere, now)) if elsewhere else {}
        for cluster, on_it in here.items():
            found.update(self._on(cluster, on_it, now))
        # What nobody asks about any more is forgotten.
        self._known = {cluster: known for cluster, known in self._known.items() if cluster in here}
        return found

    def _on(self, cluster: ClusterKey, delivered: Sequence[Delivered], now: datetime) -> dict[PluginKey, Verdict]:
        known = self._known.setdefault(cluster, _Cluster())
        asked = frozenset((each.key, each.input_hash) for each in delivered)
        is_due = known.due is None or known.due <= now or not asked <= known.verdicts.keys()
        if known.asking or is_due:
            self._ask(cluster, known, known.asking or asked, delivered, now)
        again = now + _SOON
        unseen = Verdict("Unknown", "its cluster is being asked", again, reachable=None)
        found = {each.key: known.verdicts.get((each.key, each.input_hash), unseen) for each in delivered}
        due = known.due if known.due is not None and known.due > now else again
        return {key: each._replace(look_at=due) for key, each in found.items()}

    def _ask(
        self, cluster: ClusterKey, known: _Cluster, asked: _Asked, delivered: Sequence[Delivered], now: datetime
    ) -> None:
        """Has the cluster asked, and takes what it says once that is there."""
        applied = {each.key: each.applied for each in delivered if each.applied is not None}
        plugins = {key: applied[key] for key, _ in asked if key in applied}
        outcome = self._clusters.outcome(
            cluster, self._access_of(cluster), ("health", cluster), asked, partial(_judged, plugins)
        )
        known.asking = asked if outcome is None else frozenset()
        if outcome is None:
            return
        known.due = now + _SOON
        if outcome.error is not None:
            message, hint = outcome.error.message, outcome.error.hint
            silent = Verdict("Unknown", message, reachable=not outcome.unreachable, hint=hint)
            known.verdicts = dict.fromkeys(asked, silent)
            known.put_off(now, _LATER if outcome.unreachable else None)
            return
        judged: Mapping[PluginKey, Verdict] = outcome.answer
        known.verdicts = {(key, hash_): judged.get(key, Verdict("Unknown")) for key, hash_ in asked}
        if any(each.hint for each in known.verdicts.values()):
            known.put_off(now)
            return
        known.refusals = 0
        if all(each.health == "Healthy" for each in known.verdicts.values()):
            known.due = now + _LATER


def _judged(plugins: Mapping[PluginKey, Applied], client: Client) -> Waiting[dict[PluginKey, Verdict]]:
    """What the cluster says of some plugins, by a list for each kind of object."""
    yield from ()
    labels = {label_of(key): key for key in plugins}
    known, untold, _ = inventories(client, labels.keys(), sorted({each.namespace for each in plugins.values()}))
    live = live_objects(client, known, WITHOUT_STATUS)
    now = datetime.now(UTC)
    found = {}
    for label, key in labels.items():
        error = untold.get(plugins[key].namespace)
        if label not in known and error is not None:
            found[key] = Verdict("Unknown", error.message, hint=error.hint)
        else:
            found[key] = _verdict(known.get(label, Known()), live, plugins[key].checks, now)
    return found


def _verdict(known: Known, live: Live, checks: Sequence[CheckedObject], now: datetime) -> Verdict:
    """The worst of its objects: failed before what the cluster does not tell before under way before healthy."""
    if not known.applied:
        return Verdict("Unknown", "its inventory is not there")
    under_way: Verdict | None = None
    counted = [ref for ref, _ in wanted(known) if not checks or any(_is_meant(each, ref) for each in checks)]
    missing = [each for each in checks if not any(_is_meant(each, ref) for ref in counted)]
    if missing:
        return Verdict("Unknown", f"{missing[0].kind} {missing[0].name}, which its health depends on, is not of it")
    untold: Verdict | None = None
    for ref in counted:
        error = live.untold.get(ref)
        if error is not None:
            untold = untold or Verdict("Unknown", f"{ref}: {error.message}", hint=error.hint)
            continue
        there = live.there.get(ref)
        if there is None and known.may_be_over(ref, now):
            continue
        health = _health(there, live, now) if there is not None else ObjectHealth("Progressing", "it is missing")
        if health.level == "Failed":
            return Verdict("Failed", f"{ref}: {health.message}")
        if health.level == "Progressing" and under_way is None:
            under_way = Verdict("Unknown", f"{ref}: {health.message}")
    return untold or under_way or Verdict("Healthy")


def _health(there: Manifest, live: Live, now: datetime) -> ObjectHealth:
    source = source_of(there)
    if source is not None and source in live.untold:
        return ObjectHealth("Progressing", f"{source}: {live.untold[source].message}")
    if is_of_older_revision(there, live.there):
        return ObjectHealth("Progressing", "Flux has not taken what its source has now")
    group = there["apiVersion"].rpartition("/")[0]
    return health_of(there, now, (group, there["kind"]) in live.with_status)


def _is_meant(check: CheckedObject, ref: ObjectRef) -> bool:
    same = (check.kind, check.name) == (ref.kind, ref.name)
    group = check.api_version.rpartition("/")[0]
    return same and check.namespace in ("", ref.namespace) and (not check.api_version or group == ref.group)
