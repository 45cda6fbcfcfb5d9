"""fleetform login: the device grant against a real provider, what is kept, and how it is renewed."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fleetform.access.device_grant import Issuer, SignInError, Waiting
from fleetform.access.issuer import IssuerKeys, discover, issuer_web
from fleetform.access.logins import login_file, token_for
from fleetform.access.oidc import OidcSettings, OidcTokens
from fleetform.ports.access import SignInSettings, Tokens
from support.api import TOKEN, ServedPlane
from support.command import Result, Runner
from support.fleets import BASE
from support.oidc import CLIENT, Provider

URL = "http://127.0.0.1:8080"
ROLES = """
apiVersion: fleetform.dev/v1alpha1
kind: Organization
metadata: {name: acme, namespace: acme}
spec:
  people: [{name: Ada, emails: [ada@example.org]}]
  roles: [{role: operator, users: [Ada]}]
"""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as found:
        yield found


class Waits:
    """Instead of waiting: how long each pause would have been."""

    def __init__(self) -> None:
        self.now, self.pauses = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


def issuer_of(provider: Provider, waits: Waits) -> Issuer:
    return Issuer(discover(issuer_web(), provider.issuer), CLIENT, waits.sleep, waits.clock)


def test_somebody_who_agrees_elsewhere_is_signed_in(provider: Provider) -> None:
    waits, shown = Waits(), list[Waiting]()
    provider.polls = [(400, {"error": "authorization_pending"})] * 2
    granted = issuer_of(provider, waits).sign_in(shown.append)
    assert granted.id_token
    assert shown == [Waiting(f"{provider.issuer}/activate", "WDJB-MJHT", "")]
    assert waits.pauses == [5.0, 5.0, 5.0]
    begun, *polls = provider.forms
    assert begun["scope"] == "openid email offline_access"
    assert "code_verifier" not in begun
    assert all(each["code_verifier"] == polls[0]["code_verifier"] for each in polls)


def test_an_issuer_that_asks_to_slow_down_is_asked_less_often(provider: Provider) -> None:
    waits = Waits()
    provider.polls = [(400, {"error": "slow_down"}), (400, {"error": "slow_down"}), (503, {})]
    issuer_of(provider, waits).sign_in(lambda _: None)
    assert waits.pauses == [5.0, 10.0, 15.0, 30.0]


@pytest.mark.parametrize(
    ("polls", "part"),
    [
        ([(400, {"error": "access_denied"})], "denied there"),
        ([(400, {"error": "expired_token"})], "nobody confirmed the sign-in in time"),
        ([(400, {"error": "authorization_pending"})] * 200, "nobody confirmed the sign-in in time"),
    ],
)
def test_who_does_not_agree_is_not_signed_in(
    provider: Provider, polls: list[tuple[int, dict[str, str]]], part: str
) -> None:
    provider.polls = list(polls)
    with pytest.raises(SignInError, match=part):
        issuer_of(provider, Waits()).sign_in(lambda _: None)


def test_another_client_and_an_issuer_without_the_grant_say_what_is_missing(provider: Provider) -> None:
    with pytest.raises(SignInError, match="does not begin a sign-in: invalid_client"):
        Issuer(discover(issuer_web(), provider.issuer), "other").sign_in(lambda _: None)
    del provider.document["device_authorization_endpoint"]
    with pytest.raises(SignInError, match="has no device grant"):
        issuer_of(provider, Waits()).sign_in(lambda _: None)


# ---- The command, against an API that takes these tokens


Ask = Callable[..., Result]
Connect = Callable[..., Ask]


@pytest.fixture
def connect(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Connect:
    """The command line, whose requests reach an API in this process; an issuer is asked over the network."""

    def connected_to(*tokens: Tokens, sign_in: SignInSettings | None = None) -> Ask:
        served = ServedPlane(tmp_path, {**BASE, "roles.yaml": ROLES}, "root", *tokens, sign_in=sign_in)
        served.plane.settle()

        def sent(request: httpx2.Request) -> httpx2.Response:
            headers = {name: value for name, value in request.headers.items() if name != "host"}
            path = request.url.raw_path.decode()
            found = served.send(request.method, path, token=None, content=request.content, headers=headers)
            return httpx2.Response(found.status_code, headers=found.headers, content=found.content)

        class Module:
            """httpx2, with another client."""

            def Client(self, **settings: Any) -> httpx2.Client:  # noqa: N802
                return httpx2.Client(transport=httpx2.MockTransport(sent), **settings)

            def __getattr__(self, name: str) -> object:
                return getattr(httpx2, name)

        monkeypatch.setattr("fleetform.outside.control_plane.httpx2", Module())
        return Runner(tmp_path, capsys, monkeypatch)

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FLEETFORM_TOKEN", raising=False)
    return connected_to


@pytest.fixture
def ask(connect: Connect, provider: Provider) -> Ask:
    provider.interval = 0
    keys = IssuerKeys(issuer_web(), provider.issuer)
    tokens = OidcTokens(OidcSettings(provider.issuer, CLIENT), keys, time.time)
    return connect(tokens, sign_in=SignInSettings(provider.issuer, CLIENT))


@pytest.fixture
def served_alone(connect: Connect) -> Ask:
    """A server without an issuer."""
    return connect()


def test_login_keeps_a_private_file_and_every_verb_uses_it(ask: Ask, provider: Provider) -> None:
    denied = ask("get", "clusters", "--server", URL)
    assert (denied.code, f"fleetform login --server {URL}" in denied.err) == (3, True)
    found = ask("login", "--server", URL)
    assert (found.code, found.out) == (0, f"signed in at {URL} as ada@example.org\n  acme: operator\n")
    assert f"Open {provider.issuer}/activate" in found.err
    assert "WDJB-MJHT" in found.err
    kept = Path(login_file(URL))
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert ask("get", "clusters", "--server", URL, "-o", "name").out.split()[0] == "cluster/eu-1"
    assert token_for("http://127.0.0.1:8081") is None, "a token goes to the server that it is for"
    assert token_for("https://127.0.0.1:8080") is None
    assert ask("logout", "--server", URL).out == f"signed out from {URL}\n"
    assert not kept.exists()
    assert ask("get", "clusters", "--server", URL).code == 3


def test_a_token_that_is_over_is_renewed_once_and_what_was_taken_back_is_forgotten(
    ask: Ask, provider: Provider
) -> None:
    provider.lasts = 10
    ask("login", "--server", URL)
    first = json.loads(Path(login_file(URL)).read_text())["refreshToken"]
    provider.lasts = 3600
    assert ask("get", "clusters", "--server", URL).code == 0
    assert first not in provider.refresh_tokens
    asked = provider.asked["/token"]
    assert ask("get", "clusters", "--server", URL).code == 0
    assert provider.asked["/token"] == asked
    provider.lasts = 10
    ask("login", "--server", URL)
    provider.refresh_tokens.clear()
    assert ask("get", "clusters", "--server", URL).code == 3
    assert not Path(login_file(URL)).exists()


def test_a_login_goes_over_nothing_that_others_can_read(ask: Ask) -> None:
    found = ask("login", "--server", "http://fleet.example.org")
    assert (found.code, "not an https address" in found.err) == (3, True)


@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_server_without_an_issuer_says_so(served_alone: Ask, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("FLEETFORM_TOKEN", token)
    found = served_alone("login", "--server", URL)
    assert (found.code, "lets nobody sign in" in found.err) == (2, True)
    monkeypatch.setenv("FLEETFORM_TOKEN", "")
    assert "fleetform login" not in served_alone("get", "clusters", "--server", URL).err
