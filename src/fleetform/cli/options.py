"""Flags that all verbs share, and what they make: a fleet, a scope, a way to print."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import click
import msgspec

from fleetform.app.answering.references import reported
from fleetform.app.comparing.beside import beside
from fleetform.app.consents import CONSENT_CODES
from fleetform.app.errors import AmbiguousError, NoAnswerError
from fleetform.app.findings import told_once
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope, scope_of
from fleetform.cli.complete import complete_clusters, complete_organizations
from fleetform.cli.data import print_json
from fleetform.cli.progress import progress
from fleetform.cli.terminal import wants_color, width_of
from fleetform.cli.text import count, place_text
from fleetform.model.answers.base import AnswerRecord
from fleetform.model.answers.findings import Failure, Finding
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.outside.boundary import Boundary
from fleetform.ports.rendering import Renders
from fleetform.ports.state import KnownState
from fleetform.syntax.selectors import Requirements, SelectorError, parse_selector
from fleetform.syntax.times import parse_duration, parse_time, time_text
from fleetform.wiring.access import open_control_plane
from fleetform.wiring.files import in_repository
from fleetform.wiring.fleets import Fetching, Parses, open_fleet, open_parses
from fleetform.wiring.rendering import open_renderers

if TYPE_CHECKING:
    from fleetform.outside.control_plane import ControlPlane

# So many errors are named before a partial answer; nobody reads more.
_SHOWN = 20
_UNREAD = ("catalog-unread", "catalog-unavailable", "empty-input")
_DESPITE = "; --partial answers without what is broken"
_REQUESTS = ("approve", "pause", "resume", "abort", "rollback", "retry", "start")
# What a control plane answers over its API.
_SERVED = frozenset(
    {"audit", "explain", "get", "history", "list", "notifications", "plan", "status", "why", *_REQUESTS}
)
_ANSWERS = {
    "explain": "Explanation",
    "get": "List",
    "diff": "Diff",
    "render": "Render",
    **dict.fromkeys(("status", *_REQUESTS), "Rollout"),
    "list": "RolloutList",
    "validate": "ValidateResult",
    "why": "Why",
    "plan": "Plan",
    "simulate": "Simulation",
}


@dataclass(frozen=True)
class Flags:
    """The shared flags, as given."""

    filename: tuple[str, ...]
    organization: str | None
    everywhere: bool
    selector: Requirements
    selector_text: str
    cluster: str | None
    output: str
    at: str | None
    state: str | None
    strict: bool
    fetching: Fetching
    quiet: bool
    verbose: bool
    color: bool
    catalogs: tuple[str, ...] | None = None
    plugin_dir: str | None = None
    as_user: str | None = None
    server: str | None = None
    confined: bool = False
    partial: bool = False
    parses: Parses = field(default_factory=Parses)

    def fleet(self, sources: Sequence[str] = (), before: Fleet | None = None, known: KnownState | None = None) -> Fleet:
        """The fleet, decided; invalid input ends the command with exit 2 and says why.

        before is another that it is compared with, and decided from; known is what is known, in place of --state.
        """
        fleet = self.decided(sources, before, known)
        self.refuse(fleet, fleet.findings.errors)
        self.say_more(fleet)
        return fleet

    def say_more(self, fleet: Fleet) -> None:
        """What -v shows beside an answer, and what must be known in any case."""
        if self.verbose:
            from fleetform.cli.findings import print_findings, print_skipped

            print_skipped(fleet, to_stderr=True)
            print_findings(fleet, fleet.findings.of_objects, self.color, to_stderr=True)
        else:
            self.say_unread(fleet)

    def say_unread(self, fleet: Fleet) -> None:
        """Without its catalogs a fleet may look as if definitions were missing, and without any file as if all were
        well."""
        unread = [each for each in fleet.reading if each.code in _UNREAD]
        # Catalogs may name one repository many times, at several refs.
        told = Counter((f"{each.severity}: {each.message}", each.hint) for each in unread)
        for (message, hint), sources in told.items():
            self.say(message + (f" ({sources} sources)" if sources > 1 else "") + (f"; {hint}" if hint else ""))

    def say_consents(self, found: Iterable[Finding]) -> None:
        """Whose consent counts must be known in any case (S47)."""
        for each in found:
            if each.code in CONSENT_CODES:
                self.say(f"{each.severity}: {each.message}")

    def refuse(self, fleet: Fleet, errors: Sequence[Diagnostic], hint: str = "") -> None:
        """End the command where there are errors, and say which."""
        if not errors:
            return
        if self.output in ("json", "yaml"):
            self.print_failure(reported(told_once(errors), fleet.input.locator))
        else:
            self.show_errors(fleet, errors, "nothing was decided" + hint)
        raise click.exceptions.Exit(2)

    def refuse_unless_partial(self, fleet: Fleet, errors: Sequence[Diagnostic]) -> None:
        """End the command where errors reach its question; with --partial say what is left out, and go on (S64)."""
        if errors and self.partial:
            self.say_left_out(fleet, errors)
        else:
            self.refuse(fleet, errors, _DESPITE)

    def show_errors(self, fleet: Fleet, errors: Sequence[Diagnostic], therefore: str) -> None:
        from fleetform.cli.findings import print_findings

        told = told_once(errors)
        print_findings(fleet, told, self.color, to_stderr=True, every=self.output == "wide")
        click.echo(f"{count(len(told), 'error')}; {therefore}", err=True)

    def show_left_out(self, fleet: Fleet, errors: Sequence[Diagnostic], therefore: str) -> None:
        """Why a part of an answer is missing."""
        if errors and self.output not in ("json", "yaml"):
            self.show_errors(fleet, errors, therefore + _DESPITE)

    def say_left_out(self, fleet: Fleet, errors: Sequence[Diagnostic]) -> None:
        """What a partial answer leaves out, a line each; said even if all else is to be quiet."""
        told = told_once(errors)
        click.echo(f"partial answer, without what is broken ({count(len(told), 'error')}):", err=True)
        for each in reported(told[:_SHOWN], fleet.input.locator):
            click.echo(f"  {place_text(each.place)}: {each.message}", err=True)
        if len(told) > _SHOWN:
            click.echo(f"  and {len(told) - _SHOWN:,} more: `fleetform validate` shows them", err=True)

    def read(self, sources: Sequence[str] = (), known: KnownState | None = None) -> Fleet:
        """The fleet as it is, errors and all; nothing is decided yet."""
        names = list(sources or self.filename or (".",))
        doing = "reading" if self.fetching == "none" else "fetching catalogs and reading"
        with progress(doing, "files", self.quiet) as said:
            return open_fleet(
                names,
                self.organization,
                self.at,
                self.state,
                self.strict,
                self.fetching,
                self.catalogs,
                self.plugin_dir,
                self.confined,
                self.parses,
                said.report,
                known,
            )

    def decided(
        self, sources: Sequence[str] = (), before: Fleet | None = None, known: KnownState | None = None
    ) -> Fleet:
        """The fleet as it is, with its plugins decided."""
        fleet = self.read(sources, known)
        if before is not None:
            fleet = beside(fleet, before)
        with progress(f"deciding {len(fleet.snapshot.clusters):,} clusters", quiet=self.quiet):
            assert fleet.decisions is not None
        return fleet

    def renderers(self) -> Renders:
        """What renders and transforms."""
        return open_renderers(self.fetching == "all", self.plugin_dir, Boundary.of_command(self.confined))

    def scope(self, fleet: Fleet, owner: str | None = None) -> Scope:
        """What the flags are about; owner is the preset or plugin that is asked about, if there is one."""
        return scope_of(fleet, self.organization, self.everywhere, self.cluster, self.selector, owner)

    def only(self, *outputs: str) -> str:
        """The output format, for a question that has fewer of them than its verb."""
        if self.output not in outputs:
            raise click.UsageError(f"-o {self.output} is not available here; there are {', '.join(outputs)}.")
        return self.output

    @property
    def width(self) -> int | None:
        """How wide tables may be; None: as they need. Who asks for all of it gets it, wider than a terminal or not."""
        return None if self.output == "wide" else width_of(sys.stdout)

    def print_data(self, answer: AnswerRecord) -> None:
        """An answer as one JSON or YAML document."""
        if self.output == "json":
            print_json(answer)
        else:
            from fleetform.syntax.yaml_out import write_yaml

            click.echo(write_yaml(msgspec.to_builtins(answer)), nl=False)

    def print_failure(self, diagnostics: list[Finding]) -> None:
        """No answer, as the one document that every answer is."""
        kind = _ANSWERS.get(click.get_current_context().info_name or "", "Failure")
        self.print_data(Failure(kind=kind, diagnostics=diagnostics))

    def control_plane(self) -> ControlPlane:
        """The server that --server names."""
        assert self.server is not None
        return open_control_plane(self.server)

    def parameters(self) -> dict[str, str | int | None]:
        """Which part of the fleet a server is asked about."""
        organization = None if self.everywhere else self.organization
        return {"organization": organization, "cluster": self.cluster, "selector": self.selector_text}

    def again(self) -> str:
        """The flags that a next command needs to speak of the same fleet."""
        if self.server is not None:
            return f" --server {self.server}" + (f" -n {self.organization}" if self.organization else "")
        files = "".join(f" -f {each}" for each in self.filename)
        more = (("-n", self.organization), ("--at", self.at), ("--state", self.state))
        files += " --partial" if self.partial else ""
        return files + "".join(f" {flag} {value}" for flag, value in more if value)

    def say(self, text: str) -> None:
        """Prose, on stderr, unless it is to be quiet."""
        if not self.quiet:
            click.echo(text, err=True)


def shared_flags(*outputs: str, refused: Collection[str] = ()) -> Callable[[Callable[..., Any]], Any]:
    """Give a verb the shared flags, with the formats that it has, and its function the Flags as its first argument.

    refused are those that the verb takes only to say why they count for nothing there: help does not offer them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        decorated: Any = _with_flags(function)
        for option in reversed((*_ABOUT, _output_option(outputs), *_HOW)):
            decorated = option(decorated)
        for each in decorated.__click_params__:
            each.hidden |= each.name in refused
        return decorated

    return decorate


