"""The flags of `serve` that say who is let in, and how the way there is protected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fleetform.wiring.access import AccessSettings

if TYPE_CHECKING:
    from fleetform.outside.certificates import Certificate

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--tls-cert", metavar="FILE", help="Answer over TLS with this certificate; a renewed one is taken at once."
    ),
    click.option("--tls-key", metavar="FILE", help="The key of the certificate."),
    click.option("--behind-proxy", is_flag=True, help="Accept other machines without TLS: a proxy terminates it."),
    click.option("--token-file", metavar="FILE", help="Tokens by their hashes, each with its user and groups."),
    click.option("--oidc-issuer", metavar="URL", help="Accept people who sign in at this OpenID Connect issuer."),
    click.option("--oidc-client-id", metavar="ID", help="This server's client ID there; tokens must be issued for it."),
    click.option(
        "--oidc-audience", "oidc_audiences", multiple=True, metavar="ID", help="Also accept tokens issued for this."
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
    found = AccessSettings(**{name: given[name] for name in AccessSettings._fields})
    if listen is None and (found.token_file is not None or found.oidc_issuer is not None):
        raise click.UsageError("Nobody can ask without --listen: add it, or drop --token-file and --oidc-issuer.")
    if (found.oidc_issuer is None) != (not found.oidc_client_id):
        raise click.UsageError("--oidc-issuer and --oidc-client-id belong together.")
    if found.token_file is not None or found.oidc_issuer is not None:
        _check(found)
    return found


def _check(settings: AccessSettings) -> None:
    """What the API would only meet once it runs is said now."""
    # Imported where it is needed: it brings cryptography.
    from fleetform.access.issuer import IssuerError, must_be_safe
    from fleetform.access.token_file import TokenFileError, check_token_file

    try:
        if settings.token_file is not None:
            check_token_file(settings.token_file)
        if settings.oidc_issuer is not None:
            must_be_safe(settings.oidc_issuer)
    except (TokenFileError, IssuerError) as error:
        raise click.UsageError(str(error)) from error


def certificate_of(given: Mapping[str, Any]) -> Certificate | None:
    """What TLS is spoken with, if it is."""
    certificate, key = given["tls_cert"], given["tls_key"]
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together.")
    if certificate is None:
        return None
    from fleetform.outside.certificates import Certificate

    found = Certificate(certificate, key)
    try:
        found.check()
    except OSError as error:
        hint = "are they PEM files that belong together, without a password?"
        raise click.UsageError(f"--tls-cert and --tls-key: {error.strerror or error}: {hint}") from error
    return found
