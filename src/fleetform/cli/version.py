"""fleetform version"""

from __future__ import annotations

import json
import platform

import click

from fleetform import __version__


@click.command(epilog="Example: fleetform version -o json")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="The format.")
def command(output: str) -> int:
    """Print the version."""
    if output in ("json", "yaml"):
        import msgspec

        from fleetform.model.answers.version import VersionAnswer
        from fleetform.syntax.yaml_out import write_yaml

        view = msgspec.to_builtins(VersionAnswer(version=__version__, python=platform.python_version()))
        click.echo(json.dumps(view, indent=2) if output == "json" else write_yaml(view).rstrip())
    else:
        click.echo(f"fleetform {__version__}")
    return 0
