"""fleetform login"""

from __future__ import annotations

import click

from fleetform.app.errors import NoAnswerError
from fleetform.model.answers.access import WhoAmI
from fleetform.ports.access import SignInSettings
from fleetform.wiring.access import open_control_plane


@click.command(
    epilog="""\b
Examples:
  fleetform login --server https://fleet.example.org
  fleetform get clusters --server https://fleet.example.org
"""
)
@click.option("--server", metavar="URL", required=True, help="The control plane to sign in to.")
def command(server: str) -> int:
    """Sign in to a control plane with your organization's account.

    It shows an address and a code: open the address on any device, compare the code and agree. What the issuer gives is
    kept in a file that only you may read, in fleetform/logins below your config folder, and renewed while the issuer
    allows it. Exit codes: 3 denied, 4 nobody answers.
    """
    # Imported where it is needed: it brings an HTTP client and cryptography.
    from fleetform.access.device_grant import Waiting
    from fleetform.access.logins import sign_in

    document = open_control_plane(server).sign_in_document()
    issuers, client = document.get("authorization_servers"), document.get("fleetform_client_id")
    if not isinstance(issuers, list) or not issuers or not isinstance(client, str):
        raise NoAnswerError(f"{server} lets nobody sign in", "it runs without --oidc-issuer: ask for a token instead")

    def show(waiting: Waiting) -> None:
        click.echo(f"Open {waiting.complete_address or waiting.address}", err=True)
        click.echo(f"and check that it shows the code {waiting.code}", err=True)

    sign_in(server, SignInSettings(str(issuers[0]), client), show)
    found = open_control_plane(server).answer("whoami", WhoAmI, {})
    click.echo(f"signed in at {server} as {(found.also or [found.user])[0]}")
    if found.everywhere:
        click.echo(f"  everywhere: {', '.join(found.everywhere)}")
    for each in found.organizations if not found.everywhere else ():
        click.echo(f"  {each.organization}: {', '.join(each.roles)}")
    if not found.organizations and not found.everywhere:
        click.echo(f"  no role yet: Organization.spec.roles must name {found.user} or one of your groups", err=True)
    return 0
