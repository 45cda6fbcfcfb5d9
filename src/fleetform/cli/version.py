"""fleetform version"""

from __future__ import annotations

import json
import platform

import click

from fleetform import __version__


@click.command(epilog="Example: fleetform version -o json")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="The format.")
def command(output: str) -> int:
    """Print the version."""
    if output == "json":
        view = {"kind": "Version", "version": __version__, "python": platform.python_version(), "diagnostics": []}
        click.echo(json.dumps(view, indent=2))
    else:
        click.echo(f"fleetform {__version__}")
    return 0
