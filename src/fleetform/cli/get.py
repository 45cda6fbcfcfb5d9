"""fleetform get"""

from __future__ import annotations

import click

from fleetform.app.get import get, kinds
from fleetform.app.scope import other_organizations_hint
from fleetform.app.states import STATE_HELP, StateFilter
from fleetform.cli.columns import cells, more_cells
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import table
from fleetform.model.shape import did_you_mean

_SINGULAR = {
    "addon": "addons", "catalog": "catalogs", "cluster": "clusters", "definition": "definitions",
    "organization": "organizations", "override": "overrides", "placement": "placements", "plugin": "plugins",
    "plugindefinition": "definitions", "plugindefinitions": "definitions", "pluginoverride": "overrides",
    "pluginoverrides": "overrides", "pluginpreset": "presets", "pluginpresets": "presets", "policy": "policies",
    "preset": "presets", "revision": "revisions", "rollout": "rollouts", "window": "windows",
}  # fmt: skip


@click.command(
    epilog="""\b
Examples:
  fleetform get plugins -l environment=prod     what each takes
  fleetform get overrides -o wide               what each reaches
  fleetform get presets -A
  fleetform get plugins --state-is '!UpToDate'
  fleetform get plugin cert-manager-eu-prod-1 -o yaml
"""
)
@click.argument("kind")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--state-is", "states", multiple=True, metavar="STATE", help=STATE_HELP)
@shared_flags
def command(flags: Flags, kind: str, names: tuple[str, ...], states: tuple[str, ...]) -> int:
    """List objects of a KIND with what follows from them.

    \b
    Kinds: addons catalogs clusters definitions organizations overrides placements
           plugins policies presets revisions rollouts windows
    """
    plural = _SINGULAR.get(kind.lower(), kind.lower())
    if plural not in kinds():
        hint = did_you_mean(plural, kinds(), f"there are {', '.join(kinds())}")
        end = "" if hint.endswith("?") else "."
        raise click.UsageError(f"There is no kind {kind}. {hint[0].upper()}{hint[1:]}{end}")
    if states and plural != "plugins":
        raise click.UsageError("--state-is is about plugins.")
    wanted = StateFilter(states)
    output = flags.only("table", "wide", "json", "yaml", "name")
    fleet = flags.fleet()
    scope = flags.scope(fleet)
    answer = get(fleet, scope, plural, names, wanted)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    elif output == "name":
        for item in answer.items:
            click.echo(f"{item.kind.lower()}/{item.metadata.name}")
    elif answer.items:
        rows = []
        for item in answer.items:
            organization = {"ORGANIZATION": item.metadata.namespace} if flags.everywhere else {}
            more = more_cells(item) if output == "wide" else {}
            rows.append({**organization, "NAME": item.metadata.name, **cells(item), **more})
        # Kinds that are listed together may have columns of their own.
        header = list(dict.fromkeys(column for row in rows for column in row))
        for line in table(header, [[row.get(column, "-") for column in header] for row in rows]):
            click.echo(line)
    else:
        flags.say(f"no {plural} in {scope.organization}" if scope.organization else f"no {plural} here")
    if hint := other_organizations_hint(fleet, scope):
        flags.say(hint)
    return 0
