"""Messages go out beside the passes, at least once, and what came of them is stored."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest

from fleetform.loop.driver import Driver
from fleetform.loop.endpoints import endpoint
from fleetform.loop.sending import MOST_TRIES, Sending, pause_after
from fleetform.notify.notifier import HttpNotifier
from fleetform.outside.posts import Posts
from fleetform.ports.notify import Endpoint, Letter
from fleetform.ports.store import Message, Store
from fleetform.store.sqlite import SqliteStore
from loop.test_control import plane, upgraded
from loop.test_telling import HOOK, feed
from support.fleets import NOW
from support.plane import Plane
from support.servers import Reply, Request, WebServer

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: hook, namespace: acme}
stringData: {secret: whsec_c2VjcmV0}
"""


class Told:
    """A fleet whose organization wants to be told at a server of the test."""

    def __init__(self, server: WebServer, store: Store | None = None, hook: str = HOOK) -> None:
        text = hook.replace("https://hooks.example.com", server.url)
        self.plane: Plane = plane(**{"organization.yaml": text, "secret.yaml": SECRET})
        if store is not None:
            self.plane.store = store
            self.plane.restart()
        self.said: list[str] = []
        self.sending = self.restarted()

    def restarted(self) -> Sending:
        """Another process."""

        def endpoint_of(organization: str, id_: str) -> Endpoint | str | None:
            fleet = self.plane.control.fleet
            return endpoint(fleet, organization, id_) if fleet is not None else None

        notifier = HttpNotifier(Posts(private=True, timeout=5))
        arguments = (self.plane.store, notifier, self.plane.clock, endpoint_of, lambda: None, self.said.append)
        self.sending = Sending(*arguments)
        return self.sending

    def send(self) -> None:
        self.sending.drain(30)

    def waiting(self) -> list[str]:
        far = self.plane.clock.at + timedelta(days=100)
        return [each.message.event for each in self.plane.store.outbox(far)]


def types(server: WebServer) -> list[str]:
    return [json.loads(each.body)["type"] for each in server.asked]


@pytest.mark.rule("R2-25")
def test_what_is_told_arrives_once() -> None:
    with WebServer(lambda _: Reply(200)) as server:
        told = Told(server)
        told.plane.wait(hours=3)
        told.send()
        told.send()
        assert types(server) == ["Started", "Finished"]
        told.restarted().drain(30)
        told.plane.restart()
        told.plane.settle()
        told.send()
    assert types(server) == ["Started", "Finished"]
    assert told.waiting() == []


@pytest.mark.rule("R2-25")
def test_a_crash_after_sending_sends_again_under_the_same_id() -> None:
    with WebServer(lambda _: Reply(200)) as server:
        told = Told(server)
        told.plane.settle()
        sent = Event()
        told.sending._wake = sent.set
        told.sending.attend()
        assert sent.wait(30)
        # The process ends here: it was sent, and nobody stored that.
        told.restarted().drain(30)
    first, second = server.asked
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert told.waiting() == []


@pytest.mark.rule("R2-25")
def test_what_does_not_arrive_is_tried_again_with_growing_pauses_and_then_given_up() -> None:
    with WebServer(lambda _: Reply(500)) as server:
        told = Told(server)
        told.plane.settle()
        begun = told.plane.clock.at
        tries = []
        for _ in range(MOST_TRIES + 3):
            told.send()
            tries.append(len(server.asked))
            due = told.sending.attend()
            if due is None:
                break
            assert due > told.plane.clock.at
            told.plane.clock.at = due
        assert tries[-1] == MOST_TRIES
        assert timedelta(days=1) < told.plane.clock.at - begun < timedelta(days=2)
    assert len({each.headers["webhook-id"] for each in server.asked}) == 1
    assert told.waiting() == []
    last = feed(told.plane)[-1]
    assert (last["event"], last["organization"]) == ("NotDelivered", "acme")
    assert told.said == [
        "a notification for acme did not arrive and is tried again: it answers 500",
        "a notification for acme was given up: it answers 500",
    ]


@pytest.mark.rule("R2-25")
def test_a_receiver_that_asks_for_time_gets_it() -> None:
    with WebServer(lambda _: Reply(429, headers={"Retry-After": "3600"})) as server:
        told = Told(server)
        told.plane.settle()
        told.send()
        assert told.sending.attend() == told.plane.clock.at + timedelta(hours=1)
        # What came meanwhile waits with it.
        told.plane.wait(minutes=59)
        told.send()
    assert len(server.asked) == 1


