"""fleetform crds"""

from __future__ import annotations

import click

from fleetform.dialects.native.crds import crds
from fleetform.syntax.yaml_out import write_yaml


@click.command(
    epilog="""\b
Examples:
  fleetform crds | kubectl apply --server-side -f -
"""
)
def command() -> int:
    """Print the CustomResourceDefinitions of all kinds, to be applied to a management cluster."""
    click.echo("---\n".join(write_yaml(each) for each in crds()), nl=False)
    return 0
