"""Requests: carried out by the loop between passes, told to the audit log, and once only."""

from __future__ import annotations

import threading
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from fleetform.loop.asking import Reply, RolloutRequest
from fleetform.model.identity import Identity
from fleetform.ports.store import UnavailableError
from fleetform.web.relay import FromApi, ToLoop
from support.api import ServedPlane
from web.test_answers import FILES


def served_to(folder: Path, user: str = "ada") -> ServedPlane:
    found = ServedPlane(folder, FILES, user)
    found.plane.settle()
    return found


def deeds(served: ServedPlane) -> list[tuple[str, str, str]]:
    return [(each.deed.actor, each.deed.verb, each.deed.outcome) for each in served.plane.store.audit()]


@pytest.mark.rule("R2-33")
def test_an_approval_over_the_api_lets_the_stage_start(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    served.plane.wait(hours=2)
    assert list(served.plane.versions) == ["eu-2"]
    found = served.ask("web", "approve", stage="gold", reason="looks fine")
    assert (found.status_code, found.json()["kind"]) == (200, "Rollout")
    assert found.json()["message"].endswith(": 1 of 1")
    served.plane.settle()
    assert list(served.plane.versions) == ["eu-1", "eu-2", "us-1"]
    assert deeds(served) == [("ada", "rollout approve", "done")]


@pytest.mark.rule("R2-33")
def test_who_may_not_approve_is_denied_and_that_is_told(tmp_path: Path) -> None:
    served = served_to(tmp_path, "mallory")
    before = served.plane.store.version()
    found = served.ask("web", "approve", stage="gold")
    assert (found.status_code, found.json()["code"]) == (403, "denied")
    assert found.json()["hint"] == "these may: ada"
    assert served.plane.store.version() == before
    assert deeds(served) == [("mallory", "rollout approve", "denied")]
    served.plane.wait(hours=2)
    assert list(served.plane.versions) == ["eu-2"]


def test_a_rollout_is_paused_resumed_and_aborted(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    assert served.ask("web", "pause", reason="INC-1").json()["phase"] == "Paused"
    assert served.get("rollouts/web")["note"] == "ada: INC-1"
    assert served.ask("web", "resume").status_code == 200
    refused = served.ask("web", "resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    assert served.ask("web", "abort").json()["phase"] == "Aborted"
    served.plane.wait(hours=2)
    assert list(served.plane.versions) == ["eu-2"]
    assert [each[2] for each in deeds(served)] == ["done", "done", "refused", "done"]


def test_after_a_restart_what_was_asked_for_still_holds(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    served.ask("web", "pause")
    served.plane.restart()
    served.plane.wait(hours=2)
    assert served.get("rollouts/web")["phase"] == "Paused"


def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    found = served.ask("web", "pause", dryRun=True)
    assert (found.status_code, found.json()["phase"]) == (200, "Paused")
    assert served.get("rollouts/web")["phase"] != "Paused"
    assert deeds(served) == []


def test_a_repeated_request_is_carried_out_once(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    first = served.ask("web", "pause", key="one")
    served.plane.restart()
    again = served.ask("web", "pause", key="one")
    assert (again.status_code, again.content) == (200, first.content)
    assert deeds(served) == [("ada", "rollout pause", "done")]
    other = served.ask("web", "abort", key="one")
    assert (other.status_code, other.json()["hint"]) == (422, "a new request needs a new key")
    refused = [served.ask("nothing", "pause", key="two") for _ in range(2)]
    assert [each.status_code for each in refused] == [404, 404]
    assert len(deeds(served)) == 2


def test_keys_are_forgotten_after_a_day(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    served.ask("web", "pause", key="one")
    served.plane.wait(hours=25)
    served.ask("web", "resume", key="two")
    assert len(served.plane.store.list("AnsweredRequest").records) == 1


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"[]", 400, "Expected"),
        (b'{"stge": "gold"}', 400, "stge"),
        (b'{"dryRun": "yes"}', 400, "dryRun"),
        (b" " * 100_000, 413, "too large"),
    ],
)
def test_a_body_that_cannot_be_read_does_nothing(tmp_path: Path, body: bytes, status: int, part: str) -> None:
    served = served_to(tmp_path)
    found = served.send("POST", "/api/v1/rollouts/web/approve", content=body)
    assert (found.status_code, part in found.json()["detail"]) == (status, True)
    assert deeds(served) == []


def test_a_verb_that_there_is_not_is_no_address(tmp_path: Path) -> None:
    served = served_to(tmp_path)
    assert served.ask("web", "explode").status_code == 404
    assert served.send("GET", "/api/v1/rollouts/web/pause").status_code == 405
    assert served.send("DELETE", "/api/v1/rollouts/web").status_code == 405


class Loop:
    """The loop's end of a relay, which does what is asked at once or only when it is told to."""

    def __init__(self, answer: Any, at_once: bool = True) -> None:
        ours, theirs = Pipe()
        self.gone, self.lost, self.looks = threading.Event(), threading.Event(), threading.Event()
        self.errors: list[Exception] = []
        self.refused: list[str] = []
        between = (lambda work: work()) if at_once else (lambda work: None)
        told = (self.looks.set, self.refused.append, self.errors.append, self.lost.set)
        self.relay = FromApi(ours, answer, between, *told)
        self.api_pipe = theirs
        self.to_loop = ToLoop(theirs, self.gone.set, patience=10.0 if at_once else 0.05)


REQUEST = RolloutRequest(verb="pause", name="web", who=Identity("ada"))


def test_a_hint_about_the_source_reaches_the_loop() -> None:
    loop = Loop(lambda request: Reply())
    loop.to_loop.look()
    assert loop.looks.wait(10)


def test_requests_of_several_threads_each_get_their_own_reply() -> None:
    loop = Loop(lambda request: Reply(message=request.name))
    found: dict[str, str] = {}

    def ask(name: str) -> None:
        found[name] = loop.to_loop.ask(RolloutRequest(verb="pause", name=name, who=Identity("ada"))).message

    threads = [threading.Thread(target=ask, args=(f"rollout-{number}",)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {name: name for name in (f"rollout-{number}" for number in range(20))}


def test_a_loop_that_is_busy_says_that_it_may_still_be_done() -> None:
    loop = Loop(lambda request: Reply(), at_once=False)
    with pytest.raises(UnavailableError, match="may still be carried out"):
        loop.to_loop.ask(REQUEST)


def test_a_bug_in_a_request_does_not_end_the_loop() -> None:
    def answer(request: RolloutRequest) -> Reply:
        raise RuntimeError("a bug")

    loop = Loop(answer)
    for _ in range(2):
        reply = loop.to_loop.ask(REQUEST)
        assert reply.problem is not None
        assert reply.problem.code == "internal"
    assert [str(each) for each in loop.errors] == ["a bug", "a bug"]


def test_an_api_that_is_told_to_end_does_and_one_that_is_lost_is_noticed() -> None:
    told = Loop(lambda request: Reply())
    told.relay.end()
    assert told.gone.wait(10)
    told.api_pipe.close()
    assert not told.lost.is_set()
    with pytest.raises(UnavailableError, match="is ending"):
        told.to_loop.ask(REQUEST)
    lost = threading.Event()
    ours, theirs = Pipe()
    FromApi(ours, lambda request: Reply(), lambda work: work(), lambda: None, print, lambda error: None, lost.set)
    theirs.close()
    assert lost.wait(10)
