"""Tokens of an issuer: which are good, and who they say that somebody is."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from fleetform.access.issuer import IssuerKeys, issuer_web
from fleetform.access.oidc import OidcSettings, OidcTokens
from fleetform.ports.access import NotKnownError
from support.oidc import CLIENT, Provider


@pytest.fixture(scope="module")
def shared() -> Iterator[Provider]:
    with Provider() as found:
        yield found


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as found:
        yield found


class Seconds:
    """Time that the test lets go by, for keys; what tokens say is held against the real time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def tokens_of(provider: Provider, seconds: Seconds | None = None, **settings: Any) -> OidcTokens:
    keys = IssuerKeys(issuer_web(), provider.issuer, seconds or Seconds())
    return OidcTokens(OidcSettings(provider.issuer, CLIENT, **settings), keys, time.time)


def test_somebody_is_who_the_issuer_says_by_issuer_and_subject(shared: Provider) -> None:
    found = tokens_of(shared).identify(shared.token(groups=["sre", 7, "dev"]))
    assert found is not None
    assert found.who.user == f"{shared.issuer}#248"
    assert (found.who.also, found.who.groups, found.who.owner) == (("ada@example.org",), ("sre", "dev"), False)
    assert found.until is not None


@pytest.mark.rule("S47")
@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_address_counts_only_if_the_issuer_has_verified_it(shared: Provider, verified: object) -> None:
    found = tokens_of(shared).identify(shared.token(email_verified=verified))
    assert found is not None
    assert found.who.also == ()


def test_groups_come_from_the_claim_that_is_named_and_get_a_prefix(shared: Provider) -> None:
    tokens = tokens_of(shared, groups_claim="roles", groups_prefix="corp:")
    found = tokens.identify(shared.token(roles=["sre"], groups=["other"]))
    assert found is not None
    assert found.who.groups == ("corp:sre",)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": None},
        {"aud": []},
        {"aud": ["another-client", CLIENT], "azp": "another-client"},
        {"exp": -61},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 3600},
        {"iat": 3600},
        {"sub": None},
        {"sub": 7},
    ],
    ids=str,
)
def test_what_a_token_claims_must_hold(shared: Provider, claims: dict[str, Any]) -> None:
    """Times are seconds from now."""
    now = int(time.time())
    claims = {
        name: now + value if name in ("exp", "nbf", "iat") and isinstance(value, int) else value
        for name, value in claims.items()
    }
    with pytest.raises(NotKnownError):
        tokens_of(shared).identify(shared.token(**claims))


@pytest.mark.parametrize(("claim", "seconds"), [("exp", -20), ("nbf", 40)])
def test_clocks_may_differ_by_less_than_a_minute(shared: Provider, claim: str, seconds: int) -> None:
    claims: dict[str, Any] = {claim: int(time.time()) + seconds}
    token = shared.token(**claims)
    assert tokens_of(shared).identify(token) is not None


def test_other_audiences_count_if_they_are_listed(shared: Provider) -> None:
    token = shared.token(aud="ci")
    with pytest.raises(NotKnownError):
        tokens_of(shared).identify(token)
    assert tokens_of(shared, audiences=("ci",)).identify(token) is not None


def part(content: object) -> str:
    return urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def test_nobody_signs_but_the_issuer(shared: Provider) -> None:
    good = shared.token()
    header, payload, signature = good.split(".")
    claims = {"iss": shared.issuer, "aud": CLIENT, "sub": "1", "exp": int(time.time()) + 60}
    other = RSAKey.generate_key(2048, {"kid": "first"})
    public = shared.keys["first"].as_pem(private=False)
    signed = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims)}"
    mac = hmac.digest(public, signed.encode(), "sha256")
    confused = f"{signed}.{urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    forged = {
        "unsigned": f"{part({'alg': 'none'})}.{part(claims)}.",
        "unsigned, with a kid": f"{part({'alg': 'none', 'kid': 'first'})}.{part(claims)}.",
        "by another key of that name": jwt.encode({"alg": "RS256", "kid": "first"}, claims, other),
        "with its own key in it": jwt.encode(
            {"alg": "RS256", "kid": "x", "jwk": other.as_dict(private=False)}, claims, other
        ),
        "by the public key as a secret": confused,
        "another content": f"{header}.{part(claims)}.{signature}",
        "cut off": f"{header}.{payload}.{signature[:-4]}",
        "of another kind": shared.token(header={"typ": "logout+jwt"}),
    }
    for what, token in forged.items():
        with pytest.raises(NotKnownError):
            print(what, tokens_of(shared).identify(token))


@pytest.mark.parametrize("token", ["", "abc", "a.b", "a.b.c.d", "é.b.c", "x" * 20_000 + ".a.b"])
def test_what_is_no_token_of_an_issuer_is_left_to_others(shared: Provider, token: str) -> None:
    assert tokens_of(shared).identify(token) is None


@pytest.mark.parametrize("token", ["..", "a.b.c", "e30.e30.e30"])
def test_what_only_looks_like_one_is_refused(shared: Provider, token: str) -> None:
    with pytest.raises(NotKnownError):
        tokens_of(shared).identify(token)


def test_an_unknown_key_is_looked_for_once_a_minute_at_most(provider: Provider) -> None:
    seconds = Seconds()
    tokens = tokens_of(provider, seconds)
    assert tokens.identify(provider.token()) is not None
    provider.keys["second"] = ECKey.generate_key("P-256", {"kid": "second", "use": "sig"})
    rotated = provider.token("second")
    for _ in range(5):
        with pytest.raises(NotKnownError):
            tokens.identify(rotated)
    assert provider.asked["/keys"] == 1, "an attacker's names of keys are no reason to ask"
    seconds.now = 61.0
    assert tokens.identify(rotated) is not None
    assert tokens.identify(provider.token()) is not None
    assert provider.asked["/keys"] == 2


def test_a_key_that_was_taken_back_is_no_good_any_more(provider: Provider) -> None:
    seconds = Seconds()
    tokens = tokens_of(provider, seconds)
    stolen = provider.token()
    assert tokens.identify(stolen) is not None
    provider.keys = {"second": RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})}
    seconds.now = 601.0
    with pytest.raises(NotKnownError):
        tokens.identify(stolen)


def test_an_issuer_that_is_away_locks_nobody_out_who_has_a_good_token(provider: Provider) -> None:
    seconds = Seconds()
    tokens = tokens_of(provider, seconds)
    assert tokens.identify(provider.token()) is not None
    provider.down = True
    seconds.now = 700.0
    assert tokens.identify(provider.token()) is not None


def test_an_issuer_that_was_never_there_lets_nobody_in_until_it_is(provider: Provider) -> None:
    seconds = Seconds()
    provider.down = True
    tokens = tokens_of(provider, seconds)
    for _ in range(3):
        with pytest.raises(NotKnownError):
            tokens.identify(provider.token())
    assert provider.asked.total() == 1
    provider.down, seconds.now = False, 11.0
    assert tokens.identify(provider.token()) is not None


def test_an_issuer_must_say_that_it_is_itself(provider: Provider) -> None:
    provider.document["issuer"] = "https://elsewhere.example"
    with pytest.raises(NotKnownError, match="says that it is"):
        tokens_of(provider).identify(provider.token())
    provider.document |= {"issuer": provider.issuer, "jwks_uri": "http://keys.example/keys"}
    with pytest.raises(NotKnownError, match="not an https address"):
        tokens_of(provider).identify(provider.token())
