"""Reading over HTTP ends, stays small, says what is wrong, and keeps secrets."""

from __future__ import annotations

import logging
import socket
import ssl
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from fleetform.outside.credentials import Credentials
from fleetform.outside.errors import OutsideError
from fleetform.outside.http import Web, same_origin
from fleetform.syntax.addresses import shown
from support.servers import Reply, Request, WebServer, basic

CANARY = "c4nary"
LOGIN = Credentials("someone", CANARY)


def everything_told(error: BaseException) -> str:
    """All that a message, a log or a traceback could show of an error."""
    hint = error.hint if isinstance(error, OutsideError) else ""
    return "".join([*traceback.format_exception(error), repr(error), str(error), hint])


def failure_of(url: str, web: Web | None = None) -> OutsideError:
    with web or Web(sleep=lambda _: None) as opened, pytest.raises(OutsideError) as caught:
        opened.get(url)
    assert CANARY not in everything_told(caught.value)
    return caught.value


def always(*replies: Reply) -> Callable[[Request], Reply]:
    """One reply after the other; the last goes on."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_content_is_read_with_headers_in_lower_case() -> None:
    with WebServer(always(Reply(200, b"hello", {"X-Kind": "Greeting"}))) as server, Web() as web:
        answer = web.get(f"{server.url}/a", accept="text/plain")
    assert (answer.status, answer.content, answer.headers["x-kind"]) == (200, b"hello", "Greeting")
    assert server.asked[0].headers["accept"] == "text/plain"
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (LOGIN, basic("someone", CANARY)),
        (Credentials(token=f" {CANARY}\n"), f"Bearer {CANARY}"),
        (Credentials(), None),
    ],
)
def test_credentials_let_us_in(credentials: Credentials, header: str | None) -> None:
    with WebServer(always(Reply())) as server, Web(credentials) as web:
        web.get(server.url)
        web.get(server.url, anonymous=True)
    assert [asked.headers.get("authorization") for asked in server.asked] == [header, None]


def test_an_address_may_hold_the_password() -> None:
    with WebServer(always(Reply())) as server, Web() as web:
        web.get(f"http://someone:{CANARY}@{server.host}/")
    assert server.asked[0].headers["authorization"] == basic("someone", CANARY)


def test_bytes_are_kept_as_they_are_stored() -> None:
    with WebServer(always(Reply(200, b"not really zipped", {"Content-Encoding": "gzip"}))) as server, Web() as web:
        assert web.get(server.url).content == b"not really zipped"
    assert server.asked[0].headers["accept-encoding"] == "identity"


def test_redirects_keep_credentials_from_other_servers() -> None:
    with (
        WebServer(always(Reply(200, b"there"))) as other,
        WebServer(lambda asked: _redirect({"/1": "/2", "/2": f"{other.url}/3"}[asked.path])) as server,
        Web(LOGIN) as web,
    ):
        assert web.get(f"{server.url}/1").content == b"there"
    assert [asked.headers.get("authorization") for asked in server.asked] == [basic("someone", CANARY)] * 2
    assert "authorization" not in other.asked[0].headers


def test_redirects_end() -> None:
    with WebServer(lambda asked: _redirect(asked.path)) as server:
        error = failure_of(f"{server.url}/loop")
    assert error.message == f"{server.url}/loop redirects more than 5 times"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.org/x"])
def test_redirects_lead_to_the_web_only(target: str) -> None:
    with WebServer(lambda _: _redirect(target)) as server:
        error = failure_of(f"{server.url}/away?token={CANARY}")
    assert error.message.startswith(f"{server.url}/away redirects to {target.partition('//')[0]}//")
    assert error.message.endswith("which is not safe")


def _redirect(target: str) -> Reply:
    return Reply(302, b"", {"Location": target})


def test_size_is_bounded_whether_or_not_it_is_announced() -> None:
    with WebServer(always(Reply(200, b"x" * 11), Reply(200, iter([b"x" * 6] * 2)))) as server:
        announced = failure_of(f"{server.url}/1?k={CANARY}", Web(limit=10))
        unannounced = failure_of(f"{server.url}/2", Web(limit=10))
    assert announced.message == f"{server.url}/1 is larger than 10 bytes"
    assert unannounced.message == f"{server.url}/2 is larger than 10 bytes"


def test_size_may_be_bounded_for_one_request_but_not_widened() -> None:
    with WebServer(always(Reply(200, b"x" * 11))) as server, Web(limit=20) as web:
        assert len(web.ask(server.url, limit=1_000).content) == 11
        with pytest.raises(OutsideError, match="larger than 10 bytes"):
            web.ask(server.url, limit=10)


def test_time_is_bounded_in_total() -> None:
    ticks = count(0.0, 1.0)
    with WebServer(always(Reply(200, _endless()))) as server:
        error = failure_of(f"{server.url}/slow", Web(patience=5, clock=lambda: next(ticks)))
    assert error.message == f"{server.url}/slow took longer than 5 s"


def _endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 65_536


def test_silence_is_bounded() -> None:
    done = Event()

    def wait(_: Request) -> Reply:
        done.wait()
        return Reply()

    with WebServer(wait) as server:
        error = failure_of(f"{server.url}/silent", Web(LOGIN, timeout=0.05))
        done.set()
    assert error.message == f"{server.url}/silent did not answer within 0.05 s"
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    slept: list[float] = []
    passing = always(Reply(status), Reply(status), Reply(200, b"at last"))
    with WebServer(passing) as server, Web(sleep=slept.append) as web:
        assert web.get(server.url).content == b"at last"
    assert len(server.asked) == 3
    assert slept == sorted(slept)
    assert len(slept) == 2


def test_what_does_not_pass_is_tried_three_times() -> None:
    with WebServer(always(Reply(503))) as server:
        error = failure_of(f"{server.url}/x")
    assert error.message == f"{server.url}/x answers 503 (Service Unavailable)"
    assert len(server.asked) == 3


def test_a_server_that_breaks_off_is_tried_again() -> None:
    replies = [Reply(200, b"", {"Content-Length": "5"}), Reply(200, b"whole")]
    with WebServer(lambda _: replies.pop(0)) as server, Web(sleep=lambda _: None) as web:
        # Two lengths that differ are no answer at all.
        assert web.get(server.url).content == b"whole"


@pytest.mark.parametrize(
    ("asked", "slept"),
    [("3", [3.0, 3.0]), ("0", [0.0, 0.0]), ("3600", []), ("Wed, 21 Oct 2015 07:28:00 GMT", [0.5, 2.0])],
)
def test_waits_as_asked_but_not_for_long(asked: str, slept: list[float]) -> None:
    times: list[float] = []
    with WebServer(always(Reply(429, b"", {"Retry-After": asked}))) as server:
        error = failure_of(f"{server.url}/busy", Web(sleep=times.append))
    assert times == slept
    assert error.message == f"{server.url}/busy has had too many requests (429)"


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (401, "refuses access (401)", "check the credentials in secretRef"),
        (403, "refuses access (403)", "check the credentials in secretRef"),
        (404, "does not exist (404)", "check the address"),
        (418, "answers 418 (I'm a Teapot)", "check the address"),
        (304, "answers 304 (Not Modified)", "check the address"),
        (299, "answers 299", "check the address"),
    ],
)
def test_a_refusal_says_what_to_do(status: int, message: str, hint: str) -> None:
    with WebServer(always(Reply(status))) as server:
        url = f"http://someone:{CANARY}@{server.host}/charts/index.yaml?token={CANARY}"
        error = failure_of(url, Web(LOGIN))
    assert error.message == f"{server.url}/charts/index.yaml {message}"
    assert error.hint == hint


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = failure_of(f"https://u:{CANARY}@charts.example.org/x", Web(LOGIN, sleep=lambda _: None))
    assert error.message == "https://charts.example.org/x: the name charts.example.org is not known"
    assert error.hint == "check the address and the network"


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        slept: list[float] = []
        error = failure_of(url, Web(LOGIN, sleep=slept.append))
    assert error.message == f"{url}: 127.0.0.1 refuses connections"
    assert len(slept) == 2


def test_a_server_that_does_not_speak_tls() -> None:
    with WebServer(always(Reply())) as server:
        slept: list[float] = []
        error = failure_of(f"https://{server.host}/", Web(LOGIN, sleep=slept.append))
    assert error.message.startswith(f"https://{server.host}/: no TLS connection (")
    assert error.hint == "check that the server uses https on this port"
    assert slept == []


def test_a_certificate_that_nobody_vouches_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        error = ssl.SSLCertVerificationError(1, "certificate verify failed")
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", refuse)
    with WebServer(always(Reply())) as server:
        error = failure_of(f"https://{server.host}/", Web(LOGIN))
    assert error.message.endswith("the server's certificate is not trusted (self-signed certificate)")
    assert "SSL_CERT_FILE" in error.hint


def test_a_proxy_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        monkeypatch.setenv("https_proxy", f"http://someone:{CANARY}@127.0.0.1:{server.getsockname()[1]}")
        with Web(sleep=lambda _: None) as web:
            _answer_once(server, b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            error = failure_of("https://charts.example.org/", web)
    assert error.message == "https://charts.example.org/: the proxy refuses the connection"


def _answer_once(server: socket.socket, answer: bytes) -> None:
    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)

    Thread(target=serve, daemon=True).start()


@pytest.mark.parametrize(
    ("name", "value"),
    [("https_proxy", f"http://someone:{CANARY}@:notaport"), ("SSL_CERT_FILE", "/nowhere.pem")],
)
def test_an_environment_that_is_wrong(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    error = failure_of("https://charts.example.org/")
    assert error.message == "HTTP cannot be set up"
    assert name.upper() in error.hint


@pytest.mark.parametrize(
    "url",
    [
        f"https://someone:{CANARY}",
        f"https://someone:{CANARY}/x@charts.example.org",
        f"https://[someone:{CANARY}@charts/",
        f"ssh://someone:{CANARY}@charts.example.org/",
        f"charts.example.org/?token={CANARY}",
        "https:///index.yaml",
        "",
        "https://charts.example.org/\x00",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    assert failure_of(url).message.endswith("is not an address that can be read")


@pytest.mark.parametrize("token", [f"{CANARY}\r\nX: y", f"{CANARY} x", f"{CANARY}é", " \n"])
def test_a_token_that_no_header_may_hold_is_not_shown(token: str) -> None:
    error = failure_of("https://charts.example.org/", Web(Credentials(token=token)))
    assert error.message == "the token contains characters that no token has"


def test_credentials_never_show() -> None:
    web = Web(LOGIN)
    assert CANARY not in f"{LOGIN!r} {LOGIN} {web!r} {Credentials(token=CANARY)}"


def test_addresses_with_secrets_do_not_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), WebServer(always(Reply())) as server, Web() as web:
        web.get(f"http://someone:{CANARY}@{server.host}/?token={CANARY}")
    assert CANARY not in caplog.text


def test_files_are_read_and_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a file.yaml"
    file.write_bytes(b"x" * 11)
    with Web(limit=11) as web:
        assert web.get(file.as_uri()).content == b"x" * 11
    assert (
        failure_of(file.as_uri(), Web(limit=10)).message
        == f"{file.as_uri()} cannot be read: it is larger than 10 bytes"
    )


def test_files_that_are_not_there(tmp_path: Path) -> None:
    missing = failure_of((tmp_path / "missing").as_uri())
    assert missing.message.endswith("/missing cannot be read: no such file or directory")
    assert "it is a folder" in failure_of(tmp_path.as_uri()).message
    assert "it is no path" in failure_of("file:///a%00b").message
    assert "another machine" in failure_of("file://server/share").message


def test_an_address_is_shown_without_secrets() -> None:
    assert shown("https://u:p@Host:8443/a/b?c=d#e") == "https://host:8443/a/b"
    assert shown("http://[::1]:80/") == "http://[::1]:80/"
    assert shown("http://[::1") == "the address"


def test_one_server_has_one_origin() -> None:
    assert same_origin("https://a/x", "https://A:443/y")
    assert same_origin("http://u:p@a/x", "http://a:80/y")
    assert not same_origin("http://a/", "https://a/")
    assert not same_origin("https://a/", "https://a:8443/")
    assert not same_origin("https://a/", "https://b/")


def test_the_client_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, fleetform.outside.http, fleetform.outside.oci; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
