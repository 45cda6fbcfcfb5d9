"""Writes files that a verb makes; what exists is replaced only where that was asked for."""

from __future__ import annotations

import os

import click

from fleetform.cli.options import Flags
from fleetform.cli.text import count
from fleetform.wiring.files import write_file


def write_files(flags: Flags, files: list[tuple[str, str]], dry_run: bool, yes: bool) -> None:
    existing = [path for path, _ in files if os.path.exists(path)]
    if existing and not yes and not dry_run:
        more = f", and {count(len(existing) - 1, 'other file')}" if len(existing) > 1 else ""
        raise click.UsageError(f"{existing[0]} exists{more}. Give --yes to replace, or another --output-dir.")
    # A file, and the two folders that are made for it.
    above = [(path, os.path.dirname(path), os.path.dirname(os.path.dirname(path))) for path, _ in files]
    links = [each[0] for each in above if any(map(os.path.islink, each))]
    if links:
        raise click.UsageError(f"{links[0]} is, or lies behind, a link: nothing is written through links.")
    for path, text in files:
        if not dry_run:
            write_file(path, text)
        if flags.output == "table":
            click.echo(path)
    flags.say(f"{count(len(files), 'file')} {'would be ' if dry_run else ''}written")
