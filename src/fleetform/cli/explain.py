"""fleetform explain"""

from __future__ import annotations

import click
from msgspec import UNSET

from fleetform.app.broken import Broken
from fleetform.app.errors import AmbiguousError, NotFoundError
from fleetform.app.explain import explain
from fleetform.app.explain_everywhere import explain_everywhere
from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_placements import explain_placement
from fleetform.app.questions import deciding_for, find_plugin
from fleetform.app.rendering.field_causes import Asked, parse_asked
from fleetform.cli.bindings import explain_manifest, print_bindings
from fleetform.cli.columns import overrides_text
from fleetform.cli.complete import complete_options, complete_owners
from fleetform.cli.derivation import layer_text, limit_of, print_blocked, print_option, title
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, count, cut, place_text, table, value_text, with_place
from fleetform.cli.upgrades import upgrade_lines
from fleetform.model.answers.configs import HiddenNamedConfig
from fleetform.model.answers.explanation import Explanation, OptionEverywhere
from fleetform.model.results.decisions import PluginDecision


def _asked(_: click.Context, __: click.Parameter, text: str | None) -> Asked | None:
    try:
        return parse_asked(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(
    epilog="""\b
Examples:
  fleetform explain cert-manager -c eu-prod-1              all options at a glance
  fleetform explain cert-manager -c eu-prod-1 replicas     one option, the whole derivation
  fleetform explain cert-manager replicas                  one option over all clusters of the preset
  fleetform explain cert-manager-eu-prod-1 -o json
  fleetform explain -c eu-prod-1 --definition cert-manager replicas
  fleetform explain cert-manager -c eu-prod-1 --configs    its configs, from three places
  fleetform explain cert-manager -c eu-prod-1 --bindings   its variables and their values
  fleetform explain cert-manager -c eu-prod-1 --manifest Deployment/web:/spec/replicas
  fleetform explain --placement canaries -c eu-prod-1      is it chosen, and why not
"""
)
@click.argument("name", required=False, metavar="PLUGIN|PRESET", shell_complete=complete_owners)
@click.argument("option", required=False, shell_complete=complete_options)
@click.option("--definition", metavar="NAME", help="The plugin of this definition on the cluster given with -c.")
@click.option("--placement", metavar="NAME", help="Whether this placement chooses the cluster given with -c, and why.")
@click.option("--configs", is_flag=True, help="The configs that count, in order, and those that are hidden.")
@click.option("--bindings", is_flag=True, help="The variables it may refer to, and their values here.")
@click.option(
    "--manifest",
    metavar="KIND/NAME:/POINTER",
    callback=_asked,
    help="Which options make a field of a rendered object what it is.",
)
@shared_flags("table", "wide", "json", "yaml", "name")
def command(
    flags: Flags,
    name: str | None,
    option: str | None,
    definition: str | None,
    placement: str | None,
    configs: bool,
    bindings: bool,
    manifest: Asked | None,
) -> int:
    """Show what one plugin on one cluster gets, and why.

    The winner comes first, then what it hid, from specific to generic, each with the place where it is written.
    """
    if placement is not None:
        return _explain_placement(flags, placement)
    if definition is not None:
        # With --definition the one word is the option.
        name, option = None, option or name
        if flags.cluster is None:
            raise click.UsageError("--definition needs a cluster: give one with -c.")
    elif name is None:
        raise click.UsageError("Name a plugin, a preset with -c CLUSTER, or give --definition with -c CLUSTER.")
    questions = {"--configs": configs, "--bindings": bindings, "--manifest": manifest, "an option": option}
    given = [question for question, value in questions.items() if value]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} are two questions: ask one at a time.")
    output = flags.output
    if manifest is not None:
        _refuse_server(flags, "--manifest renders on this machine")
        return explain_manifest(flags, *_ask(flags, name, definition), manifest)
    if option is not None and name is not None and flags.cluster is None and flags.server is None:
        everywhere = _everywhere(flags, name, option)
        if everywhere is not None:
            return _show_everywhere(flags, everywhere)
    answer = _explanation(flags, name, definition, option)
    if output in ("json", "yaml"):
        flags.print_data(answer)
    elif output == "name":
        click.echo(f"plugin/{answer.plugin}")
    elif option is not None:
        print_option(flags, answer, option)
    else:
        show = _print_configs if configs else print_bindings if bindings else _print_plugin
        show(flags, answer)
    return 0