@pytest.mark.rule("R2-25")
def test_an_endpoint_that_says_it_is_gone_is_disabled() -> None:
    answers = iter([Reply(410), Reply(200), Reply(200)])
    with WebServer(lambda _: next(answers)) as server:
        told = Told(server)
        told.plane.settle()
        told.send()
        upgraded(told.plane)
        told.plane.wait(hours=3)
        told.send()
        assert len(server.asked) == 1
        assert feed(told.plane)[1]["event"] == "NotDelivered"
        # Another spec is another endpoint.
        changed = told.plane.files.files["organization.yaml"].replace("/a", "/c")
        told.plane.files.files["organization.yaml"] = changed
        upgraded(told.plane, "1.2.0")
        told.plane.settle()
        told.send()
    assert [each.path for each in server.asked] == ["/a", "/c"]


@pytest.mark.rule("R2-25")
def test_a_slow_receiver_holds_up_nobody_else() -> None:
    release, other_got_it = Event(), Event()

    def answer(request: Request) -> Reply:
        if request.path == "/a":
            release.wait(30)
        else:
            other_got_it.set()
        return Reply(200)

    with WebServer(answer) as server:
        told = Told(server, hook=HOOK.replace(", events: [Failed, Halted]", ""))
        told.plane.settle()
        told.sending.attend()
        assert other_got_it.wait(30)
        # A pass runs while the slow one has not answered.
        upgraded(told.plane)
        told.plane.settle()
        release.set()
        told.send()
    assert told.waiting() == []


def test_a_secret_that_is_missing_is_said_and_waited_for() -> None:
    with WebServer(lambda _: Reply(200)) as server:
        told = Told(server)
        del told.plane.files.files["secret.yaml"]
        told.plane.settle()
        told.send()
        assert "there is no Secret hook in the input" in told.said[0]
        told.plane.files.files["secret.yaml"] = SECRET
        told.plane.clock.at += timedelta(minutes=1)
        told.plane.settle()
        told.send()
    assert types(server) == ["Started"]


def test_an_endpoint_that_nobody_wants_any_more_gets_nothing() -> None:
    with WebServer(lambda _: Reply(200)) as server:
        told = Told(server)
        told.plane.settle()
        del told.plane.files.files["organization.yaml"]
        told.plane.settle()
        told.send()
    assert server.asked == []
    assert told.waiting() == []


def test_many_messages_for_a_dead_receiver_are_one_try() -> None:
    with WebServer(lambda _: Reply(500)) as server:
        told = Told(server)
        told.plane.wait(hours=3)
        assert len(told.waiting()) == 2
        told.send()
        assert len(server.asked) == 1


def test_pauses_differ_by_message_and_stay_the_same() -> None:
    one, other = (Message(key, NOW, "acme", "Started", b"{}", "e") for key in ("a", "b"))
    assert pause_after(one, 0) == pause_after(one, 0) != pause_after(other, 0)
    assert timedelta(seconds=5) <= pause_after(one, 0) < timedelta(seconds=6.25)
    assert timedelta(hours=6) <= pause_after(one, 30) < timedelta(hours=7.5)


@pytest.mark.rule("R2-25")
def test_the_driver_sends_between_passes_of_a_real_database(tmp_path: Path) -> None:
    with WebServer(lambda _: Reply(200)) as server:
        store = SqliteStore(str(tmp_path / "fleet.db"))
        told = Told(server, store)
        nothing = lambda _: None  # noqa: E731
        every = timedelta(seconds=30)
        driver = Driver(
            told.plane.control, told.plane.clock, every, nothing, nothing, nothing, beside=told.sending.attend
        )

        def came_back() -> None:
            driver.between_passes(driver.stop)

        told.sending._wake = came_back
        driver.run()
        assert types(server) == ["Started"]
        assert told.waiting() == []
        store.close()


@pytest.mark.rule("B18")
def test_a_message_that_is_stored_holds_no_secret() -> None:
    with WebServer(lambda _: Reply(500)) as server:
        told = Told(server)
        told.plane.settle()
        told.send()
        [waiting] = told.plane.store.outbox(told.plane.clock.at + timedelta(days=1))
    assert b"whsec" not in waiting.message.body
    assert "whsec" not in "".join(told.said)
    found = endpoint(told.plane.control.fleet, "acme", waiting.message.endpoint)  # type: ignore[arg-type]
    assert isinstance(found, Endpoint)
    assert "whsec" not in f"{found} {found!r} {Letter('x', None)!r}"  # type: ignore[arg-type]
