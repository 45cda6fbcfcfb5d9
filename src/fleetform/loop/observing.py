"""Observing: what was delivered is judged, and what was seen becomes what is stored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import structs

from fleetform.engine.plan.progress import observed
from fleetform.loop.image import Extras, Image
from fleetform.loop.records import DeliveryRecord
from fleetform.model.kinds.fleet import ClusterSpec
from fleetform.model.objects import Object, Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState, Trouble
from fleetform.ports.observing import Applied, Delivered, Observer, Verdict
from fleetform.ports.store import Event

_LONGEST_MESSAGE = 500
_NUMBERS = re.compile(r"[0-9]+")
# When a cluster that does not answer is asked again, if whoever asks it does not say.
_ASK_AGAIN = timedelta(minutes=1)


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
    """Judges plugins that are in flight, and that are done in rollouts that are not: a failure during a soak counts.

    Clusters that did not answer last time are asked whatever is on them: nothing starts there before they are heard.
    """
    delivered = _to_be_judged(image, keys, clusters, base_of)
    judged = {each.key for each in delivered}
    silent = [each for each in _on_silent_clusters(image, clusters, base_of) if each.key not in judged]
    verdicts = observer.observe([*delivered, *silent], now) if delivered or silent else {}
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
    image = _with_silence(image.with_plugins(changed), [*delivered, *silent], verdicts, now)
    unheard = [verdicts[each.key] for each in silent if each.key in verdicts and not verdicts[each.key].reachable]
    looks += [verdict.look_at or now + _ASK_AGAIN for verdict in unheard]
    if records:
        image = replace(image, deliveries={**image.deliveries, **records})
    watched = any(each.look_at is not None for each in verdicts.values())
    return Seen(image, min(looks, default=None), watched)


def _trouble(delivered: Delivered, verdict: Verdict, before: Trouble | None, now: datetime) -> Trouble | None:
    """Why nobody can tell how it is doing; the same as before if it is the same but for numbers, which may count up."""
    if before is not None and before.of != "health":
        return before
    if verdict.health != "Unknown" or not verdict.hint or not verdict.reachable:
        return None
    message = re.sub(r"\s+", " ", verdict.message)[:_LONGEST_MESSAGE]
    if before is None:
        return Trouble("health", message, now, verdict.hint, delivered.key[1])
    if _NUMBERS.sub("", before.message) == _NUMBERS.sub("", message):
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
        attempt, delivered = image.plugin(key).attempt, _delivered(image, key, clusters, base_of)
        if attempt is None or attempt.phase not in ("Applying", "Healthy", "SetAside") or delivered is None:
            continue
        if delivered.input_hash == attempt.input_hash:
            found.append(delivered)
    return found


def _on_silent_clusters(
    image: Image, clusters: Mapping[Ref, Object[ClusterSpec]], base_of: Callable[[Object[ClusterSpec]], str]
) -> list[Delivered]:
    every = [
        _delivered(image, (ref.organization, ref.name, name), clusters, base_of)
        for ref in image.known.rollouts.silent_since
        for name in image.known.plugins.get(ref, ())
    ]
    return [each for each in every if each is not None]


def _delivered(
    image: Image,
    key: PluginKey,
    clusters: Mapping[Ref, Object[ClusterSpec]],
    base_of: Callable[[Object[ClusterSpec]], str],
) -> Delivered | None:
    """What a cluster of the fleet has got of a plugin."""
    cluster, record = clusters.get(Ref("Cluster", key[0], key[1])), image.deliveries.get(key)
    if cluster is None or record is None or record.since is None:
        return None
    base, applied = base_of(cluster), _applied(image, record)
    return Delivered(key, record.input_hash, record.since, cluster.spec.health, base, applied)


def _applied(image: Image, record: DeliveryRecord) -> Applied | None:
    if record.destination.kind != "kubernetes":
        return None
    state = image.states.get(record.input_hash)
    return Applied(record.destination.namespace, state.health if state is not None else ())


def _with_silence(image: Image, asked: list[Delivered], verdicts: Mapping[PluginKey, Verdict], now: datetime) -> Image:
    """Which clusters did not answer, since when. Who answers again, left, or has nothing to be asked about is not."""
    known = image.known.rollouts
    answers = {each.key: verdicts[each.key].reachable for each in asked if each.key in verdicts}
    heard = {key[:2] for key, reachable in answers.items() if reachable}
    clusters = {Ref("Cluster", *key[:2]) for key in answers if key[:2] not in heard}
    silent = {each: known.silent_since.get(each, now) for each in clusters}
    if silent == known.silent_since:
        return image
    return replace(image, known=replace(image.known, rollouts=structs.replace(known, silent_since=silent)))


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
