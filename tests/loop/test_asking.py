"""Requests to rollouts as the control plane takes them: who may, what is recorded, and what a repetition gets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from fleetform.loop.asking import (
    CarriedOut,
    Reply,
    RolloutRequest,
    answered_before,
    carry_out,
    deed_of,
    tag_of,
    to_remember,
)
from fleetform.model.identity import Identity
from fleetform.ports.store import Commit, Deed, Delete, Put
from fleetform.store.memory import MemoryStore
from support.fleets import NOW
from support.worlds import Folder, definition, installed, policy

NEW = definition("1.0.0") + "---\n" + definition("1.1.0")
ASKS = "{name: all, remainder: true, approvals: {required: 1, from: {users: [ann, oda]}}}"
OWNER = Identity("root", owner=True)


@pytest.fixture(scope="module")
def folder() -> Folder:
    """A rollout that waits for approval."""
    found = installed(policy=policy("{name: all, remainder: true}"))
    found.edit(certs=NEW, policy=policy(ASKS))
    found.go()
    return found


def request(verb: Any, who: Identity = OWNER, **more: Any) -> RolloutRequest:
    return RolloutRequest(verb=verb, name=more.pop("name", "certs"), who=who, **more)


def asked(folder: Folder, verb: str, who: Identity = OWNER, **more: Any) -> CarriedOut:
    return carry_out(folder.fleet, request(verb, who, **more))


def test_what_is_asked_is_known_after_it_and_named_in_its_organization(folder: Folder) -> None:
    done = asked(folder, "pause", reason="INC-1")
    assert done.reply.problem is None
    assert done.reply.message.endswith("is paused: nothing new starts, what is in flight ends")
    assert done.reply.rollout is not None
    assert done.reply.rollout.note == "root: INC-1"
    assert done.organization == "acme"
    assert done.known is not None
    (rollouts,) = done.known.rollouts.rollouts.values()
    assert rollouts[-1].paused


@pytest.mark.parametrize(
    ("verb", "more", "code"),
    [
        ("pause", {"name": "none"}, "not-found"),
        ("resume", {}, "no-answer"),
        ("approve", {"stage": "none"}, "not-found"),
        ("approve", {"stage": "all", "change": "c1:other"}, "denied"),
        ("rollback", {"to": "9.9.9"}, "no-answer"),
        ("start", {"emergency": True, "expires": "soon", "reason": "x"}, "no-answer"),
        ("start", {}, "no-answer"),
        ("retry", {}, "no-answer"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    folder: Folder, verb: str, more: dict[str, Any], code: str
) -> None:
    done = asked(folder, verb, **more)
    assert done.known is None
    assert done.reply.problem is not None
    assert (done.reply.message, done.reply.rollout) == ("", None)
    deed = deed_of(request(verb, **more), done, NOW)
    assert deed.outcome == ("denied" if done.reply.problem.code == "denied" else "refused")
    assert deed.detail == done.reply.problem.detail


@pytest.mark.parametrize(
    ("count", "hint"),
    [(1, "there is s1"), (2, "there are s1, s2"), (9, "there are s1, s2, s3, s4, s5, s6, s7, s8, …")],
)
def test_of_a_stage_that_is_not_there_the_first_eight_stages_are_named(count: int, hint: str) -> None:
    folder = installed(policy=policy("{name: all, remainder: true}"))
    chosen = [
        f"{{name: s{number}, clusterSelector: {{matchLabels: {{tier: t{number}}}}}}}" for number in range(1, count)
    ]
    folder.edit(certs=NEW, policy=policy(", ".join([*chosen, f"{{name: s{count}, remainder: true}}"])))
    problem = asked(folder, "approve", stage="gold").reply.problem
    assert problem is not None
    assert problem.hint == hint


def test_a_deed_says_who_did_what_to_which_rollout(folder: Folder) -> None:
    done = asked(folder, "pause")
    deed = deed_of(request("pause"), done, NOW)
    assert deed == Deed(NOW, OWNER.signature, "rollout pause", "certs", "done", "acme", done.reply.message)
    in_the_name_of_ann = deed_of(request("pause", behalf="ann"), done, NOW)
    assert in_the_name_of_ann == structs.replace(deed, actor=f"{OWNER.signature} as ann")


def test_in_the_name_of_others_anything_is_asked_but_consent(folder: Folder) -> None:
    done = asked(folder, "pause", behalf="ann", reason="INC-1")
    assert done.reply.rollout is not None
    assert done.reply.rollout.note == "ann: asked by root, INC-1"
    plain = asked(folder, "pause", behalf="ann")
    assert plain.reply.rollout is not None
    assert plain.reply.rollout.note == "ann: asked by root"
    for verb, more in (("approve", {"stage": "all"}), ("start", {"emergency": True, "reason": "x"})):
        refused = asked(folder, verb, behalf="ann", **more).reply.problem
        assert refused is not None
        assert refused.detail == "consent is given by the person who signs in, and for nobody else"
    assert asked(folder, "start", supersede=True, behalf="ann").reply.problem is None


def test_a_rollout_that_somebody_has_seen_otherwise_is_not_touched(folder: Folder) -> None:
    seen = asked(folder, "pause").reply.rollout
    assert seen is not None
    now = asked(folder, "pause", if_match=("*",))
    assert now.reply.problem is None
    changed = asked(folder, "pause", if_match=("0" * 32,)).reply.problem
    assert changed is not None
    assert changed.detail == "certs is no longer as it was when you looked"
    assert asked(folder, "pause", if_match=("*", "0" * 32)).reply.problem is None
    assert len(tag_of(seen)) == 64
    assert tag_of(seen) != tag_of(structs.replace(seen, note="other"))


# ---- Repetitions


def stored(store: MemoryStore, asked: RolloutRequest, reply: Reply, at: Any = NOW) -> list[Put | Delete]:
    writes = to_remember(store, asked, reply, at)
    store.commit(Commit(writes), at)
    return writes


def test_a_repetition_gets_the_answer_of_the_first_time() -> None:
    store = MemoryStore()
    first, reply = request("pause", key="k1"), Reply(message="paused")
    assert answered_before(store, first) is None
    stored(store, first, reply)
    assert answered_before(store, first) == reply
    groups = structs.replace(first, who=Identity("root", groups=("other",), owner=True))
    assert answered_before(store, groups) == reply, "whoever it is, by name"
    assert answered_before(store, structs.replace(first, who=Identity("ann"))) is None
    assert answered_before(store, structs.replace(first, key="k2")) is None
    other = answered_before(store, structs.replace(first, verb="abort"))
    assert other is not None
    assert other.problem is not None
    assert (other.problem.status, other.problem.detail) == (422, "this Idempotency-Key was used for another request")


def test_a_request_without_a_key_is_not_remembered() -> None:
    store = MemoryStore()
    stored(store, request("pause", key="k1"), Reply(message="paused"))
    assert to_remember(store, request("pause"), Reply(), NOW) == []
    assert answered_before(store, request("pause")) is None


def test_answers_are_remembered_for_a_day() -> None:
    store = MemoryStore()
    old = request("pause", key="old")
    stored(store, old, Reply(message="old"))
    day = timedelta(days=1)
    assert [type(each) for each in to_remember(store, request("pause", key="new"), Reply(), NOW + day)] == [Put]
    later = to_remember(store, request("pause", key="new"), Reply(), NOW + day + timedelta(seconds=1))
    assert [type(each) for each in later] == [Delete, Put]
    again = to_remember(store, old, Reply(), NOW + 2 * day)
    assert [type(each) for each in again] == [Put], "it takes the place of the old one"