def _everywhere(flags: Flags, name: str, option: str) -> OptionEverywhere | None:
    """The option on all plugins of a preset; None if it is not a preset with several plugins that is meant."""
    fleet = flags.read()
    scope = flags.scope(fleet, name)
    narrowed = deciding_for(fleet, scope, name, None)
    plugins = [each for each in scope.plugins(narrowed) if each.target.owner.ref.name == name]
    if len(plugins) < 2 or any(each.name == name for each in scope.plugins(narrowed)):
        return None
    errors = [each for each in fleet.reading if each.severity == "error"]
    flags.refuse_unless_partial(fleet, Broken(narrowed, errors).touching_any(plugins))
    flags.say_more(fleet)
    return explain_everywhere(narrowed, plugins, name, option)


def _show_everywhere(flags: Flags, answer: OptionEverywhere) -> int:
    if flags.only("table", "wide", "json", "yaml") in ("json", "yaml"):
        flags.print_data(answer)
        return 0
    paint = Painter(flags.color)
    click.echo(paint(f"{answer.option} of {answer.name} on {count(answer.plugins, 'cluster')}", bold=True))
    limit = 1_000 if flags.output == "wide" else 3
    for group in answer.groups:
        value = value_text(group.option.value, limit_of(flags)) if group.option.value is not None else "not set"
        clusters = ", ".join(group.clusters[:limit]) + (", …" if len(group.clusters) > limit else "")
        winner = group.option.winner
        by = f"   {layer_text(winner)}   " if winner is not None else ""
        place = place_text(winner.object.place) if winner is not None else ""
        head = f"{value} on {count(len(group.clusters), 'cluster')}"
        # Painted last: a colour has no width.
        line = with_place(f"  {head} ({clusters}){by}", place, flags.width, "      ")
        click.echo(line.replace(head, paint(head, bold=True), 1).rstrip())
    if answer.without:
        shown = ", ".join(answer.without[:limit]) + (", …" if len(answer.without) > limit else "")
        click.echo(f"  not declared on {count(len(answer.without), 'cluster')} ({shown})")
    flags.say(f"one of them: fleetform explain {answer.name} {answer.option} -c CLUSTER{flags.again()}")
    return 0


def _explanation(flags: Flags, name: str | None, definition: str | None, option: str | None) -> Explanation:
    if flags.server is not None:
        said = {**flags.parameters(), "plugin": name, "definition": definition, "option": option}
        return flags.control_plane().answer("explain", Explanation, said)
    fleet, plugin = _ask(flags, name, definition)
    return explain(fleet, plugin, option)


def _refuse_server(flags: Flags, why: str) -> None:
    if flags.server is not None:
        raise click.UsageError(f"{why}: drop --server, and name files with -f.")


def _ask(flags: Flags, name: str | None, definition: str | None) -> tuple[Fleet, PluginDecision]:
    """The plugin that is meant, in a fleet of which only its cluster is decided; errors that reach it exit with 2."""
    # Both flags are about all that there is to say.
    whole = flags.strict or flags.verbose
    fleet = flags.decided() if whole else flags.read()
    try:
        scope = flags.scope(fleet, name)
        narrowed = fleet if whole else deciding_for(fleet, scope, name, definition)
        plugin = find_plugin(narrowed, scope, name, definition)
    except (NotFoundError, AmbiguousError):
        # It may be missing for an error: that is then the answer.
        if not flags.partial:
            flags.refuse_unless_partial(fleet, fleet.findings.errors)
        flags.say_unread(fleet)
        raise
    errors = fleet.findings.errors if whole else [each for each in fleet.reading if each.severity == "error"]
    touching = Broken(narrowed, errors).touching(plugin)
    about = [each for each in narrowed.findings.about(plugin) if each.severity == "error"]
    flags.refuse_unless_partial(fleet, narrowed.findings.in_order({**dict.fromkeys(touching), **dict.fromkeys(about)}))
    flags.say_more(fleet)
    return narrowed, plugin


