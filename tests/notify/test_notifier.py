"""One try to tell somebody, against real servers on this machine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from threading import Event

import pytest
from msgspec import structs

from fleetform.model.answers.notifications import Cause, Notification
from fleetform.notify.notifier import HttpNotifier
from fleetform.notify.slack import message_of
from fleetform.outside.posts import Posts
from fleetform.ports.notify import Endpoint, Letter, Outcome
from support.certificates import write_certificate
from support.servers import Reply, WebServer

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
KEY = "whsec_" + base64.b64encode(b"a key of the test, 24 bytes").decode()
OTHER = "whsec_" + base64.b64encode(b"the one before it, as long").decode()
TOLD = Notification(
    id="msg_0",
    event="Failed",
    at="2026-11-01T12:00:00Z",
    organization="acme",
    preset="web",
    title="web 1.0.0 → 1.1.0 fails in stage gold",
    clusters=700,
    names=["eu-1", "eu-2"],
    change_id="c1:0123456789abcdef",
    causes=[Cause(message="no <disk> & no luck", clusters=700, names=["eu-1", "eu-2"])],
    do="fleetform why eu-1 web-eu-1",
)
LETTER = Letter("msg_1", TOLD)


def hook(url: str, **secrets: str) -> Endpoint:
    return Endpoint("e1", "acme", "webhook", url, secrets=tuple(sorted(secrets.items())))


def send(reply: Reply, **secrets: str) -> tuple[Outcome, WebServer]:
    with WebServer(lambda _: reply) as server:
        found = HttpNotifier(Posts(private=True)).send(hook(f"{server.url}/hook?x=1", **secrets), LETTER, NOW)
    return found, server


def signature(key: str, signed: bytes) -> str:
    digest = hmac.new(base64.b64decode(key.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


@pytest.mark.rule("R2-25")
def test_a_webhook_is_signed_as_standard_webhooks_say() -> None:
    outcome, server = send(Reply(204), secret=KEY)
    [asked] = server.asked
    assert outcome.arrived
    assert (asked.method, asked.path, asked.headers["content-type"]) == ("POST", "/hook?x=1", "application/json")
    assert asked.headers["host"] == server.host
    assert (asked.headers["webhook-id"], asked.headers["webhook-timestamp"]) == ("msg_1", str(int(NOW.timestamp())))
    assert asked.headers["webhook-signature"] == signature(KEY, f"msg_1.{int(NOW.timestamp())}.".encode() + asked.body)
    body = json.loads(asked.body)
    assert (body["type"], body["timestamp"], body["data"]["clusters"]) == ("Failed", "2026-11-01T12:00:00Z", 700)


@pytest.mark.rule("R2-25")
def test_both_keys_sign_while_they_are_changed_and_none_if_there_is_none() -> None:
    _, server = send(Reply(200), secret=KEY, previous=OTHER)
    asked = server.asked[0]
    signed = f"msg_1.{int(NOW.timestamp())}.".encode() + asked.body
    assert asked.headers["webhook-signature"].split() == [signature(KEY, signed), signature(OTHER, signed)]
    _, unsigned = send(Reply(200))
    assert "webhook-signature" not in unsigned.asked[0].headers


@pytest.mark.rule("R2-25")
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(200), Outcome()),
        (Reply(410), Outcome("it answers 410: nobody wants notifications there any more", gone=True)),
        (Reply(500), Outcome("it answers 500")),
        (Reply(429, headers={"Retry-After": "30"}), Outcome("it answers 429", wait=timedelta(seconds=30))),
        (Reply(429, headers={"Retry-After": "soon"}), Outcome("it answers 429")),
        (
            Reply(302, headers={"Location": "http://127.0.0.1:1/"}),
            Outcome("it answers 302: redirects are not followed; write the address that it leads to"),
        ),
    ],
)
def test_what_an_answer_means(reply: Reply, outcome: Outcome) -> None:
    found, server = send(reply, secret=KEY)
    assert found == outcome
    assert len(server.asked) == 1


def test_nobody_there_is_said_without_the_address_path() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/T000/B000/secret-path"
        found = HttpNotifier(Posts(private=True)).send(hook(url), LETTER, NOW)
    assert "refuses connections" in found.failure
    assert "secret-path" not in found.failure


def test_a_receiver_that_says_nothing_is_given_up() -> None:
    release = Event()

    def slow(_: object) -> Reply:
        release.wait(10)
        return Reply()

    with WebServer(slow) as server:
        found = HttpNotifier(Posts(private=True, timeout=0.1)).send(hook(server.url), LETTER, NOW)
        release.set()
    assert found.failure.startswith("http://127.0.0.1 did not answer within 0.1 s")


def test_an_answer_without_end_is_cut_off() -> None:
    def endless() -> Iterator[bytes]:
        yield from repeat(b"x" * 4096)

    found, _ = send(Reply(200, endless()))
    assert found.arrived


@pytest.mark.rule("R2-25")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.9",
        "169.254.169.254",
        "::1",
        "fe80::1",
        "::ffff:10.0.0.1",
        "0.0.0.0",
        "100.64.0.1",
    ],
)
def test_addresses_of_private_networks_are_refused_unless_allowed(address: str) -> None:
    posts = Posts(resolve=lambda host, port: ["93.184.216.34", address])
    found = HttpNotifier(posts).send(hook("https://hooks.example.com/x"), LETTER, NOW)
    assert "is an address of a private network" in found.failure
    assert "--allow-private-endpoints" in found.failure


def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_judged() -> None:
    """A name that leads elsewhere when it is asked for again gets nothing."""
    with WebServer(lambda _: Reply(200)) as server:
        asked: list[str] = []

        def resolve(host: str, port: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.1"]

        port = server.host.rpartition(":")[2]
        posts = Posts(private=True, resolve=resolve)
        found = HttpNotifier(posts).send(hook(f"http://hooks.invalid:{port}/x"), LETTER, NOW)
    assert found.arrived
    assert asked == ["hooks.invalid"]
    assert server.asked[0].headers["host"] == f"hooks.invalid:{port}"


def test_a_certificate_is_held_to_the_name_though_the_connection_goes_to_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = write_certificate(tmp_path, "hooks", "hooks.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with WebServer(lambda _: Reply(200)) as server:
        server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
        port = server.host.rpartition(":")[2]
        notifier = HttpNotifier(Posts(private=True, resolve=lambda host, port: ["127.0.0.1"]))
        assert notifier.send(hook(f"https://hooks.test:{port}/"), LETTER, NOW) == Outcome()
        other = notifier.send(hook(f"https://other.test:{port}/"), LETTER, NOW)
    assert "certificate is not trusted" in other.failure
    assert len(server.asked) == 1


def test_what_goes_to_slack_is_escaped_folded_and_cut() -> None:
    message = message_of(TOLD)
    texts = [each["text"]["text"] for each in message["blocks"] if each["type"] == "section"]
    assert texts[1] == "• no &lt;disk&gt; &amp; no luck: eu-1, eu-2 and 698 more"
    assert texts[2] == "`fleetform why eu-1 web-eu-1`"
    long = message_of(structs.replace(TOLD, title="x" * 5000))
    assert max(len(each["text"]["text"]) for each in long["blocks"] if each["type"] == "section") == 3000


@pytest.mark.rule("R2-25")
def test_a_slack_hook_gets_a_message_a_second() -> None:
    times = iter([0.0, 0.1, 0.4, 1.2])
    slept: list[float] = []
    with WebServer(lambda _: Reply(200, b"ok")) as server:
        slack = Endpoint("e2", "acme", "slack", secrets=(("url", f"{server.url}/services/T/B/x"),))
        notifier = HttpNotifier(Posts(private=True), sleep=slept.append, clock=lambda: next(times))
        assert notifier.send(slack, LETTER, NOW).arrived
        assert notifier.send(slack, LETTER, NOW).arrived
    assert slept == [pytest.approx(0.7)]
    assert "webhook-id" not in server.asked[0].headers
    assert json.loads(server.asked[0].body)["text"] == TOLD.title


def test_slack_by_a_token_says_what_it_refuses() -> None:
    with WebServer(lambda _: Reply(200, b'{"ok": false, "error": "channel_not_found"}')) as server:
        slack = Endpoint("e3", "acme", "slack", channel="#fleet", secrets=(("token", "xoxb-secret"),))
        found = HttpNotifier(Posts(private=True), slack_api=server.url).send(slack, LETTER, NOW)
    assert found.failure == "Slack refuses it: channel_not_found"
    asked = server.asked[0]
    assert asked.headers["authorization"] == "Bearer xoxb-secret"
    assert json.loads(asked.body)["channel"] == "#fleet"


@pytest.mark.rule("B18")
def test_no_secret_is_in_what_an_endpoint_prints_or_an_error_says() -> None:
    endpoint = hook("https://user:pass@hooks.example.com/path", secret="whsec_not base64!")
    assert repr(endpoint) == "webhook e1 of acme"
    found = HttpNotifier(Posts(resolve=lambda host, port: ["10.0.0.1"])).send(endpoint, LETTER, NOW)
    assert "not base64" in found.failure
    assert "not base64!" not in found.failure
    found = HttpNotifier(Posts(resolve=lambda host, port: ["10.0.0.1"])).send(hook(endpoint.url), LETTER, NOW)
    assert "pass" not in found.failure
