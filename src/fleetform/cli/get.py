"""fleetform get"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.get import find, findings, kinds, reaching_listing, untouched
from fleetform.app.listing.found import Found
from fleetform.app.scope import Scope, other_organizations_hint
from fleetform.app.states import STATE_HELP, StateFilter
from fleetform.cli.columns import cells, more_cells
from fleetform.cli.complete import complete_kinds, complete_names
from fleetform.cli.data import listing_chunks, print_chunks
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import Progress, progress
from fleetform.cli.text import Painter, table
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listing import Listing
from fleetform.model.results.diagnostics import Diagnostic
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
  fleetform get overrides --findings            those without effect, or tied
  fleetform get presets -A
  fleetform get plugins --state-is '!UpToDate'
  fleetform get plugin cert-manager-eu-prod-1 -o yaml
"""
)
@click.argument("kind", shell_complete=complete_kinds)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_names)
@click.option("--state-is", "states", multiple=True, metavar="STATE", help=STATE_HELP)
@click.option(
    "--findings",
    "odd_only",
    is_flag=True,
    help="Only overrides with findings: without effect, redundant, tied or expired.",
)
@shared_flags("table", "wide", "json", "yaml", "name")
def command(flags: Flags, kind: str, names: tuple[str, ...], states: tuple[str, ...], odd_only: bool) -> int:
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
    if odd_only and plural != "overrides":
        raise click.UsageError("--findings is about overrides.")
    if odd_only and flags.server is not None:
        raise click.UsageError("--findings reads files: drop --server, and name them with -f.")
    wanted = StateFilter(states)
    output = flags.output
    if flags.server is not None:
        return _ask_server(flags, plural, names, states)
    fleet = flags.decided()
    scope = flags.scope(fleet)
    found, left_out = _find(flags, fleet, scope, plural, names, wanted)
    if odd_only:
        found = found.keeping(lambda each: bool(each.status.findings))
    flags.say_more(fleet)
    if output in ("json", "yaml", "name"):
        # On a terminal the answer itself shows how far it has come.
        with progress("writing", plural, flags.quiet or sys.stdout.isatty()) as said:
            _print_data(flags, fleet, scope, found, said)
    elif found.objects:
        with progress("listing", plural, flags.quiet) as said:
            lines = _table(flags, said.counting(found.rows(), len(found.objects)))
        print_chunks(f"{line}\n" for line in lines)
    else:
        what = f"{plural} with findings" if odd_only else plural
        flags.say(f"no {what} in {scope.organization}" if scope.organization else f"no {what} here")
    if hint := other_organizations_hint(fleet, scope, not found.objects and flags.organization is None):
        flags.say(hint)
    flags.show_left_out(fleet, left_out, f"what they reach is not among these {plural}")
    return 2 if left_out else 0


def _print_data(flags: Flags, fleet: Fleet, scope: Scope, found: Found[Any], said: Progress) -> None:
    total = len(found.objects)
    if flags.output == "name":
        rows = said.counting(found.rows(), total)
        print_chunks(f"{item.kind.lower()}/{item.metadata.name}\n" for item in rows)
        return
    items, diagnostics = said.counting(found.whole(), total), findings(fleet, scope)
    if flags.output == "yaml":
        flags.print_data(Listing(items=list(items), diagnostics=diagnostics))
    else:
        print_chunks(listing_chunks(Listing(items=[], diagnostics=diagnostics), items))


def _ask_server(flags: Flags, plural: str, names: tuple[str, ...], states: tuple[str, ...]) -> int:
    """A listing of a control plane, printed as one of files."""
    whole = flags.output in ("json", "yaml")
    more = {"name": ",".join(names), "state": ",".join(states), "brief": None if whole else "true"}
    answer = flags.control_plane().listing(plural, {**flags.parameters(), **more})
    if whole:
        flags.print_data(answer)
    elif flags.output == "name":
        print_chunks(f"{item.kind.lower()}/{item.metadata.name}\n" for item in answer.items)
    elif answer.items:
        print_chunks(f"{line}\n" for line in _table(flags, answer.items))
    else:
        flags.say(f"no {plural} in {flags.organization}" if flags.organization else f"no {plural} there")
    return 0


def _find(
    flags: Flags, fleet: Fleet, scope: Scope, plural: str, names: tuple[str, ...], states: StateFilter
) -> tuple[Found[Any], Sequence[Diagnostic]]:
    """What there is, and the errors for which a part of it is left out."""
    errors = fleet.findings.errors
    reaching = reaching_listing(fleet, errors, scope, plural) if errors else []
    if reaching and flags.partial:
        flags.say_left_out(fleet, reaching)
    try:
        found = find(fleet, scope, plural, names, states)
    except NotFoundError:
        # It may be missing for an error: that is then the answer.
        if not flags.partial:
            flags.refuse_unless_partial(fleet, reaching)
        raise
    if not reaching or flags.partial:
        return found, []
    kept = untouched(fleet, errors, found)
    if not kept.objects:
        flags.refuse_unless_partial(fleet, reaching)
    if names and len(kept.objects) == len(found.objects):
        return kept, []
    return kept, reaching


def _table(flags: Flags, items: Iterable[Listed]) -> list[str]:
    everywhere, wide = flags.everywhere, flags.output == "wide"
    header: dict[str, None] = {}
    rows = []
    for item in items:
        organization = {"ORGANIZATION": item.metadata.namespace} if everywhere else {}
        more = more_cells(item) if wide else {}
        row = {**organization, "NAME": item.metadata.name, **cells(item), **more}
        # Kinds that are listed together may have columns of their own.
        header.update(dict.fromkeys(row))
        rows.append(row)
    lines = [tuple(row.get(column, "-") for column in header) for row in rows]
    return table(list(header), lines, width=flags.width, paint=Painter(flags.color))
