"""fleetform get"""

from __future__ import annotations

from collections.abc import Iterable

import click

from fleetform.app.get import find, findings, kinds
from fleetform.app.scope import other_organizations_hint
from fleetform.cli.columns import cells, more_cells
from fleetform.cli.data import listing_chunks, print_chunks
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import table
from fleetform.model.answers.listing import Listed, Listing
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
  fleetform get plugin cert-manager-eu-prod-1 -o yaml
"""
)
@click.argument("kind")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@shared_flags
def command(flags: Flags, kind: str, names: tuple[str, ...]) -> int:
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
    output = flags.only("table", "wide", "json", "yaml", "name")
    fleet = flags.fleet()
    scope = flags.scope(fleet)
    found = find(fleet, scope, plural, names)
    if output == "yaml":
        flags.print_data(Listing(items=list(found.whole()), diagnostics=findings(fleet, scope)))
    elif output == "json":
        print_chunks(listing_chunks(Listing(items=[], diagnostics=findings(fleet, scope)), found.whole()))
    elif output == "name":
        print_chunks(f"{item.kind.lower()}/{item.metadata.name}\n" for item in found.rows())
    elif found.objects:
        print_chunks(f"{line}\n" for line in _table(found.rows(), flags.everywhere, output == "wide"))
    else:
        flags.say(f"no {plural} in {scope.organization}" if scope.organization else f"no {plural} here")
    if hint := other_organizations_hint(fleet, scope):
        flags.say(hint)
    return 0


def _table(items: Iterable[Listed], everywhere: bool, wide: bool) -> list[str]:
    header: list[str] = []
    rows = []
    for item in items:
        organization = {"ORGANIZATION": item.metadata.namespace} if everywhere else {}
        more = more_cells(item) if wide else {}
        row = {**organization, "NAME": item.metadata.name, **cells(item), **more}
        header = header or list(row)
        rows.append(tuple(row.values()))
    return table(header, rows)
