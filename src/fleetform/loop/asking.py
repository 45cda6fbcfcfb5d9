"""Asking: what people request of rollouts, carried out between passes on what is stored.

The audit entry stands in the commit of the change; what was refused is an entry, too. A request that bears a key is
carried out once: who repeats it, because the answer was lost, gets the first one's answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from fleetform.app.errors import DeniedError, NoAnswerError
from fleetform.app.fleet import Fleet
from fleetform.app.permitted import must_have, visible_to
from fleetform.app.problems import problem, problem_of
from fleetform.app.rollout import Asked, Person, Rollouts
from fleetform.app.scope import scope_of
from fleetform.engine.check.roles import Right, Roles
from fleetform.model.answers.planning import RolloutAnswer
from fleetform.model.answers.problem import Problem
from fleetform.model.identity import Identity
from fleetform.model.objects import Ref
from fleetform.ports.state import KnownState
from fleetform.ports.store import Deed, Delete, Put, StoreReader
from fleetform.syntax.times import parse_duration

Verb = Literal["approve", "pause", "resume", "abort", "retry", "rollback", "start"]
# What somebody must be allowed to do to ask for each.
RIGHT_FOR: Mapping[Verb, Right] = {
    "approve": "approve",
    "pause": "edit",
    "resume": "edit",
    "retry": "edit",
    "abort": "operate",
    "rollback": "operate",
    "start": "operate",
}
# How long the answer to a request with a key is kept.
_REMEMBERED = timedelta(days=1)
_ANSWERED = "AnsweredRequest"
# Digits of half a tag.
_HALF = 32


class RolloutRequest(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What somebody asks of a rollout, in an organization or in whichever has it.

    behalf is somebody else in whose name it is asked; expires is how long an emergency lasts; key tells a repetition;
    if_match are the tags of the rollout as who asks has seen it, one of which it must still be.
    """

    verb: Verb
    name: str
    who: Identity
    behalf: str | None = None
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
    if_match: tuple[str, ...] = ()


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a request: what it means and the rollout as it stands then, or why it was refused."""

    message: str = ""
    rollout: RolloutAnswer | None = None
    problem: Problem | None = None


class ChangedError(NoAnswerError):
    """It is not as who asks has seen it."""

    code = "changed"
    status = 412
    exit_code = 4


class CarriedOut(NamedTuple):
    """A reply, what is known after it (None: nothing else than before), and the organization that it is about."""

    reply: Reply
    known: KnownState | None
    organization: str


class _Answered(Struct, frozen=True):
    """An answer that was given: at a time, to a request of this digest."""

    at: datetime
    request: str
    reply: Reply


def carry_out(fleet: Fleet, request: RolloutRequest) -> CarriedOut:
    """What is asked, on what is visible to who asks: what is not is not there."""
    judge = _Judge(fleet, request)
    try:
        everywhere = request.organization is None
        visible = visible_to(judge.roles, request.who)
        scope = scope_of(fleet, request.organization, everywhere, visible=visible)
        rollouts = Rollouts(fleet, scope, _person(request), judge.must_be_allowed)
        _check_unchanged(rollouts, request)
        asked = _VERBS[request.verb](rollouts, request)
    except NoAnswerError as error:
        return CarriedOut(Reply(problem=problem_of(error)), None, judge.organization)
    return CarriedOut(Reply(message=asked.message, rollout=asked.rollout), asked.known, judge.organization)


class _Judge:
    """Whether a request is allowed; organization is where the rollout is, once it was found."""

    def __init__(self, fleet: Fleet, request: RolloutRequest) -> None:
        self._organizations, self._request = fleet.snapshot.organizations, request
        self.roles = Roles(self._organizations, request.who)
        self.organization = request.organization or ""

    def must_be_allowed(self, organization: str) -> None:
        self.organization, request = organization, self._request
        right, what = RIGHT_FOR[request.verb], f"{request.verb} rollouts"
        must_have(self._organizations, self.roles, request.who, right, organization, what)
        if request.behalf is None:
            return
        what = "ask in the name of others"
        must_have(self._organizations, self.roles, request.who, "operate", organization, what)
        if request.verb == "approve" or request.emergency:
            raise DeniedError("consent is given by the person who signs in, and for nobody else", "drop --as")


def tag_of(rollout: RolloutAnswer) -> str:
    """Names an answer about a rollout: another as soon as anything of it is. Its first half names the rollout alone."""
    return _standing_of(rollout) + _half(rollout)


def _standing_of(rollout: RolloutAnswer) -> str:
    """Names a rollout as it stands, without what the time of an answer makes of it or what only some who answer know.

    That is by when to approve, and what clusters wait for.
    """
    stages = [
        structs.replace(each, approvals=structs.replace(each.approvals, decide_by=None, end=None, costs=None))
        if each.approvals is not None
        else each
        for each in rollout.stages
    ]
    return _half(structs.replace(rollout, stages=stages, causes=[]))


def _half(rollout: RolloutAnswer) -> str:
    return hashlib.sha256(msgspec.json.encode(rollout)).hexdigest()[:_HALF]


def _person(request: RolloutRequest) -> Person:
    who = request.who
    if request.behalf is None:
        return Person(who.user, frozenset(who.groups), request.reason, who.also)
    reason = f"asked by {who.shown}" + (f", {request.reason}" if request.reason else "")
    return Person(request.behalf, reason=reason)


def _check_unchanged(rollouts: Rollouts, request: RolloutRequest) -> None:
    if not request.if_match or "*" in request.if_match:
        return
    standing = _standing_of(rollouts.status(request.name))
    if standing not in {each[:_HALF] for each in request.if_match}:
        raise ChangedError(f"{request.name} is no longer as it was when you looked", "look at it again, then decide")


def deed_of(request: RolloutRequest, done: CarriedOut, now: datetime) -> Deed:
    reply, outcome = done.reply, "done"
    if reply.problem is not None:
        outcome = "denied" if reply.problem.code == "denied" else "refused"
    detail = reply.message or (reply.problem.detail if reply.problem is not None else "")
    who = request.who.signature + (f" as {request.behalf}" if request.behalf is not None else "")
    return Deed(now, who, f"rollout {request.verb}", request.name, outcome, done.organization, detail)


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
    return Ref(_ANSWERED, "", hashlib.sha256(f"{request.who.user}\0{request.key}".encode()).hexdigest())


def _digest(request: RolloutRequest) -> str:
    return hashlib.sha256(msgspec.json.encode(structs.replace(request, who=Identity(request.who.user)))).hexdigest()


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
