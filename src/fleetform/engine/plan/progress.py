"""Progress: what is stored of one plugin's way from state to state, and how observations and time move it.

Everything here is a fact that was written down when it happened. A phase binds the input hash that it is about: a
plugin is done when that very hash was observed healthy, and no version, generation or later time can stand in for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct, structs

from fleetform.model.state import Deployed

Phase = Literal["Applying", "Healthy", "Failed", "SetAside"]
Health = Literal["Healthy", "Failed", "Unknown"]


class Attempt(Struct, frozen=True, gc=False):
    """The last time that something was started on a plugin: which hash, by which rollout, and what came of it.

    since is when the phase began. failures counts since the hash was first started, so that retries end; back marks a
    way back to what was healthy before.
    """

    input_hash: str
    rollout: str
    started: datetime
    since: datetime
    phase: Phase = "Applying"
    failures: int = 0
    timed_out: bool = False
    back: bool = False


class Enrolment(Struct, frozen=True, gc=False):
    """A plugin's place in a rollout, fixed when the rollout starts (B21).

    target is what the rollout brings it to: a newer wish does not disturb a rollout that runs (B8). before is what was
    healthy when it was started, to which a rollback returns. joined marks a cluster that came later. stage is "" for a
    kind of change that is not staged, and None where no stage selects the cluster.
    """

    rollout: str
    stage: str | None
    target: Deployed
    before: Deployed | None = None
    irreversible: bool = False
    joined: bool = False


class Progress(Struct, frozen=True, gc=False):
    """What is stored of one plugin on one cluster. render_failed is the input hash that could not be rendered (B2)."""

    admitted: Deployed | None = None
    last_healthy: Deployed | None = None
    attempt: Attempt | None = None
    enrolment: Enrolment | None = None
    render_failed: str | None = None

    @property
    def in_flight(self) -> bool:
        return self.attempt is not None and self.attempt.phase == "Applying"

    @property
    def is_healthy(self) -> bool:
        """What is admitted was observed healthy; a state that says no more than that much counts too."""
        if self.admitted is None or self.last_healthy is None:
            return False
        healthy = self.attempt is None or self.attempt.phase == "Healthy"
        return healthy and self.last_healthy.input_hash == self.admitted.input_hash


NOTHING_STORED = Progress()


def started(progress: Progress, target: Deployed, enrolment: Enrolment | None, rollout: str, now: datetime) -> Progress:
    """Target becomes admitted. A hash that failed and is started again keeps count of its failures."""
    hash_ = target.input_hash or ""
    last = progress.attempt
    failures = last.failures if last is not None and last.input_hash == hash_ and not last.back else 0
    attempt = Attempt(hash_, rollout, now, now, failures=failures)
    if enrolment is not None:
        # A retry must not take what it is about to repair for what was healthy before it.
        again = progress.admitted is not None and progress.admitted.input_hash == hash_
        before = enrolment.before if again else progress.last_healthy
        enrolment = structs.replace(enrolment, target=target, before=before)
    return structs.replace(progress, admitted=target, attempt=attempt, enrolment=enrolment or progress.enrolment)


def rolled_back(progress: Progress, now: datetime) -> Progress:
    """What was healthy before becomes admitted again."""
    place = progress.enrolment
    if place is None or place.before is None:
        raise ValueError("there is nothing to go back to")
    attempt = Attempt(place.before.input_hash or "", place.rollout, now, now, back=True)
    return structs.replace(progress, admitted=place.before, attempt=attempt)


def observed(progress: Progress, input_hash: str, health: Health, at: datetime) -> Progress:
    """An observation of a hash on the cluster; one of another hash than the last that was started says nothing.

    Unknown is neither done nor failed and changes nothing. Healthy again does not restart a soak; failed ends it.
    """
    attempt = progress.attempt
    if attempt is None or attempt.input_hash != input_hash or health == "Unknown":
        return progress
    if health == "Healthy":
        if attempt.phase == "Healthy":
            return progress
        healthy = structs.replace(attempt, phase="Healthy", since=at, timed_out=False)
        return structs.replace(progress, attempt=healthy, last_healthy=progress.admitted)
    return progress if attempt.phase == "Failed" else failed(progress, at)


def failed(progress: Progress, at: datetime, timed_out: bool = False) -> Progress:
    if progress.attempt is None:
        return progress
    count = progress.attempt.failures + 1
    attempt = structs.replace(progress.attempt, phase="Failed", since=at, failures=count, timed_out=timed_out)
    return structs.replace(progress, attempt=attempt)


class Patience(Struct, frozen=True, gc=False):
    """How long things may take: until a silent cluster counts as unreachable, and between retries (B25, B34)."""

    unreachable_after: timedelta = timedelta(minutes=15)
    retries: int = 3
    first_retry: timedelta = timedelta(minutes=1)
    longest_retry: timedelta = timedelta(hours=1)

    def retry_at(self, attempt: Attempt) -> datetime | None:
        """When a failed attempt is tried again; None: never by itself."""
        if attempt.failures > self.retries:
            return None
        return attempt.since + min(self.first_retry * (1 << (attempt.failures - 1)), self.longest_retry)


def settle(
    progress: Progress, silent_since: datetime | None, deadline: timedelta | None, patience: Patience, now: datetime
) -> tuple[Progress, datetime | None]:
    """What time alone does to an attempt: a deadline fails it, silence sets it aside, and a return resumes it.

    Also when time will do something next. A silent cluster can neither be done nor have failed, so no deadline counts
    against it; its slot is free once it is set aside, and it catches up when it returns (B25).
    """
    attempt = progress.attempt
    if attempt is None:
        return progress, None
    if attempt.phase == "SetAside":
        if silent_since is not None:
            return progress, None
        back = structs.replace(attempt, phase="Applying", since=now)
        return structs.replace(progress, attempt=back), now + deadline if deadline is not None else None
    if attempt.phase != "Applying":
        return progress, None
    if silent_since is not None:
        ends = max(silent_since, attempt.started) + patience.unreachable_after
        if now < ends:
            return progress, ends
        return structs.replace(progress, attempt=structs.replace(attempt, phase="SetAside", since=now)), None
    if deadline is None:
        return progress, None
    ends = attempt.since + deadline
    return (progress, ends) if now < ends else (failed(progress, now, timed_out=True), None)
