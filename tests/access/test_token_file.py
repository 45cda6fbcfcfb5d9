"""Tokens in a file: by hash, with a user, groups and an end; read again when the file is another."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from fleetform.access.token_file import TokenFile, TokenFileError, hash_of
from fleetform.ports.access import NotKnownError
from support.fleets import NOW
from support.plane import TurnedClock


def entry(token: str, user: str, more: str = "") -> str:
    return f"- {{hash: '{hash_of(token)}', user: {user}{', ' + more if more else ''}}}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "tokens.yaml"
    found.write_text("tokens:\n" + entry("one", "ci", "groups: [robots], expires: 2026-11-02") + entry("two", "ada"))
    found.chmod(0o600)
    return found


def test_a_token_is_known_by_its_hash(file: Path) -> None:
    tokens = TokenFile(str(file), TurnedClock(), print)
    found = tokens.identify("one")
    assert found is not None
    assert (found.who.user, found.who.groups, found.who.owner) == ("ci", ("robots",), False)
    assert found.until == NOW.replace(day=2, hour=0)
    assert tokens.identify("three") is None
    assert tokens.identify(hash_of("one")) is None, "who has read the file has no token"


def test_a_token_ends(file: Path) -> None:
    clock = TurnedClock(NOW + timedelta(days=1))
    with pytest.raises(NotKnownError, match="the token of ci expired"):
        TokenFile(str(file), clock, print).identify("one")


def test_the_file_is_read_again_when_it_is_another_and_kept_if_it_is_broken(file: Path) -> None:
    told: list[str] = []
    tokens = TokenFile(str(file), TurnedClock(), told.append)
    replaced = file.with_suffix(".new")
    replaced.write_text("tokens:\n" + entry("three", "eve"))
    replaced.chmod(0o600)
    os.replace(replaced, file)
    assert tokens.identify("three") is not None
    assert tokens.identify("two") is None
    file.write_text("tokens: [")
    assert tokens.identify("three") is not None
    assert tokens.identify("three") is not None
    assert [each.endswith("the tokens from before stay valid") for each in told] == [True]
    file.unlink()
    assert tokens.identify("three") is not None


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("tokens: [", "tokens.yaml"),
        ("[]", "Expected `object`"),
        ("tokens: [{user: ada}]", "hash"),
        ("tokens: [{hash: plain, user: ada}]", "hash"),
        ("tokens:\n" + entry("a", "ada", "grups: []"), "grups"),
        ("tokens:\n" + entry("a", "ada", "expires: soon"), "soon"),
        ("tokens:\n" + entry("a", "'https://idp.example#1'"), "user"),
        ("tokens:\n" + entry("a", "'ada <root>'"), "user"),
        ("tokens:\n" + entry("a", "ada") + entry("a", "bob"), "twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_says_why(tmp_path: Path, content: str, part: str) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(TokenFileError, match=part):
        TokenFile(str(file), TurnedClock(), print)


def test_a_file_that_others_may_write_is_refused(file: Path) -> None:
    file.chmod(0o660)
    with pytest.raises(TokenFileError, match="chmod go-w"):
        TokenFile(str(file), TurnedClock(), print)
