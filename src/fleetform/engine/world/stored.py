"""Stored: what earlier passes and people left behind about rollouts; each plugin has its own PluginState beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct, structs

from fleetform.engine.plan.records import Approval, Change, Emergency
from fleetform.engine.plan.rollouts import Rollout
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginKey
from fleetform.model.state import UNKNOWN, PluginState
from fleetform.syntax.hashing import as_written

# Identities of objects, with hashes of their content.
Contents = Mapping[str, str]


class AdmittedObjects(Struct, frozen=True):
    """What an owner's plugins were last made of: the objects that reached it, by hash (B3b).

    upcoming are those of the rollout that runs; they become what was admitted when it succeeds. earlier are those from
    before the last rollout, if that has succeeded: they are what was admitted again if it is rolled back (S50).
    """

    objects: Contents
    upcoming: Contents | None = None
    earlier: Contents | None = None


class OwnerRequest(Struct, frozen=True):
    """What people asked of an owner beside its rollout: an emergency; or that one change replaces the one that runs."""

    emergency: Emergency | None = None
    supersede: str | None = None


class Stored(Struct, frozen=True):
    """All that is stored about rollouts.

    rollouts are those of each owner, the oldest first; approvals are those that were not written as manifests, or were
    stamped with the policy that was in force when they were first seen. silent_since says which clusters do not answer,
    and silent_because what comes instead of an answer.
    """

    rollouts: Mapping[Ref, tuple[Rollout, ...]] = {}
    approvals: tuple[Approval, ...] = ()
    admitted: Mapping[Ref, AdmittedObjects] = {}
    requests: Mapping[Ref, OwnerRequest] = {}
    silent_since: Mapping[Ref, datetime] = {}
    silent_because: Mapping[Ref, str] = {}

    def with_rollout(self, rollout: Rollout) -> Stored:
        """With one rollout as it is now, in its place or as its owner's last."""
        known = self.rollouts.get(rollout.owner, ())
        if any(each.name == rollout.name for each in known):
            kept = tuple(rollout if each.name == rollout.name else each for each in known)
        else:
            kept = (*known, rollout)
        return structs.replace(self, rollouts={**self.rollouts, rollout.owner: kept})


NOTHING_STORED = Stored()


def objects_after(
    known: AdmittedObjects | None,
    before: Rollout | None,
    after: Rollout | None,
    now: Contents,
    is_settled: Callable[[], bool] = lambda: False,
) -> AdmittedObjects | None:
    """What is remembered of an owner's objects once its rollout is another: fixed when it starts, kept if it succeeds.

    What was aborted, rolled back or superseded was not admitted: the next change is named by what came before it, also
    after a rollout that had succeeded.
    Without a rollout nothing is on its way, so what is there now is what was admitted; and so it is after one that
    succeeded, once every plugin is what is wanted: an edit without effect is part of no later change.
    """
    if after is None:
        return AdmittedObjects(now) if known is None or known.objects != now else known
    if known is not None and not after.is_open and (before is None or before == after):
        succeeded = after.phase == "Succeeded" and not after.rejected
        without_effect = succeeded and known.objects != now and is_settled()
        return AdmittedObjects(now, earlier=known.earlier) if without_effect else known
    begins = after.started is not None and (before is None or before.name != after.name or before.started is None)
    upcoming = now if begins else known.upcoming if known is not None else None
    if after.phase == "Succeeded" and (begins or before is None or before.is_open):
        earlier = known.objects if known is not None else None
        return AdmittedObjects(upcoming if upcoming is not None else now, earlier=earlier or None)
    if not after.is_open:
        upcoming = None
    objects = known.objects if known is not None else {}
    if after.phase == "RollingBack" and known is not None and known.earlier is not None:
        objects = known.earlier
    found = AdmittedObjects(objects, upcoming)
    return known if found == known else found


def is_settled(change: Change, states: Mapping[PluginKey, PluginState]) -> bool:
    """Whether every plugin of an owner that is installed is what is wanted, whatever clusters read."""
    installed = ((each.wanted, states.get(each.key, UNKNOWN).admitted) for each in change.candidates)
    return all(has is None or as_written(has.input_hash) == as_written(wanted.input_hash) for wanted, has in installed)
