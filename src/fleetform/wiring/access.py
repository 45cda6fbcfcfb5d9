"""Who is let in to a control plane, and asking one as whoever this user is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fleetform.model.identity import Identity

if TYPE_CHECKING:
    from fleetform.access.door import Door
    from fleetform.outside.control_plane import ControlPlane
    from fleetform.ports.clock import Clock


class AccessSettings(NamedTuple):
    """Who is let in beside the user of `serve`: the names in a file of tokens, and the people of an issuer."""

    token_file: str | None = None
    oidc_issuer: str | None = None
    oidc_client_id: str = ""
    oidc_audiences: tuple[str, ...] = ()
    oidc_groups_claim: str = "groups"
    oidc_groups_prefix: str = ""


def open_door(
    settings: AccessSettings, own_token: str, owner: Identity, clock: Clock, told: Callable[[str], None]
) -> Door:
    """What tells who asks. TokenFileError if the file of tokens cannot be used."""
    from fleetform.access.door import Door
    from fleetform.access.own_token import OwnToken
    from fleetform.access.token_file import TokenFile
    from fleetform.ports.access import SignInSettings, Tokens

    kinds: list[Tokens] = [OwnToken(own_token, owner)]
    if settings.token_file is not None:
        kinds.append(TokenFile(settings.token_file, clock, told))
    if settings.oidc_issuer is None:
        return Door(kinds, told)
    from fleetform.access.issuer import IssuerKeys, issuer_web
    from fleetform.access.oidc import OidcSettings, OidcTokens

    issuer, client = settings.oidc_issuer, settings.oidc_client_id
    asked = OidcSettings(
        issuer, client, settings.oidc_audiences, settings.oidc_groups_claim, settings.oidc_groups_prefix
    )
    kinds.append(OidcTokens(asked, IssuerKeys(issuer_web(), issuer), time.time))
    return Door(kinds, told, SignInSettings(issuer, client))


def open_control_plane(url: str) -> ControlPlane:
    """A control plane that runs somewhere, asked as whoever this user is there."""
    # Imported where it is needed: it brings an HTTP client.
    from fleetform.outside.control_plane import ControlPlane
    from fleetform.outside.tokens import address_of, find_token

    def find(server: str) -> str | None:
        found = find_token(address_of(server))
        if found is None:
            from fleetform.access.logins import token_for

            found = token_for(server)
        return found

    return ControlPlane(url, find)
