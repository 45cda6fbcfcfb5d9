"""Observing: what was delivered is judged, and what was seen becomes what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.progress import observed
from fleetform.loop.cluster_answers import ClusterAnswers, shortened
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState, Trouble
from fleetform.ports.observing import Applied, Delivered, Observer, Verdict
from fleetform.ports.store import Event
from fleetform.syntax.alike import alike


class Seen(NamedTuple):
    """The image after observations, and when looking again may tell something else.

    watched: something is judged that may change at any time, such as what is healthy and soaks.
    """

    image: Image
    look_at: datetime | None
    watched: bool


def observe(
    image: Image,
    keys: Iterable[PluginKey],
    clusters: Mapping[Ref, Object[ClusterSpec]],
    observer: Observer,
    base_of: Callable[[Object[ClusterSpec]], str],
    now: datetime,
    extras: Extras,
) -> Seen:
    """Judges plugins that are in flight, and that are done in rollouts that are not: a failure during a soak counts."""
    delivered = _to_be_judged(image, keys, clusters, base_of)
    verdicts = observer.observe(delivered, now) if delivered else {}
    changed: dict[PluginKey, PluginState] = {}
    records: dict[PluginKey, DeliveryRecord] = {}
    looks: list[datetime] = []
    for each in delivered:
        verdict = verdicts.get(each.key, Verdict("Unknown"))
        before = image.plugin(each.key)
        after = observed(before, each.input_hash, verdict.health, now, verdict.message)
        if after is not before:
            changed[each.key] = after
            extras.events.append(_event(image, each, after, verdict, now))
        record = image.deliveries[each.key]
        trouble = _trouble(each, verdict, record.trouble, now)
        if trouble is not record.trouble:
            records[each.key] = structs.replace(record, trouble=trouble)
        # What is healthy is judged again at every pass; only what is under way asks for one of its own.
        under_way = after.in_flight or (after.attempt is not None and after.attempt.phase == "SetAside")
        if verdict.look_at is not None and under_way:
            looks.append(verdict.look_at)
    image = _with_silence(image.with_plugins(changed), delivered, verdicts, clusters, now)
    if records:
        image = replace(image, deliveries={**image.deliveries, **records})
    watched = any(each.look_at is not None for each in verdicts.values())
    return Seen(image, min(looks, default=None), watched)


def _trouble(delivered: Delivered, verdict: Verdict, before: Trouble | None, now: datetime) -> Trouble | None:
    """Why nobody can tell how it is doing; the same as before if that is alike: numbers may count up."""
    if before is not None and before.of != "health":
        return before
    if verdict.health != "Unknown" or not verdict.hint or not verdict.reachable:
        return None
    message = shortened(verdict.message)
    if before is None:
        return Trouble("health", message, now, verdict.hint, delivered.key[1])
    if alike(before.message) == alike(message):
        return before
    return structs.replace(before, message=message, hint=verdict.hint)


def _to_be_judged(
    image: Image,
    keys: Iterable[PluginKey],
    clusters: Mapping[Ref, Object[ClusterSpec]],
    base_of: Callable[[Object[ClusterSpec]], str],
) -> list[Delivered]:
    found = []
    for key in keys:
        cluster = clusters.get(Ref("Cluster", key[0], key[1]))
        attempt, record = image.plugin(key).attempt, image.deliveries.get(key)
        if cluster is None or attempt is None or attempt.phase not in ("Applying", "Healthy", "SetAside"):
            continue
        if record is None or record.since is None or record.input_hash != attempt.input_hash:
            continue
        applied = _applied(image, record)
        found.append(Delivered(key, attempt.input_hash, record.since, cluster.spec.health, base_of(cluster), applied))
    return found


def _applied(image: Image, record: DeliveryRecord) -> Applied | None:
    if record.destination.kind != "kubernetes":
        return None
    state = image.states.get(record.input_hash)
    there = record.destination
    return Applied(there.namespace, there.cluster, state.health if state is not None else ())


def _with_silence(
    image: Image,
    delivered: list[Delivered],
    verdicts: Mapping[PluginKey, Verdict],
    clusters: Mapping[Ref, Object[ClusterSpec]],
    now: datetime,
) -> Image:
    """Which clusters did not answer, since when; those that answer again, or left the fleet, are forgotten."""
    answers = ClusterAnswers()
    for each in delivered:
        verdict = verdicts.get(each.key)
        if verdict is not None and verdict.reachable is not None:
            answers.heard(each.key[:2], verdict.reachable, verdict.message)
    return answers.told(image, now, clusters)


def _event(image: Image, delivered: Delivered, state: PluginState, verdict: Verdict, now: datetime) -> Event:
    attempt, admitted = state.attempt, state.admitted
    assert attempt is not None
    return Event(
        now,
        *delivered.key,
        event=attempt.phase,
        version=admitted.version if admitted is not None else None,
        input_hash=delivered.input_hash,
        rollout=attempt.rollout,
        change_id=image.change_ids.get((delivered.key[0], attempt.rollout), ""),
        reason=verdict.message,
    )
