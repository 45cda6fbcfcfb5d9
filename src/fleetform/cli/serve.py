"""fleetform serve"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import click

from fleetform.cli.access_flags import access_flags, access_settings, certificate_of
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.text import Painter, count, place_text
from fleetform.loop.accepting import Refusal
from fleetform.loop.caring import Care
from fleetform.loop.control import PassReport
from fleetform.outside.files import read_file
from fleetform.ports.store import Event, StoreError, UnavailableError
from fleetform.syntax.addresses import shown
from fleetform.syntax.times import parse_duration, parse_time
from fleetform.wiring import AccessSettings, Plane, database_path, open_plane, sqlite_version

# Of one kind of event in a pass this many clusters are told by name.
_MOST_NAMED = 5
_LONGEST_SECRET = 64 * 1024
# So many seconds --once takes at most to send what people are told; the rest is sent next time.
_SENDING = 30.0
_COLORS = {"Healthy": "green", "Failed": "red", "RolledBack": "yellow", "RenderFailed": "red", "Drifted": "yellow"}


@click.command(
    epilog="""\b
Examples:
  fleetform serve -f fleet/                           run it; changes in the folder are followed
  fleetform serve -f fleet/ --listen 127.0.0.1:8080   and answer questions over HTTP
  fleetform serve -f fleet/ --once                    everything that is due now, then exit
  fleetform serve -f fleet/ --fast-forward 14d        a trial: two weeks in seconds, into ./out
  fleetform serve -f fleet/ --state sqlite:/var/lib/fleetform/fleet.db
  fleetform serve -f git:main:fleet                   a branch of the repository that this folder is in
  fleetform serve -f git:main --repository https://git.example.com/fleet.git
