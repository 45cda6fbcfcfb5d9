"""Tokens of an OpenID Connect issuer: whose they are, if they are good.

Somebody is who the issuer says, by issuer and subject. An address joins them to what an organization knows of its
people only if the issuer has verified it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import extract_compact

from fleetform.access.issuer import IssuerError, IssuerKeys
from fleetform.model.identity import Identity
from fleetform.ports.access import NotKnownError, SignedIn

# Signatures that need the issuer's private key; none that a public key could make.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519")
LEEWAY = 60
_LONGEST = 16 * 1024
_MOST_GROUPS = 1000
_TYPES = ("jwt", "at+jwt", "application/at+jwt")


class OidcSettings(NamedTuple):
    """Whose tokens are taken, and for whom they must be made. Names of groups get the prefix."""

    issuer: str
    client_id: str
    audiences: tuple[str, ...] = ()
    groups_claim: str = "groups"
    groups_prefix: str = ""


class OidcTokens:
    """The tokens of one issuer. now is the time in seconds."""

    def __init__(self, settings: OidcSettings, keys: IssuerKeys, now: Callable[[], float]) -> None:
        self._settings, self._keys, self._now = settings, keys, now

    def identify(self, token: str) -> SignedIn | None:
        if token.count(".") != 2 or len(token) > _LONGEST or not token.isascii():
            return None
        try:
            claims = self._claims(token)
        except (JoseError, IssuerError, ValueError) as error:
            raise NotKnownError(f"a token of {self._settings.issuer}: {error}") from error
        until = datetime.fromtimestamp(int(claims["exp"]) + LEEWAY, UTC)
        return SignedIn(self._identity(claims), until)

    def _claims(self, token: str) -> Mapping[str, Any]:
        header = extract_compact(token.encode()).headers()
        if header.get("alg") not in ALGORITHMS:
            raise ValueError(f"algorithm {header.get('alg')} is not taken")
        if str(header.get("typ", "JWT")).lower() not in _TYPES:
            raise ValueError(f"a {header.get('typ')} does not say who asks")
        kid = header.get("kid")
        key = self._keys.find(kid if isinstance(kid, str) else None)
        if key is None:
            raise ValueError("its key is not one of the issuer's")
        claims = jwt.decode(token, key, algorithms=list(ALGORITHMS)).claims
        accepted = [self._settings.client_id, *self._settings.audiences]
        jwt.JWTClaimsRegistry(
            now=int(self._now()),
            leeway=LEEWAY,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "values": accepted},
            sub={"essential": True},
            exp={"essential": True},
        ).validate(claims)
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp", audience[0]) not in accepted:
            raise ValueError("it was made for another client")
        return claims

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        email = claims.get("email")
        also = (email,) if claims.get("email_verified") is True and isinstance(email, str) and email else ()
        groups = claims.get(self._settings.groups_claim)
        named = [each for each in groups if isinstance(each, str)] if isinstance(groups, list) else []
        return Identity(
            f"{self._settings.issuer}#{claims['sub']}",
            also,
            tuple(f"{self._settings.groups_prefix}{each}" for each in named[:_MOST_GROUPS]),
        )