def _explain_placement(flags: Flags, name: str) -> int:
    _refuse_server(flags, "--placement reads files")
    output = flags.only("table", "wide", "json", "yaml")
    fleet = flags.decided()
    scope = flags.scope(fleet)
    errors = Broken(fleet, fleet.findings.errors)
    flags.refuse_unless_partial(fleet, errors.of_kinds(scope, ("Placement", "Cluster", "ManagedClusterSet")))
    answer = explain_placement(fleet, scope, name, flags.cluster)
    if output in ("json", "yaml"):
        flags.print_data(answer)
        return 0
    rows = [(each.cluster, "chosen" if each.chosen else "not chosen", each.reason or "") for each in answer.items]
    for line in table((), rows):
        click.echo(line)
    return 0


def _print_configs(flags: Flags, answer: Explanation) -> None:
    """The configs that count, in order, then those that are hidden."""
    paint = Painter(flags.color)
    click.echo(f"{paint(answer.plugin, bold=True)}  {paint(title(answer), dim=True)}")
    click.echo(f"  mode {answer.config_mode}")
    rows = []
    for config in (*answer.configs, *answer.configs_hidden):
        mark, hash_ = "●", config.spec_hash[:12] or "missing"
        if isinstance(config, HiddenNamedConfig):
            mark, hash_ = "○", config.reason
        type_ = f"{config.resource}.{config.group}" if config.group else config.resource
        name = f"{config.namespace}/{config.name}" if config.namespace else config.name
        part = f" ({config.part})" if config.part is not UNSET else ""
        by, place = f"{config.from_.kind} {config.from_.name}{part}", f"{config.place}.{config.index}"
        rows.append((f"{mark} {type_}", name, hash_, place, by, place_text(config.from_.place)))
    for line in table((" TYPE", "CONFIG", "HASH", "PLACE", "NAMED BY", "WHERE"), rows, "  ", flags.width):
        click.echo(paint(line, dim=True) if "○" in line[:4] else line)
    print_blocked([each for each in answer.blocked if each.gate == "config-missing"], paint)
    if not rows:
        flags.say("no configs are named")


def _print_plugin(flags: Flags, answer: Explanation) -> None:
    """A whole plugin: what holds it back, what its upgrade brings, its overrides and all of its options."""
    paint, wide = Painter(flags.color), flags.output == "wide"
    click.echo(f"{paint(answer.plugin, bold=True)}  {paint(title(answer), dim=True)}")
    print_blocked(answer.blocked, paint)
    for waiting in answer.waiting:
        click.echo(f"  {paint('waiting', fg='yellow')} [{waiting.gate}] {waiting.message}")
    ahead = answer.upgrade
    if ahead is not None and ahead.options is not UNSET:
        for line in upgrade_lines(ahead.changelog or (), ahead.options, ahead.affected or (), paint, wide):
            click.echo(f"  {line}")
    if overrides := answer.applied_overrides:
        names = overrides_text(overrides)
        order = ", in order of application" if len(overrides) > 1 else ""
        click.echo(f"  {count(len(overrides), 'override')}{order}: {cut(names, 400)}")
    rows = []
    for option in answer.options:
        value = value_text(option.value, 48) if option.value is not None else "-"
        giver = option.removed_by or option.winner or (option.parts[0].winner if option.parts else None)
        # A star says that paths inside the option have winners of their own.
        name = option.path + (" *" if option.parts else "")
        by = (layer_text(giver), place_text(giver.object.place)) if giver else ("", "")
        rows.append((name, value, *by))
    for number, line in enumerate(table(("OPTION", "VALUE", "FROM", "WHERE"), rows, "  ", flags.width)):
        unset = number and rows[number - 1][1] == "-"
        click.echo(paint(line, dim=True) if unset or not number else line)
    for skipped in answer.skipped if wide else ():
        click.echo(f"  skipped {skipped.path}: {layer_text(skipped)} ({skipped.reason})")
    if rows:
        example = next((row[0] for row in rows if row[1] != "-"), rows[0][0]).rstrip(" *")
        command_ = f"fleetform explain {answer.plugin} {example}{flags.again()}"
        flags.say(paint(f"\nthe whole derivation: {command_}", dim=True))