def _output_option(outputs: Sequence[str]) -> Callable[[Any], Any]:
    # A verb that prints in one way accepts its name, as all do, and offers no choice.
    one = len(outputs) == 1
    kind = click.Choice(outputs)
    return click.option("-o", "--output", type=kind, default=outputs[0], show_default=True, hidden=one, help=_FORMAT)


def _with_flags(function: Callable[..., Any]) -> Any:
    def wrapper(**given: Any) -> Any:
        flags = Flags(
            filename=given.pop("filename"),
            # A server is asked about all organizations unless one is named.
            everywhere=given.pop("everywhere") or (given["server"] is not None and given["organization"] is None),
            organization=given.pop("organization"),
            selector=parse_selector(given["selector"]),
            selector_text=given.pop("selector"),
            cluster=given.pop("cluster"),
            output=given.pop("output"),
            at=given.pop("at"),
            state=given.pop("state"),
            strict=given.pop("strict"),
            fetching="all" if given.pop("fetch") else "none",
            quiet=given.pop("quiet"),
            verbose=given.pop("verbose"),
            color=not given.pop("no_color") and wants_color(sys.stdout),
            plugin_dir=given.pop("plugin_dir"),
            as_user=given.pop("as_user"),
            server=given.pop("server"),
            confined=given.pop("confined"),
            partial=given.pop("partial"),
            parses=open_parses(kept=not given.pop("no_cache")),
        )
        _check_confined(flags)
        if flags.server is not None:
            _check_server(flags)
        try:
            return function(flags, **given)
        except NoAnswerError as error:
            if flags.output in ("json", "yaml"):
                choices = ": " + ", ".join(error.choices) if isinstance(error, AmbiguousError) else ""
                code, message = error.code, error.message + choices
                flags.print_failure([Finding(code=code, severity="error", message=message, hint=error.hint)])
            raise

    return update_wrapper(wrapper, function)


