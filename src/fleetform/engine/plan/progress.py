"""Progress: how starts, observations and time move what is stored of a plugin (model/state). Nothing else moves it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct, structs

from fleetform.model.state import Attempt, Deployed, Enrolment, PluginState
from fleetform.syntax.hashing import differ_in_readings

Health = Literal["Healthy", "Failed", "Unknown"]


def started(
    progress: PluginState, target: Deployed, enrolment: Enrolment | None, rollout: str, now: datetime
) -> PluginState:
    """Target becomes admitted. What was healthy before the rollout first started something is what it returns to."""
    attempt = Attempt(target.input_hash or "", rollout, now, now)
    if enrolment is not None:
        before = enrolment.before if enrolment.before is not None else progress.last_healthy
        enrolment = structs.replace(enrolment, target=target, before=before, blocked="")
    place = enrolment or progress.enrolment
    return structs.replace(progress, admitted=target, attempt=attempt, enrolment=place, failure="")


def tried_again(progress: PluginState, now: datetime) -> PluginState:
    """What failed is started once more, and its failures stay counted (B34).

    It is still the attempt of whoever made it: of the rollout that people agreed to then, also if the plugin has its
    place in a later one by now; and a way back stays one. Places stay as they are: a later rollout that goes back has
    not brought this, and what it is about to repair was not healthy before it.
    """
    last = progress.attempt
    if last is None:
        raise ValueError("there is nothing to try again")
    again = Attempt(last.input_hash, last.rollout, now, now, failures=last.failures, back=last.back)
    return structs.replace(progress, attempt=again)


def is_reread(admitted: Deployed | None, wanted: Deployed) -> bool:
    """Whether the two differ in nothing but what was read on the cluster: a change of that cluster alone (B16)."""
    if admitted is None or admitted.input_hash is None or wanted.input_hash is None:
        return False
    return differ_in_readings(admitted.input_hash, wanted.input_hash)


def read_anew(progress: PluginState, target: Deployed, now: datetime) -> PluginState:
    """What is admitted becomes the same with other values of its cluster (B16).

    It is still what the rollout brought that brought it, and goes back with that; what would be returned to stays.
    """
    last, place = progress.attempt, progress.enrolment
    rollout = last.rollout if last is not None and not last.back else ""
    if place is not None and is_reread(place.target, target):
        place = structs.replace(place, target=target, blocked="")
    attempt = Attempt(target.input_hash or "", rollout, now, now)
    return structs.replace(progress, admitted=target, attempt=attempt, enrolment=place, failure="")


def rolled_back(progress: PluginState, rollout: str, now: datetime) -> PluginState:
    """What was healthy before becomes admitted again, by the rollout that goes back.

    It is still told why. What failed with another change, which had gone back from there before, is told no more.
    """
    place, last = progress.enrolment, progress.attempt
    if place is None or place.before is None:
        raise ValueError("there is nothing to roll back to")
    attempt = Attempt(place.before.input_hash or "", rollout, now, now, back=True)
    failure = "" if last is not None and last.back and last.phase == "Healthy" else progress.failure
    return structs.replace(progress, admitted=place.before, attempt=attempt, failure=failure)


def observed(progress: PluginState, input_hash: str, health: Health, at: datetime, message: str = "") -> PluginState:
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
        failure = progress.failure if attempt.back else ""
        return structs.replace(progress, attempt=healthy, last_healthy=progress.admitted, failure=failure)
    return progress if attempt.phase == "Failed" else failed(progress, at, message=message)


def failed(progress: PluginState, at: datetime, timed_out: bool = False, message: str = "") -> PluginState:
    if progress.attempt is None:
        return progress
    count = progress.attempt.failures + 1
    attempt = structs.replace(progress.attempt, phase="Failed", since=at, failures=count, timed_out=timed_out)
    return structs.replace(
        progress, attempt=attempt, failure=message or ("it took too long" if timed_out else "it failed")
    )


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

    def due_at_once(self, attempt: Attempt, now: datetime) -> Attempt:
        """A failed attempt of which what it lacked has come: its first retry is due."""
        return structs.replace(attempt, failures=1, since=now - min(self.first_retry, self.longest_retry))


def settle(
    progress: PluginState, silent_since: datetime | None, deadline: timedelta | None, patience: Patience, now: datetime
) -> tuple[PluginState, datetime | None]:
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
