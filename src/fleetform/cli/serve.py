"""fleetform serve"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fleetform.cli.access_flags import access_flags, access_settings, certificate_of
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.serve_log import ServeLog
from fleetform.outside.files import read_file
from fleetform.outside.log import Format, Log
from fleetform.ports.store import StoreError, UnavailableError
from fleetform.syntax.addresses import shown
from fleetform.syntax.times import parse_duration, parse_time
from fleetform.wiring.access import AccessSettings
from fleetform.wiring.databases import database_path, open_store_reader, sqlite_version
from fleetform.wiring.plane import Plane, open_plane

if TYPE_CHECKING:
    from fleetform.web.metrics import MetricsPort

T = TypeVar("T")
_LONGEST_SECRET = 64 * 1024
# So many seconds --once takes at most to send what people are told; the rest is sent next time.
_SENDING = 30.0


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
@click.option(
    "--metrics", metavar="ADDR", help="Serve metrics for Prometheus at HOST:PORT; anybody may read them there."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How lines are written.",
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
    metrics: str | None,
    log_format: Format,
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
    if metrics is not None and (once or fast_forward is not None):
        raise click.UsageError("--metrics is for a control plane that goes on: drop --once and --fast-forward.")
    access = access_settings(access_given, listen)
    if repository is not None and not (flags.filename and all(each.startswith("git:") for each in flags.filename)):
        raise click.UsageError("--repository needs to know what of it: -f git:main, or -f git:main:DIR.")
    secret = _secret(webhook_secret_file, listen) if webhook_secret_file is not None else None
    database = database_path(flags.state)
    every = _duration("--interval", interval)
    ahead = _duration("--fast-forward", fast_forward) if fast_forward is not None else None
    log = ServeLog(flags, Log(log_format))
    measured = _Measured(flags, database) if metrics is not None else None
    try:
        plane = open_plane(
            list(flags.filename or (".",)),
            database,
            _both(log.told, measured.metrics.told if measured is not None else None),
            _both(log.failed, measured.metrics.failed if measured is not None else None),
            partial(log.unwatched, interval),
            log.cared,
            flags.organization,
            flags.at,
            every,
            output_dir,
            health_dir,
            flags.plugin_dir,
            repository,
            log.said,
            measured.metrics.looked if measured is not None else _nothing,
            allow_private_endpoints,
            trial=ahead is not None,
        )
    except StoreError as error:
        log.failed(error)
        return _exit_code(error)
    try:
        if once or ahead is not None:
            plane.fetch()
        if ahead is not None:
            start = parse_time(flags.at) if flags.at is not None else datetime.now(UTC).replace(microsecond=0)
            plane.turn_clock(start)
            return log.outcome(plane.driver.run_ahead(start + ahead, plane.turn_clock))
        if once:
            plane.control.find_drift(everything=True)
            outcome = log.outcome(plane.driver.run_once())
            plane.drain(_SENDING)
            return outcome
        signal.signal(signal.SIGTERM, lambda *_: plane.driver.stop())
        of = f" of {shown(repository)}" if repository is not None else ""
        state = f"state in {database} (SQLite {sqlite_version()})"
        log.say(f"serving {' '.join(flags.filename) or '.'}{of}, {state}; Ctrl-C ends it")
        with ExitStack() as ends:
            if measured is not None and metrics is not None:
                try:
                    served = measured.serve(metrics)
                except OSError as error:
                    log.error(f"cannot serve metrics at {metrics}: {error.strerror or error}", "choose another port")
                    return 4
                ends.callback(served.end)
                log.say(f"metrics at port {served.port}, for anybody who can reach it")
            ends.callback(plane.attend())
            if listen is not None:
                return _run_with_api(flags, log, plane, database, listen, access, access_given, secret)
            plane.driver.run()
            return 0
    except StoreError as error:
        log.failed(error)
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
    log: ServeLog,
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
        log.error(f"cannot listen at {address}: {error.strerror or error}", "choose another port")
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
        log.error(f"a request failed: {error!r}; this is a bug")

    sources = tuple(flags.filename or (".",))
    served = Served(
        sources, database, flags.organization, flags.at, flags.plugin_dir, access, certificate, secret, log.log
    )
    api = Api(listening, served, plane.control.ask, plane.driver.between_passes, plane.look, failed, ended)
    try:
        log.say(f"answering at {listening.url}: fleetform rollout list --server {listening.url}")
        plane.driver.run()
        if lost:
            log.error(f"{lost[0]}; the control plane ends with it")
        return 4 if lost else 0
    finally:
        api.close()


class _Measured:
    """Metrics of a control plane, and the port that they are served on."""

    def __init__(self, flags: Flags, database: str) -> None:
        # Imported where it is needed: it brings Prometheus' client.
        from fleetform.web.metrics import Metrics

        self.metrics = Metrics(partial(open_store_reader, flags.state), f"{database}-wal", lambda: datetime.now(UTC))

    def serve(self, address: str) -> MetricsPort:
        """OSError if the address cannot be had."""
        from fleetform.web.metrics import serve_metrics
        from fleetform.web.process import parse_address

        try:
            host, port = parse_address(address)
        except ValueError as error:
            raise click.UsageError(f"--metrics: {error}. Write 127.0.0.1:9464 or 9464.") from error
        return serve_metrics(self.metrics, host, port)


def _both(first: Callable[[T], None], second: Callable[[T], None] | None) -> Callable[[T], None]:
    if second is None:
        return first

    def both(told: T) -> None:
        first(told)
        second(told)

    return both


def _nothing() -> None:
    """There is nothing to do."""


def _duration(flag: str, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f"{flag}: {error}. Write 30s, 5m or 14d.") from error


def _exit_code(error: StoreError) -> int:
    return 4 if isinstance(error, UnavailableError) else 2
