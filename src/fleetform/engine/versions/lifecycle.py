"""Lifecycle: durations of policies, and the times of one upgrade.

The platform's policy sets ceilings; an organization chooses below them. What it chooses above is refused where it is
written, and clamped for what already runs (R2-12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.kinds.definition import Changes
from fleetform.model.kinds.lifecycle import LifecyclePolicySpec
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import Revision
from fleetform.model.snapshot import Snapshot
from fleetform.syntax.times import parse_duration, parse_time

ANNOUNCED = "fleetform.dev/announced"
# Durations an organization may choose, by attribute and written name; the platform's is the longest it may choose.
REVISION_HISTORY = 10
DURATIONS = {
    "notice": "notice",
    "grace": "grace",
    "force_after": "forceAfter",
    "max_soak": "maxSoak",
    "max_stage_wait": "maxStageWait",
}


class Lifecycle(NamedTuple):
    """The durations in force for an organization; None if no policy has one."""

    notice: timedelta = timedelta(0)
    grace: timedelta | None = None
    force_after: timedelta | None = None
    max_soak: timedelta | None = None
    max_stage_wait: timedelta | None = None
    revision_history: int = REVISION_HISTORY


class UpgradeTimes(NamedTuple):
    """When an upgrade was announced, when it may start, until when it may wait, and when it is forced."""

    announced: datetime
    not_before: datetime
    grace_until: datetime | None = None
    forced: datetime | None = None


def lifecycle_of(platform: LifecyclePolicySpec | None, own: LifecyclePolicySpec | None) -> Lifecycle:
    """An organization's choices, clamped to the platform's ceilings."""
    durations: dict[str, timedelta | None] = {}
    for attribute in DURATIONS:
        given = [each for each in (_duration(platform, attribute), _duration(own, attribute)) if each is not None]
        durations[attribute] = min(given, default=None)
    limits = [each.revision_history for each in (platform, own) if each is not None]
    return Lifecycle(
        durations["notice"] or timedelta(0),
        durations["grace"],
        durations["force_after"],
        durations["max_soak"],
        durations["max_stage_wait"],
        min((each for each in limits if each is not None), default=REVISION_HISTORY),
    )


def lifecycle_in(snapshot: Snapshot, organization: str) -> Lifecycle:
    """What policies say to an organization."""
    return lifecycle_of(*policies_in(snapshot, organization))


def policies_in(snapshot: Snapshot, organization: str) -> tuple[LifecyclePolicySpec | None, LifecyclePolicySpec | None]:
    """The platform's policy, and the organization's own."""
    homes = [PLATFORM_NAMESPACE, organization]
    found = [snapshot.others.get(Ref("LifecyclePolicy", home, "default")) for home in homes]
    specs = [each.spec if each is not None and isinstance(each.spec, LifecyclePolicySpec) else None for each in found]
    return specs[0], specs[1]


def above_ceilings(platform: LifecyclePolicySpec | None, own: LifecyclePolicySpec) -> Iterator[tuple[str, str]]:
    """The fields in which an organization chooses more than the platform allows, with the ceiling as written."""
    for attribute, written in DURATIONS.items():
        ceiling, choice = _duration(platform, attribute), _duration(own, attribute)
        if ceiling is not None and choice is not None and choice > ceiling:
            yield written, str(getattr(platform, attribute))
    limit = platform.revision_history if platform is not None else None
    if limit is not None and own.revision_history is not None and own.revision_history > limit:
        yield "revisionHistory", str(limit)


def _duration(policy: LifecyclePolicySpec | Changes | None, attribute: str) -> timedelta | None:
    """A duration that somebody wrote; one that cannot be read counts as none, and is reported where it is checked."""
    text = getattr(policy, attribute, None)
    try:
        return parse_duration(text) if text is not None else None
    except ValueError:
        return None


def upgrade_times(
    lifecycle: Lifecycle, passed: Iterable[Revision], wanted: Revision, snapshot: Snapshot
) -> UpgradeTimes:
    """The times of an upgrade to a revision; grace and force concern versions that break on the way."""
    announced = announced_at(wanted, snapshot)
    breaking = [each for each in passed if each.object.spec.changes is not None and each.object.spec.changes.breaking]
    not_before = later(announced, lifecycle.notice)
    if not breaking:
        return UpgradeTimes(announced, not_before)
    since = min(announced_at(each, snapshot) for each in breaking)
    # A version may lengthen the policy's grace.
    graces = [lifecycle.grace, *(_duration(each.object.spec.changes, "grace") for each in breaking)]
    longest = max(each or timedelta(0) for each in graces)
    grace_until = later(since, longest) if longest else None
    # Forced only where the policy has forceAfter, and never before the grace is over.
    forced = later(since, lifecycle.force_after) if lifecycle.force_after is not None else None
    return UpgradeTimes(
        announced, not_before, grace_until, max(forced, grace_until) if forced and grace_until else forced
    )


def forced_at(
    lifecycle: Lifecycle, breaking: Sequence[Revision], wanted: Revision, snapshot: Snapshot
) -> datetime | None:
    """When versions that break wait for consent no longer (S56); None where nothing says when they were announced."""
    if lifecycle.force_after is None or any(known_announcement(each, snapshot) is None for each in breaking):
        return None
    return upgrade_times(lifecycle, breaking, wanted, snapshot).forced


def later(time: datetime, by: timedelta) -> datetime:
    """A time after another; beyond the last that there is, that one."""
    try:
        return time + by
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC, microsecond=0)


def announced_at(revision: Revision, snapshot: Snapshot) -> datetime:
    """When a revision was announced: now, if nothing says when."""
    return known_announcement(revision, snapshot) or snapshot.at


def known_announcement(revision: Revision, snapshot: Snapshot) -> datetime | None:
    """When a revision was announced, as its annotation says, or the stamp of an earlier pass."""
    stamp = (revision.object.metadata.annotations or {}).get(ANNOUNCED)
    try:
        if stamp is not None:
            return parse_time(stamp)
    except ValueError:
        # Reported where the definition is checked.
        pass
    return snapshot.announced.get((revision.object.ref, revision.version))
