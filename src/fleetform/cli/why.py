"""fleetform why"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import click

from fleetform.app.scope import other_organizations_hint
from fleetform.app.states import STATE_HELP, STATES, StateFilter
from fleetform.app.why import exit_code, reaching_why, why
from fleetform.cli.complete import complete_clusters
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.text import Painter, count
from fleetform.cli.waiting import print_groups, print_item
from fleetform.model.answers.planning import Why


@click.command(
    epilog="""\b
Examples:
  fleetform why eu-prod-3                          every plugin of the cluster
  fleetform why eu-prod-3 cert-manager             one of them
  fleetform why eu-prod-3 --state state.json       with what runs
  fleetform why --state-is Blocked,Failed          over the whole fleet
  fleetform why -l tier=gold --state-is '!UpToDate'

\b
Exit codes: 0 up to date; 1 waiting, in flight, failed, paused or unreachable; 3 blocked; of several the worst.
"""
)
@click.argument("cluster_name", required=False, metavar="[CLUSTER]", shell_complete=complete_clusters)
@click.argument("plugin", required=False, metavar="[PLUGIN]")
@click.option("--state-is", "states", multiple=True, metavar="STATE", help=STATE_HELP)
@shared_flags("table", "wide", "json", "yaml", "name")
def command(flags: Flags, cluster_name: str | None, plugin: str | None, states: tuple[str, ...]) -> int:
    """Why a cluster is not updated: when it starts at the earliest, every gate, and what to do.

    The gate that decides is marked. PLUGIN is a plugin's name, its preset's or its definition's.
    """
    output = flags.output
    if cluster_name is not None and flags.cluster not in (None, cluster_name):
        raise click.UsageError(f"{cluster_name} and -c {flags.cluster} are two clusters: give one.")
    if cluster_name is None and flags.cluster is None and not (states or flags.selector):
        raise click.UsageError("Name a cluster; or ask about many with -l or --state-is.")
    wanted = StateFilter(states)
    if cluster_name is not None:
        flags = replace(flags, cluster=cluster_name)
    answer, at, hint = _ask(flags, plugin, states, wanted)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    elif output == "name":
        for item in answer.items:
            click.echo(f"plugin/{item.plugin}")
    else:
        flags.say_consents(answer.diagnostics)
        _print(flags, answer, at, flags.cluster is not None or output == "wide")
    if not answer.items and hint:
        flags.say(hint)
    return exit_code(answer.items)


def _ask(flags: Flags, plugin: str | None, states: tuple[str, ...], wanted: StateFilter) -> tuple[Why, datetime, str]:
    """The answer, as of when, and what to try if there is nothing in the scope."""
    if flags.server is not None:
        said = {**flags.parameters(), "plugin": plugin, "state": ",".join(states)}
        return flags.control_plane().answer("why", Why, said), datetime.now(UTC), ""
    fleet = flags.decided()
    scope = flags.scope(fleet)
    flags.refuse_unless_partial(fleet, reaching_why(fleet, fleet.findings.errors, scope))
    flags.say_more(fleet)
    with progress("planning", quiet=flags.quiet):
        hint = other_organizations_hint(fleet, scope, nothing_found=flags.organization is None)
        return why(fleet, scope, plugin, wanted), fleet.plan.at, hint


def _print(flags: Flags, answer: Why, now: datetime, one_by_one: bool) -> None:
    paint = Painter(flags.color)
    if not answer.items:
        flags.say("no plugin is in that state" if flags.cluster is None else f"nothing to report for {flags.cluster}")
        return
    if one_by_one:
        for number, item in enumerate(answer.items):
            if number and (item.reasons or answer.items[number - 1].reasons):
                click.echo()
            print_item(item, now, paint, flags.again(), with_cluster=flags.cluster is None)
        return
    states: Counter[str] = Counter(each.state for each in answer.items)
    told = " · ".join(f"{states[each]:,} {each}" for each in STATES if states[each])
    click.echo(f"{count(len(answer.items), 'plugin')}: {told}")
    click.echo()
    print_groups(answer.items, now, paint, flags.again())
