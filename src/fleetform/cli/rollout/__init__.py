"""fleetform rollout"""

from __future__ import annotations

import click

from fleetform.cli.rollout.requests import abort, approve, pause, resume, retry, rollback, start
from fleetform.cli.rollout.standing import list_, status


@click.group(
    epilog="""\b
Examples:
  fleetform rollout list --state state.json
  fleetform rollout approve cert-manager-7f3a1b2c --stage gold --state state.json
  fleetform rollout pause cert-manager --reason INC-4711 --state state.json
  fleetform rollout rollback cert-manager --state state.json
  fleetform rollout approve cert-manager --stage gold --server http://127.0.0.1:8080
  fleetform rollout status cert-manager --watch --timeout 2h --server http://127.0.0.1:8080

With --server a control plane is asked; else requests are written to the state file, and the next plan reads them.
"""
)
def command() -> None:
    """Changes on their way: see them, approve stages, pause, abort, roll back."""


for each in (abort, approve, list_, pause, resume, retry, rollback, start, status):
    command.add_command(each)
