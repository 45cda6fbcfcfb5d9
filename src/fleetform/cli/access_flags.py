"""The flags of `serve` that say who is let in, and how the way there is protected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from fleetform.wiring import AccessSettings

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--token-file", metavar="FILE", help="Tokens by their hashes, each with its user and groups."),
    click.option("--oidc-issuer", metavar="URL", help="Let in people whom this OpenID Connect issuer knows."),
    click.option("--oidc-client-id", metavar="ID", help="What this server is called there; tokens are made for it."),
    click.option(
        "--oidc-audience", "oidc_audiences", multiple=True, metavar="ID", help="Also take tokens made for this."
    ),
    click.option(
        "--oidc-groups-claim", default="groups", show_default=True, metavar="NAME", help="Where a token names groups."
    ),
    click.option("--oidc-groups-prefix", default="", metavar="TEXT", help="Put before the issuer's names of groups."),
)


def access_flags(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def access_settings(given: Mapping[str, Any], listen: str | None) -> AccessSettings:
    found = AccessSettings(**given)
    if listen is None and (found.token_file is not None or found.oidc_issuer is not None):
        raise click.UsageError("Nobody can ask without --listen: add it, or drop --token-file and --oidc-issuer.")
    if (found.oidc_issuer is None) != (not found.oidc_client_id):
        raise click.UsageError("--oidc-issuer and --oidc-client-id belong together.")
    return found
