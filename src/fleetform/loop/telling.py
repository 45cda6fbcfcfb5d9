"""Telling: what people must hear becomes messages, stored in the commit of what they are about (R2-25).

A message without an endpoint is the feed's; one more stands there for each endpoint that wants to hear of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from fleetform.app.answering.advice import Words, in_commands
from fleetform.app.answering.waits import prospect_of
from fleetform.app.fleet import Fleet
from fleetform.app.support_ends import Ending, support_ends
from fleetform.app.telling.notices import Notice
from fleetform.app.telling.plans import Knowledge, Quiet, Told, plan_notices
from fleetform.app.telling.rollouts import rollout_notices
from fleetform.app.telling.support import support_notices
from fleetform.engine.plan.records import OwnerPlan, Plan
from fleetform.engine.plan.rollouts import Rollout
from fleetform.engine.versions.upgrade_gates import is_acknowledged
from fleetform.loop.endpoints import endpoints_of, is_disabled
from fleetform.loop.image import Image
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.ports.store import Message, StoreReader

# In which order people read what happened at one time.
_ORDER = (
    "Forced", "Started", "UpdatePending", "Blocked", "ApprovalNeeded", "Countdown", "Failed", "Halted", "RolledBack",
    "Finished",
)  # fmt: skip


class Telling:
    """Remembers what was told, so that a pass without news asks the store nothing; what counts is stored. endings are
    versions whose support ends, as of the last plan.

    sends: whether messages go to endpoints; in a trial they do not. words say what people can do where they are told.
    """

    def __init__(self, store: StoreReader, sends: bool = True, words: Words = in_commands) -> None:
        self._store, self._sends, self._words = store, sends, words
        self._told: set[str] = set()
        self._due: dict[tuple[str, str], tuple[object, datetime | None]] = {}
        self._last: tuple[Plan, datetime | None, object] | None = None
        self._quiet: Mapping[Ref, Quiet] = {}
        self.endings: Sequence[Ending] = ()

    def of_rollouts(self, before: Image, after: Image, fleet: Fleet | None, now: datetime) -> list[Message]:
        """What is told of rollouts that a commit makes others."""
        notices = rollout_notices(before.known.rollouts, after.known.rollouts, after.known.plugins, now, self._words)
        return self._messages(notices, fleet)

    def of_plan(self, fleet: Fleet, found: Plan, now: datetime) -> list[Message]:
        """What is told of a plan; nothing if it is the one before and no countdown is due."""
        # Policies stand there: they say when support ends.
        others, last = fleet.snapshot.others, self._last
        if last is not None and last[0] is found and last[2] is others and (last[1] is None or now < last[1]):
            return []
        self.endings = support_ends(fleet)
        told, ending = self._notices(fleet, found, now), support_notices(self.endings, now, self._words)
        looks = [each for each in (told.look_at, ending.look_at) if each is not None]
        self._last, self._quiet = (found, min(looks, default=None), others), told.quiet
        return self._messages([*told.notices, *ending.notices], fleet)

    @property
    def look_at(self) -> datetime | None:
        """When time alone gives something to tell."""
        return self._last[1] if self._last is not None else None

    def forget(self) -> None:
        """Begin again from what is stored."""
        self._told.clear()
        self._last, self._quiet = None, {}

    def _notices(self, fleet: Fleet, found: Plan, now: datetime) -> Told:
        def decide_by(owner: OwnerPlan, rollout: Rollout, stage: str) -> datetime | None:
            # Simulated when a stage begins and when it has come to rest, and not for each of its clusters.
            moves = tuple((each.started is not None, each.in_flight > 0) for each in owner.stages)
            known = self._due.get((rollout.name, stage))
            if known is None or known[0] != moves:
                due = prospect_of(found.world, owner, now).decide_by(stage)
                known = self._due[rollout.name, stage] = (moves, due.at if due is not None else None)
            return known[1]

        known = Knowledge(self._told, lambda key: _is_forced(fleet, key), decide_by, self._words)
        return plan_notices(found, known, now, self._quiet)

    def _messages(self, notices: Iterable[Notice], fleet: Fleet | None) -> list[Message]:
        new = {each.key: each for each in notices if each.key not in self._told}
        if not new:
            return []
        known = self._store.told(new)
        self._told |= known
        return [message for key, each in new.items() if key not in known for message in self._addressed(each, fleet)]

    def _addressed(self, notice: Notice, fleet: Fleet | None) -> list[Message]:
        """The message for the feed, and one for each endpoint that wants it."""
        key, told = notice
        body = msgspec.json.encode(told)
        at = msgspec.convert(told.at, datetime)
        found = [Message(key, at, told.organization, told.event, body)]
        for wanted in endpoints_of(fleet, told.organization) if fleet is not None and self._sends else ():
            if wanted.wants(told.event) and not is_disabled(self._store, told.organization, wanted.id):
                found.append(Message(f"{key}>{wanted.id}", at, told.organization, told.event, body, wanted.id))
        return found


def in_order(messages: Iterable[Message]) -> list[Message]:
    """The messages of one commit, as they are read."""
    return sorted(messages, key=lambda each: _ORDER.index(each.event) if each.event in _ORDER else len(_ORDER))


def _is_forced(fleet: Fleet, key: PluginKey) -> bool:
    """Whether a version that breaks goes ahead though nobody acknowledged it."""
    decisions = fleet.decisions
    plugin = decisions.plugins.get(key)
    if plugin is None:
        # Plans have those, too, whose release another owner keeps: nothing of theirs goes ahead.
        return False
    wanted, running = plugin.upgrade or plugin, fleet.state.plugin(plugin.cluster.ref, key[2]).admitted
    owner = decisions.index.owners.get(wanted.target.owner)
    revision = wanted.target.revision
    if owner is None or revision is None or running is None or running.version is None:
        return False
    breaking = decisions.sharing.step(running.version, revision).breaking
    return any(not is_acknowledged(owner, plugin.cluster, each.version) for each in breaking)
