"""fleetform render"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from fleetform.app.answering.options import sources_of_values
from fleetform.app.answering.plugins import reported_gates
from fleetform.app.broken import Broken
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.questions import find_plugin
from fleetform.app.render import plugin_at_version, render_answer
from fleetform.app.rendering.output_files import files_of
from fleetform.app.rendering.plugin_renders import PluginRender, notes_on, render_plugins
from fleetform.app.scope import Scope
from fleetform.cli.complete import complete_owners
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.progress import progress
from fleetform.cli.text import Painter, count, place_text, table, value_text
from fleetform.cli.write import write_files
from fleetform.model.objects import Object
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.syntax.names import object_label
from fleetform.syntax.yaml_out import write_documents
from fleetform.wiring.files import OUTPUT_MARK, write_file

# So many reasons are shown; nobody reads more.
_SHOWN = 20


@click.command(
    epilog="""\b
Examples:
  fleetform render cert-manager -c eu-prod-1                the objects of one plugin
  fleetform render -c eu-prod-1 --output-dir out            a whole cluster, one file an object
  fleetform render -l region=eu -o name                     which objects there are
  fleetform render cert-manager-eu-prod-1 -o json
  fleetform render cert-manager-eu-prod-1 --version 1.15.0  what another version would be

\b
Charts need helm on the PATH (or FLEETFORM_HELM), kustomizations kustomize or kubectl. Secrets are placeholders.
Exit codes: 0 rendered; 3 something blocks a plugin, or its chart fails; 4 a tool or a source is missing.
"""
)
@click.argument("name", required=False, metavar="PLUGIN|PRESET", shell_complete=complete_owners)
@click.option("--output-dir", metavar="DIR", help="Write files there instead of printing: CLUSTER/PLUGIN/OBJECT.yaml.")
@click.option("--version", metavar="V", help="Render this version instead, with what is written now.")
@click.option("--no-transform", is_flag=True, help="Leave transforms and patches out.")
@click.option("--dry-run", is_flag=True, help="Say which files would be written, and write none.")
@click.option("--yes", is_flag=True, help="Replace files that exist.")
@shared_flags("table", "wide", "json", "yaml", "name")
def command(
    flags: Flags,
    name: str | None,
    output_dir: str | None,
    version: str | None,
    no_transform: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    """Render plugins into Kubernetes objects; plugins that Flux delivers, into what Flux gets."""
    output = flags.output
    if name is None and flags.cluster is None and not flags.selector and not flags.everywhere:
        raise click.UsageError("Name a plugin, or give -c CLUSTER, -l LABELS or -A.")
    fleet = flags.decided()
    if output_dir is not None:
        # What is written must be right as a whole; what is shown, as far as it goes (S64).
        flags.refuse(fleet, fleet.findings.errors)
    scope = flags.scope(fleet, name)
    plugins, left_out = _asked_for(flags, fleet, scope, name)
    plugins = [plugin_at_version(fleet, each, version) if version is not None else each for each in plugins]
    flags.say_more(fleet)
    with progress(f"rendering {count(len(plugins), 'plugin')}", quiet=flags.quiet):
        rendered = render_plugins(
            fleet, plugins, flags.renderers(), output_dir is not None, transforming=not no_transform
        )
    if output in ("json", "yaml"):
        flags.print_data(render_answer(fleet, rendered))
    elif output == "name":
        for each in rendered:
            for tree in each.objects:
                click.echo(f"{each.plugin.cluster.ref.name}/{each.plugin.name} {object_label(tree)}")
    elif output_dir is None:
        for plugin, objects in ((each.plugin, each.objects) for each in rendered if each.objects):
            click.echo(f"# {plugin.target.definition} {plugin.version} on {plugin.cluster.ref.name}: {plugin.name}")
            click.echo("---\n" + "---\n".join(write_documents([tree]) for tree in objects), nl=False)
    if output_dir is not None:
        _write_objects(flags, rendered, output_dir, dry_run, yes)
    _say_problems(flags, fleet, rendered)
    flags.show_left_out(fleet, left_out, "what they reach was not rendered")
    if left_out:
        return 2
    if any(each.blocked and not each.unavailable for each in rendered):
        return 3
    return 4 if any(each.unavailable for each in rendered) else 0


def _asked_for(
    flags: Flags, fleet: Fleet, scope: Scope, name: str | None
) -> tuple[list[PluginDecision], list[Diagnostic]]:
    """The plugins that are meant, and the errors for which others of them are left out."""
    broken = Broken(fleet, fleet.findings.errors)
    # A preset means all of its plugins here; one plugin is found as everywhere else, and a typo reported as there.
    plugins = [each for each in scope.plugins(fleet) if name in (None, each.target.owner.ref.name)]
    try:
        plugins = plugins or ([find_plugin(fleet, scope, name, None)] if name is not None else [])
    except NotFoundError:
        # It may be missing for an error: that is then the answer.
        if not flags.partial:
            flags.refuse_unless_partial(fleet, broken.reaching(scope))
        raise
    reaching = broken.touching_any(plugins) if name is not None else broken.reaching(scope)
    if reaching and flags.partial:
        flags.say_left_out(fleet, reaching)
        return plugins, []
    kept = [each for each in plugins if not reaching or not broken.touching(each)]
    if not kept:
        flags.refuse_unless_partial(fleet, reaching)
    return kept, reaching


def _write_objects(flags: Flags, rendered: Sequence[PluginRender], output_dir: str, dry_run: bool, yes: bool) -> None:
    """A file for each object, and a mark in each folder that is made: what is in there is no input."""
    if not output_dir:
        raise click.UsageError("--output-dir needs a folder.")
    files = [(os.path.join(output_dir, path), text) for path, text in files_of(rendered)]
    folders = {os.path.dirname(path) for path, _ in files}
    # Only a plugin's own folder: the one that is given may hold anything, the fleet itself included.
    new = sorted(each for each in folders if not os.path.exists(each) or os.path.exists(_mark(each)))
    if files:
        write_files(flags, files, dry_run, yes)
    for each in new if not dry_run else ():
        write_file(_mark(each), "Written by `fleetform render`: no part of a fleet.\n")


def _mark(folder: str) -> str:
    return os.path.join(folder, OUTPUT_MARK)


def _say_problems(flags: Flags, fleet: Fleet, rendered: Sequence[PluginRender]) -> None:
    paint = Painter(flags.color)
    failed = [each for each in rendered if each.blocked]
    alike: dict[tuple[Object[object], str | None, tuple[tuple[str, str], ...]], list[PluginRender]] = {}
    for each in failed:
        reasons = tuple((gate.gate, gate.message) for gate in each.blocked)
        alike.setdefault((each.plugin.target.owner, each.plugin.version, reasons), []).append(each)
    for members in list(alike.values())[:_SHOWN]:
        _say_blocked(flags, fleet, members, paint)
    if len(alike) > _SHOWN:
        flags.say(f"and {count(len(alike) - _SHOWN, 'other reason')}: -o json has them all")
    _say_transforms(flags, rendered)
    for finding in notes_on(rendered):
        flags.say(f"warning: {finding.message}\n  {finding.hint}")
    if failed:
        done = len(rendered) - len(failed)
        flags.say(f"{done:,} of {count(len(rendered), 'plugin')} rendered, {len(failed):,} not")
    elif not rendered:
        flags.say("no plugin there")
    for each in rendered:
        if not each.objects and not each.blocked:
            flags.say(f"{each.plugin.name} renders to nothing")


def _say_transforms(flags: Flags, rendered: Sequence[PluginRender]) -> None:
    """What lost between transforms, and what they leave out, once for all plugins that have it."""
    found: dict[str, int] = {}
    for each in rendered:
        for lost in each.transformation.ignored:
            op, path = lost.operation["op"], lost.operation["path"]
            text = f"{op} {path} of {lost.object}: {lost.winner} wins over {lost.plugin} ({lost.reason})"
            found[text] = found.get(text, 0) + 1
        for name, plugins in each.transformation.whiteouts:
            text = f"{name} is left out by {' and '.join(plugins)}"
            found[text] = found.get(text, 0) + 1
    for text, times in list(found.items())[:_SHOWN]:
        flags.say(f"{text} · {count(times, 'plugin')}")


def _say_blocked(flags: Flags, fleet: Fleet, alike: Sequence[PluginRender], paint: Painter) -> None:
    """Why plugins are not rendered, once for all that have the same reasons."""
    each = alike[0]
    plugin = each.plugin
    what = f"{plugin.target.definition} {plugin.version or ''}".rstrip()
    more = f" and {len(alike) - 1:,} more" if len(alike) > 1 else ""
    where = f"{plugin.name} ({what} on {plugin.cluster.ref.name}{more})"
    click.echo(f"{paint('error', fg='red', bold=True)}: {where}", err=True)
    for gate in reported_gates(each.blocked, plugin, fleet.input.locator):
        head, *rest = gate.message.splitlines() or [""]
        click.echo(f"  [{gate.gate}] {head}", err=True)
        click.echo("".join(f"    {line}\n" for line in rest), nl=False, err=True)
        click.echo(f"    --> {place_text(gate.object.place)}", err=True)
        if gate.do:
            click.echo(f"    {paint(gate.do, fg='green')}", err=True)
    if any(gate.gate == "render-failed" for gate in each.blocked) and not each.unavailable:
        rows = [
            (one.path, "=", value_text(one.value, 40), f"{one.layer} {one.object.name}", place_text(one.object.place))
            for one in sources_of_values(plugin, fleet.input.locator)
        ]
        if rows:
            click.echo("    its values, beside the defaults:", err=True)
            click.echo("".join(f"{line}\n" for line in table((), rows, "      ")), nl=False, err=True)
