"""fleetform logout"""

from __future__ import annotations

import click


@click.command(epilog="Example: fleetform logout --server https://fleet.example.org")
@click.option("--server", metavar="URL", required=True, help="The control plane to sign out from.")
def command(server: str) -> int:
    """Forget what `fleetform login` got for a control plane.

    The issuer is not told: end the session there, too, if the machine is not yours.
    """
    from fleetform.access.logins import sign_out

    there = sign_out(server)
    click.echo(f"signed out from {server}" if there else f"nobody was signed in at {server}", err=not there)
    return 0