"""
)
@click.option("--once", is_flag=True, help="Do what is due now, then exit.")
@click.option("--fast-forward", metavar="TIME", help="A trial: jump from due time to due time for so long, then exit.")
@click.option("--interval", default="30s", show_default=True, metavar="TIME", help="Look at the source so often.")
@click.option(
    "--output-dir", default="out", show_default=True, metavar="DIR", help="Where what names no delivery goes."
)
@click.option(
    "--listen", metavar="ADDR", help="Answer questions and take requests at HOST:PORT, or a PORT of this machine."
)
@access_flags
@click.option("--repository", metavar="URL", help="The repository that -f git:REF is of; a copy is kept and fetched.")
@click.option(
    "--webhook-secret-file", metavar="FILE", help="Take webhooks of a git server that has this file's secret."
)
@click.option("--allow-private-endpoints", is_flag=True, help="Notifications may go to addresses of private networks.")
@click.option("--health-dir", metavar="DIR", help="The folder of health commands that clusters may name.")
@shared_flags("table")
def command(
    flags: Flags,
    once: bool,
    fast_forward: str | None,
    interval: str,
    output_dir: str,
    listen: str | None,
    repository: str | None,
    webhook_secret_file: str | None,
    allow_private_endpoints: bool,
    health_dir: str | None,
    **access_given: Any,
) -> int:
    """Run the control plane: decide, roll out in stages, deliver, observe.

    The folder or the branch is read again when it changes. What was accepted, admitted and observed is kept in a
    database, so that it can be stopped at any moment. Exit codes with --once: 0 done, 2 the files are invalid and
    nothing changed, 4 another process holds the database.
    """
    if listen is not None and (once or fast_forward is not None):
        raise click.UsageError("--listen is for a control plane that goes on: drop --once and --fast-forward.")
    access = access_settings(access_given, listen)
    if repository is not None and not (flags.filename and all(each.startswith("git:") for each in flags.filename)):
        raise click.UsageError("--repository needs to know what of it: -f git:main, or -f git:main:DIR.")
    secret = _secret(webhook_secret_file, listen) if webhook_secret_file is not None else None
    database = database_path(flags.state)
    every = _duration("--interval", interval)
    ahead = _duration("--fast-forward", fast_forward) if fast_forward is not None else None
    teller = _Teller(flags)
    try:
        plane = open_plane(
            list(flags.filename or (".",)),
            database,
            teller.told,
            teller.failed,
            partial(teller.unwatched, interval),
            teller.cared,
            flags.organization,
            flags.at,
            every,
            output_dir,
            health_dir,
            flags.plugin_dir,
            repository,
            teller.said,
            allow_private_endpoints,
            trial=ahead is not None,
        )
    except StoreError as error:
        teller.failed(error)
        return _exit_code(error)
    try:
        if once or ahead is not None:
            plane.fetch()
        if ahead is not None:
            start = parse_time(flags.at) if flags.at is not None else datetime.now(UTC).replace(microsecond=0)
            plane.turn_clock(start)
            return teller.outcome(plane.driver.run_ahead(start + ahead, plane.turn_clock))
        if once:
            plane.control.find_drift(everything=True)
            outcome = teller.outcome(plane.driver.run_once())
            plane.drain(_SENDING)
            return outcome
        signal.signal(signal.SIGTERM, lambda *_: plane.driver.stop())
        of = f" of {shown(repository)}" if repository is not None else ""
        state = f"state in {database} (SQLite {sqlite_version()})"
        flags.say(f"serving {' '.join(flags.filename) or '.'}{of}, {state}; Ctrl-C ends it")
        leave = plane.attend()
        try:
            if listen is not None:
                return _run_with_api(flags, plane, database, listen, access, access_given, secret)
            plane.driver.run()
            return 0
        finally:
            leave()
    except StoreError as error:
        teller.failed(error)
        return _exit_code(error)
    finally:
        plane.close()


def _secret(file: str, listen: str | None) -> str:
    if listen is None:
        raise click.UsageError("--webhook-secret-file goes with --listen.")
    try:
        found = read_file(file, _LONGEST_SECRET).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--webhook-secret-file: {file} cannot be read: {error}") from error
    if not found:
        raise click.UsageError(f"--webhook-secret-file: {file} is empty.")
    return found


def _run_with_api(
    flags: Flags,
    plane: Plane,
    database: str,
    address: str,
    access: AccessSettings,
    given: Mapping[str, Any],
    secret: str | None,
) -> int:
    """Runs the loop with the API beside it; 4 if the API ends by itself."""
    # Imported where it is needed: most control planes of a trial have no API.
    from fleetform.web.process import Api, Served, listen

    certificate = certificate_of(given)
    try:
        listening = listen(address, secure=certificate is not None)
    except ValueError as error:
        raise click.UsageError(f"--listen: {error}. Write 127.0.0.1:8080 or 8080.") from error
    except OSError as error:
        click.echo(f"error: cannot listen at {address}: {error.strerror or error}\n  choose another port", err=True)
        return 4
    if not listening.is_local and certificate is None and not given["behind_proxy"]:
        listening.socket.close()
        raise click.UsageError(
            f"--listen {address}: other machines could read tokens on the way. Give --tls-cert and --tls-key, listen on"
            " 127.0.0.1, or say --behind-proxy if something before it speaks TLS."
        )
    lost: list[str] = []

    def ended() -> None:
        lost.append("the API has ended")
        plane.driver.stop()

    def failed(error: Exception) -> None:
        click.echo(f"error: a request failed: {error!r}; this is a bug", err=True)

    sources = tuple(flags.filename or (".",))
    served = Served(sources, database, flags.organization, flags.at, flags.plugin_dir, access, certificate, secret)
    api = Api(listening, served, plane.control.ask, plane.driver.between_passes, plane.look, failed, ended)
    try:
        flags.say(f"answering at {listening.url}: fleetform rollout list --server {listening.url}")
        plane.driver.run()
        if lost:
            click.echo(f"error: {lost[0]}; the control plane ends with it", err=True)
        return 4 if lost else 0
    finally:
        api.close()


def _duration(flag: str, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f"{flag}: {error}. Write 30s, 5m or 14d.") from error


def _exit_code(error: StoreError) -> int:
    return 4 if isinstance(error, UnavailableError) else 2


class _Teller:
    """Tells what passes did, a line for each kind of thing that happened."""

    def __init__(self, flags: Flags) -> None:
        self._flags, self._paint = flags, Painter(flags.color)
        self._refusal: Refusal | None = None
        self._unavailable: set[str] = set()

    def told(self, report: PassReport) -> None:
        if report.refusal != self._refusal:
            self._refusal = report.refusal
            if report.refusal is not None:
                self._refused(report.at, report.refusal)
        elif report.accepted:
            self._line(report.at, "accepted the files as they are now")
        for line in _lines(report.events):
            self._line(report.at, line, _COLORS.get(line.partition(" ")[0]))
        unavailable = Counter(report.unavailable.values())
        for reason, number in sorted(unavailable.items()):
            if reason not in self._unavailable:
                self._line(report.at, f"cannot render {count(number, 'plugin')} yet: {reason}", "yellow")
        if report.plan is not None:
            self._unavailable = set(unavailable)

    def failed(self, error: StoreError) -> None:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"  {error.hint}", err=True)

    def said(self, line: str) -> None:
        self._line(datetime.now(UTC), line, "yellow")

    def unwatched(self, interval: str, reason: str) -> None:
        self._flags.say(f"no file events ({reason}): changes are seen within {interval}")

    def cared(self, care: Care) -> None:
        if care.differing:
            named = ", ".join("/".join(each) for each in care.differing[:_MOST_NAMED])
            self._line(
                care.at, f"{count(len(care.differing), 'plugin')} decided anew come out otherwise: {named}", "red"
            )
            self._line(care.at, "this is a bug; it goes on with what was decided anew", "red")
        if care.render_changed:
            clusters = ", ".join(each[1] for each in care.render_changed[:_MOST_NAMED])
            number = count(len(care.render_changed), "plugin")
            self._line(care.at, f"{number} would be rendered otherwise now ({clusters}); nothing is changed", "yellow")

    def outcome(self, report: PassReport) -> int:
        if report.refusal is not None and not report.refusal.empty:
            return 2
        if report.next_look is not None:
            self._flags.say(f"next look at {report.next_look:%Y-%m-%d %H:%M:%S} UTC")
        return 0

    def _refused(self, at: datetime, refusal: Refusal) -> None:
        self._line(at, f"{refusal.reason}; the fleet stays as it was", "red" if not refusal.empty else "yellow")
        for finding in refusal.findings[:10]:
            place = f"{place_text(finding.place)}: " if finding.place is not None else ""
            click.echo(f"  {finding.severity}[{finding.code}]: {place}{finding.message}", err=True)
        if len(refusal.findings) > 10:
            click.echo(f"  and {len(refusal.findings) - 10:,} more: `fleetform validate` lists them", err=True)

    def _line(self, at: datetime, text: str, color: str | None = None) -> None:
        if not self._flags.quiet:
            painted = self._paint(text, fg=color) if color is not None else text
            click.echo(f"{at:%a %H:%M:%S}  {painted}", err=True)


def _lines(events: Sequence[Event]) -> list[str]:
    """Events of one pass, those that say the same of several clusters in one line."""
    grouped: dict[tuple[str, str, str, str, str], list[str]] = {}
    for each in events:
        definition = each.plugin.removesuffix(f"-{each.cluster}")
        key = (each.event, definition, each.version or "", each.rollout, each.reason)
        grouped.setdefault(key, []).append(each.cluster)
    lines = []
    for (event, definition, version, rollout, reason), clusters in grouped.items():
        names = ", ".join(clusters[:_MOST_NAMED])
        more = f" and {len(clusters) - _MOST_NAMED:,} more" if len(clusters) > _MOST_NAMED else ""
        why = f"  {', '.join(each for each in (rollout, reason) if each)}" if rollout or reason else ""
        lines.append(f"{event:<10} {definition} {version} on {names}{more}{why}")
    return lines
