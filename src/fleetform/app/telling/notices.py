"""A notice: what is told once, and the key by which it is known that it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import nsmallest
from typing import NamedTuple

from fleetform.model.answers.notifications import Cause, Notification
from fleetform.model.kinds.fleet import Event
from fleetform.model.objects import Ref
from fleetform.syntax.times import time_text

# So many clusters are named; the others are counted.
MOST_NAMED = 5
# So many causes are told apart in one notice.
MOST_CAUSES = 5


class Notice(NamedTuple):
    """What is told, under a key: what was stored under it once is never told again (R2-25)."""

    key: str
    notification: Notification


class Subject(NamedTuple):
    """What a notice is about: an owner's change, its rollout, and the versions that it leads from and to."""

    owner: Ref
    change_id: str
    rollout: str = ""
    before: Sequence[str] = ()
    after: Sequence[str] = ()

    @property
    def title(self) -> str:
        """`cert-manager 1.3.2 → 1.4.0`."""
        before, after = ", ".join(self.before), ", ".join(self.after)
        if not after:
            return self.owner.name
        return f"{self.owner.name} {before} → {after}" if before and before != after else f"{self.owner.name} {after}"


def notice(
    event: Event,
    subject: Subject,
    at: datetime,
    said: str,
    clusters: Iterable[str],
    *,
    stage: str = "",
    instance: str = "",
    causes: Sequence[Cause] = (),
    until: datetime | None = None,
    do: str = "",
) -> Notice:
    """instance tells apart what may happen several times to one stage of a change."""
    owner = subject.owner
    names = set(clusters)
    key = key_of(event, subject, stage, instance)
    return Notice(
        key,
        Notification(
            id=id_of(key),
            event=event,
            at=time_text(at),
            organization=owner.organization,
            preset=owner.name,
            title=f"{subject.title} {said}",
            clusters=len(names),
            names=nsmallest(MOST_NAMED, names),
            from_=list(subject.before),
            to=list(subject.after),
            rollout=subject.rollout,
            change_id=subject.change_id,
            stage=stage,
            causes=list(causes),
            until=time_text(until) if until is not None else None,
            do=do,
        ),
    )


def cause(message: str, clusters: Iterable[str]) -> Cause:
    names = set(clusters)
    return Cause(message=message, clusters=len(names), names=nsmallest(MOST_NAMED, names))


def key_of(event: Event, subject: Subject, stage: str = "", instance: str = "") -> str:
    thing = subject.rollout or str(subject.owner)
    parts = (event, subject.change_id, stage, f"{subject.owner.organization}/{thing}", instance)
    return "|".join(parts).rstrip("|")


def id_of(key: str) -> str:
    """What a message is known by to those who get it: nothing of the fleet can be read in it."""
    return f"msg_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def digest(text: str) -> str:
    """A short name of a text, for keys."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
