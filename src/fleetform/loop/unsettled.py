"""Which plugins a pass may have to do something about: what is under way, what soaks, what is not where it should be.

Of a large fleet that is next to nothing at most passes, and looking at everything to find it would be most of the work.
It follows from the image alone, and is found from what differs between the image and the one of the last look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from fleetform.engine.index.differences import changed_keys
from fleetform.loop.image import Image
from fleetform.loop.records import DeliveryRecord
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import PluginState


class Unsettled:
    """What is unsettled in the image that was looked at last."""

    def __init__(self) -> None:
        self._plugins: Mapping[Ref, Mapping[str, PluginState]] = {}
        self._deliveries: Mapping[PluginKey, DeliveryRecord] = {}
        self._under_way: set[PluginKey] = set()
        self._undelivered: set[PluginKey] = set()
        self._retries: dict[PluginKey, datetime] = {}
        self._rollout_of: dict[PluginKey, str] = {}
        self._in_rollout: dict[str, set[PluginKey]] = {}

    def look(self, image: Image) -> Unsettled:
        changed: set[PluginKey] = set()
        for ref in changed_keys(image.known.plugins, self._plugins):
            here, before = image.known.plugins.get(ref, {}), self._plugins.get(ref, {})
            changed.update((ref.organization, ref.name, name) for name in changed_keys(here, before))
        changed.update(changed_keys(image.deliveries, self._deliveries))
        self._plugins, self._deliveries = image.known.plugins, image.deliveries
        for key in changed:
            self._sort(key, image.plugin(key), image.deliveries.get(key))
        return self

    def judged(self, open_rollouts: Iterable[str]) -> list[PluginKey]:
        """Plugins whose health matters now: what is under way, and everything in rollouts that are open."""
        soaking = (self._in_rollout.get(each, ()) for each in open_rollouts)
        return sorted(self._under_way.union(*soaking))

    def enrolled(self, open_rollouts: Iterable[str]) -> Iterator[PluginKey]:
        for each in open_rollouts:
            yield from self._in_rollout.get(each, ())

    @property
    def undelivered(self) -> frozenset[PluginKey]:
        """Plugins of which something else was admitted than was delivered, or whose last delivery left something to
        do."""
        return frozenset(self._undelivered)

    @property
    def next_delivery(self) -> datetime | None:
        """When something that failed is tried again."""
        return min(self._retries.values(), default=None)

    def _sort(self, key: PluginKey, state: PluginState, record: DeliveryRecord | None) -> None:
        attempt, admitted, place = state.attempt, state.admitted, state.enrolment
        under_way = attempt is not None and attempt.phase in ("Applying", "SetAside")
        wanted = admitted.input_hash if admitted is not None and attempt is not None else None
        _put(self._under_way, key, under_way)
        failing = record.failing if record is not None else None
        misplaced = record is None or record.input_hash != wanted or bool(record.leaves) or failing is not None
        _put(self._undelivered, key, wanted is not None and misplaced)
        if failing is not None and failing.retry_at is not None:
            self._retries[key] = failing.retry_at
        else:
            self._retries.pop(key, None)
        self._enrol(key, place.rollout if place is not None else "")

    def _enrol(self, key: PluginKey, rollout: str) -> None:
        before = self._rollout_of.get(key, "")
        if before == rollout:
            return
        if before:
            members = self._in_rollout[before]
            members.discard(key)
            if not members:
                del self._in_rollout[before]
            del self._rollout_of[key]
        if rollout:
            self._rollout_of[key] = rollout
            self._in_rollout.setdefault(rollout, set()).add(key)


def _put(keys: set[PluginKey], key: PluginKey, holds: bool) -> None:
    if holds:
        keys.add(key)
    else:
        keys.discard(key)