def _check_server(flags: Flags) -> None:
    """What a server cannot be asked."""
    verb = click.get_current_context().info_name
    if verb in ("diff", "operator"):
        # Other sides of a diff are files, an operator has neither: they say themselves what they cannot do.
        return
    if verb not in _SERVED:
        raise click.UsageError(f"{verb} works on files: drop --server, and name them with -f.")
    beside = {"-f": flags.filename, "--state": flags.state, "--partial": flags.partial}
    beside |= {"--as": flags.as_user is not None and verb not in _REQUESTS}
    beside |= {"--strict": flags.strict, "--fetch": flags.fetching != "none", "--confined": flags.confined}
    beside |= {"--at": flags.at is not None and verb != "history"}
    if wrong := [flag for flag, given in beside.items() if given]:
        raise click.UsageError(f"A server has files, a state and a clock of its own: drop {' and '.join(wrong)}.")


def _check_confined(flags: Flags) -> None:
    if not flags.confined:
        return
    if flags.fetching != "none":
        raise click.UsageError(
            "--confined fetches nothing: drop --fetch, and fetch where only your own people can write."
        )
    if flags.plugin_dir is not None and in_repository(flags.plugin_dir):
        raise click.UsageError(
            f"--confined runs no programs of the repository, and {flags.plugin_dir} is in it: name another folder."
        )


