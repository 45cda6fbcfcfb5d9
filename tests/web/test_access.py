"""Who asks: whoever has no token learns nothing, and does nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from fleetform.outside.tokens import address_of, find_token, forget_token, make_token, token_file
from support.api import TOKEN, ServedPlane
from support.fleets import BASE


@pytest.fixture
def served(tmp_path: Path) -> ServedPlane:
    found = ServedPlane(tmp_path, BASE)
    found.plane.settle()
    return found


@pytest.mark.rule("S52", "B15")
@pytest.mark.parametrize("token", [None, "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_without_the_token_what_is_there_looks_like_what_is_not(served: ServedPlane, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}".encode()} if token is not None else {}
    addresses = ("clusters", "clusters?name=eu-1", "why?cluster=eu-9", "rollouts/web", "nothing", "openapi.json")
    answers = [served.send("GET", f"/api/v1/{path}", token=None, headers=headers) for path in addresses]
    answers += [served.send("GET", path, token=None, headers=headers) for path in ("/", "/version", "/healthz/x")]
    assert {each.status_code for each in answers} == {401}
    assert len({each.content for each in answers}) == 1
    assert {each.headers["www-authenticate"] for each in answers} == {"Bearer"}


@pytest.mark.rule("S52")
def test_without_the_token_nothing_is_done(served: ServedPlane) -> None:
    before = served.plane.store.version()
    found = served.send("POST", "/api/v1/rollouts/web/pause", token=None, json={})
    assert (found.status_code, served.plane.store.version()) == (401, before)


def test_probes_need_no_token_and_tell_nothing(served: ServedPlane) -> None:
    for path in ("/healthz", "/readyz"):
        found = served.send("GET", path, token=None)
        assert (found.status_code, found.text) == (200, "ok\n")


@pytest.mark.rule("S52")
def test_a_token_lies_where_only_its_user_reads_it_by_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    token = make_token("127.0.0.1:8080")
    file = Path(token_file("127.0.0.1:8080"))
    assert file.is_relative_to(tmp_path / "fleetform")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_token(address_of("http://localhost:8080/")) == token
    assert find_token("127.0.0.1:8081") is None
    other = make_token("127.0.0.1:8080")
    assert other != token
    forget_token("127.0.0.1:8080", token)
    assert find_token("127.0.0.1:8080") == other, "it is another server's by now"
    forget_token("127.0.0.1:8080", other)
    assert find_token("127.0.0.1:8080") is None
