"""fleetform completion"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="""\b
Examples:
  fleetform completion bash >> ~/.bashrc
  fleetform completion zsh > ~/.zfunc/_fleetform
  fleetform completion fish > ~/.config/fish/completions/fleetform.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a completion script for your shell."""
    from fleetform.cli.main import cli

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(cli, {}, "fleetform", "_FLEETFORM_COMPLETE").source())
    return 0
