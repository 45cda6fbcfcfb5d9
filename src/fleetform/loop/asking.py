"""Asking: what people request of rollouts, carried out between passes on what is stored.

The audit entry stands in the commit of the change; what was refused is an entry, too. A request that bears a key is
carried out once: who repeats it, because the answer was lost, gets the first one's answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from fleetform.app.errors import NoAnswerError
from fleetform.app.fleet import Fleet
from fleetform.app.problems import problem, problem_of
from fleetform.app.rollout import Asked, Person, Rollouts
from fleetform.app.scope import scope_of
from fleetform.model.answers.planning import RolloutAnswer
from fleetform.model.answers.problem import Problem
from fleetform.model.objects import Ref
from fleetform.ports.state import KnownState
from fleetform.ports.store import Deed, Delete, Put, StoreReader
from fleetform.syntax.times import parse_duration

Verb = Literal["approve", "pause", "resume", "abort", "retry", "rollback", "start"]
# How long the answer to a request with a key is kept.
_REMEMBERED = timedelta(days=1)
_ANSWERED = "AnsweredRequest"


class RolloutRequest(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What somebody asks of a rollout, in an organization or in whichever has it.

    expires is how long an emergency lasts; key tells a repetition.
    """

    verb: Verb
    name: str
    user: str
    groups: list[str] = []
    organization: str | None = None
    reason: str = ""
    stage: str = ""
    change: str | None = None
    to: str | None = None
    emergency: bool = False
    supersede: bool = False
    expires: str = "24h"
    dry_run: bool = False
    key: str = ""


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a request: what it means and the rollout as it stands then, or why it was refused."""

    message: str = ""
    rollout: RolloutAnswer | None = None
    problem: Problem | None = None


class CarriedOut(NamedTuple):
    """A reply, and what is known after it; None: nothing else than before."""

    reply: Reply
    known: KnownState | None


class _Answered(Struct, frozen=True):
    """An answer that was given: at a time, to a request of this digest."""

    at: datetime
    request: str
    reply: Reply


def carry_out(fleet: Fleet, request: RolloutRequest) -> CarriedOut:
    try:
        scope = scope_of(fleet, request.organization, everywhere=request.organization is None)
        person = Person(request.user, frozenset(request.groups), request.reason)
        asked = _VERBS[request.verb](Rollouts(fleet, scope, person), request)
    except NoAnswerError as error:
        return CarriedOut(Reply(problem=problem_of(error)), None)
    return CarriedOut(Reply(message=asked.message, rollout=asked.rollout), asked.known)


def deed_of(request: RolloutRequest, reply: Reply, now: datetime) -> Deed:
    outcome = "done"
    if reply.problem is not None:
        outcome = "denied" if reply.problem.code == "denied" else "refused"
    detail = reply.message or (reply.problem.detail if reply.problem is not None else "")
    organization = reply.rollout.organization if reply.rollout is not None else request.organization or ""
    return Deed(now, request.user, f"rollout {request.verb}", request.name, outcome, organization, detail)


def answered_before(store: StoreReader, request: RolloutRequest) -> Reply | None:
    """The answer that a request with this key got already."""
    if not request.key:
        return None
    record = store.get(_ref(request))
    if record is None:
        return None
    found = msgspec.json.decode(record.body, type=_Answered)
    if found.request != _digest(request):
        detail = "this Idempotency-Key was used for another request"
        return Reply(problem=problem(422, "refused", detail, "a new request needs a new key"))
    return found.reply


def to_remember(store: StoreReader, request: RolloutRequest, reply: Reply, now: datetime) -> list[Put | Delete]:
    """What is stored so that a repetition is known; what was kept long enough is removed."""
    if not request.key:
        return []
    kept = [(each.ref, msgspec.json.decode(each.body, type=_Answered)) for each in store.list(_ANSWERED).records]
    old: list[Put | Delete] = [
        Delete(ref) for ref, each in kept if now - each.at > _REMEMBERED and ref != _ref(request)
    ]
    return [*old, Put(_ref(request), msgspec.json.encode(_Answered(now, _digest(request), reply)))]


def _ref(request: RolloutRequest) -> Ref:
    return Ref(_ANSWERED, "", hashlib.sha256(f"{request.user}\0{request.key}".encode()).hexdigest())


def _digest(request: RolloutRequest) -> str:
    return hashlib.sha256(msgspec.json.encode(structs.replace(request, groups=[]))).hexdigest()


def _start(rollouts: Rollouts, request: RolloutRequest) -> Asked:
    try:
        lasts = parse_duration(request.expires)
    except ValueError as error:
        raise NoAnswerError(f"{request.expires} is not a duration", "write 4h or 1d") from error
    return rollouts.start(request.name, request.emergency, request.supersede, lasts)


_VERBS: dict[Verb, Callable[[Rollouts, RolloutRequest], Asked]] = {
    "approve": lambda rollouts, request: rollouts.approve(request.name, request.stage, request.change),
    "pause": lambda rollouts, request: rollouts.pause(request.name),
    "resume": lambda rollouts, request: rollouts.resume(request.name),
    "abort": lambda rollouts, request: rollouts.abort(request.name),
    "retry": lambda rollouts, request: rollouts.retry(request.name),
    "rollback": lambda rollouts, request: rollouts.roll_back(request.name, request.to),
    "start": _start,
}