def _selector(_: click.Context, __: click.Parameter, text: str) -> str:
    try:
        parse_selector(text)
    except SelectorError as error:
        raise click.BadParameter(error.message) from error
    return text


def _time(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """A time as it is written; one before now (-1h) is worked out here, once for all that is asked."""
    if text is None:
        return None
    try:
        if text.startswith("-"):
            return time_text(datetime.now(UTC).replace(microsecond=0) - parse_duration(text[1:]))
        parse_time(text)
    except (ValueError, OverflowError) as error:
        message = "write a time such as 2026-12-31 or 2026-12-31T22:00:00Z, or -1h for an hour ago"
        raise click.BadParameter(message) from error
    return text


_WHERE = "Where to read: a file, a folder, a git revision, or - for stdin; repeatable. Default: the current folder."
_FORMAT = "The format."
_ABOUT = (
    click.option("-f", "--filename", multiple=True, metavar="PATH|git:REF[:DIR]|-", help=_WHERE),
    click.option(
        "-n",
        "--organization",
        metavar="ORG",
        shell_complete=complete_organizations,
        help="The organization (namespace) to look at.",
    ),
    click.option("-A", "--all-organizations", "everywhere", is_flag=True, help="Look at all organizations."),
    click.option(
        "-l", "--selector", metavar="LABELS", default="", callback=_selector, help="Only clusters with these labels."
    ),
    click.option("-c", "--cluster", metavar="NAME", shell_complete=complete_clusters, help="Only this cluster."),
)
_HOW = (
    click.option(
        "--at", metavar="TIME", callback=_time, help="Answer as of this time instead of now; -1h: an hour ago."
    ),
    click.option(
        "--state", metavar="FILE|sqlite:PATH", help="What runs where: a state export, or a control plane's database."
    ),
    click.option("--fetch", is_flag=True, help="Read catalogs and charts from where they are, not from the cache."),
    click.option("-p", "--plugin-dir", metavar="DIR", help="Where transform plugins are; nothing outside it runs."),
    click.option("--no-cache", is_flag=True, help="Parse every file, also those that did not change."),
    click.option(
        "--confined",
        is_flag=True,
        help="Read nothing outside of the repository, and fetch nothing: for untrusted pull requests.",
    ),
    click.option("--server", metavar="URL", help="Ask a control plane that runs, instead of reading files."),
    click.option("--as", "as_user", metavar="USER", hidden=True, help="Act as this user."),
    click.option("--strict", is_flag=True, help="Warnings are errors."),
    click.option("--partial", is_flag=True, help="Answer despite broken objects, and say what is left out."),
    click.option("-q", "--quiet", is_flag=True, help="No prose on stderr."),
    click.option("-v", "--verbose", is_flag=True, help="Show warnings and notes, too."),
    click.option("--no-color", is_flag=True, help="No colours, even on a terminal."),
)
