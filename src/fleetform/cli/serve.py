"""fleetform serve"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fleetform.cli.access_flags import access_flags
from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.serve_arguments import REFUSED, Arguments, judged
from fleetform.cli.serve_log import ServeLog
from fleetform.outside.log import Log
from fleetform.ports.store import StoreError, UnavailableError
from fleetform.syntax.addresses import shown
from fleetform.syntax.times import parse_time
from fleetform.wiring.databases import open_store_reader, sqlite_version
from fleetform.wiring.plane import Plane, open_plane

if TYPE_CHECKING:
    from fleetform.outside.listening import Listening

T = TypeVar("T")
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
@click.option(
    "--fast-forward", metavar="TIME", help="A trial run: jump from one due time to the next for this long, then exit."
)
@click.option("--interval", default="30s", show_default=True, metavar="TIME", help="How often to look at the source.")
@click.option(
    "--output-dir", default="out", show_default=True, metavar="DIR", help="Where to deliver what names no delivery."
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
@click.option("--kubeconfig", metavar="FILE", help="The file whose contexts clusters may name (access.context).")
@click.option(
    "--service-accounts-in",
    metavar="NAMESPACE",
    help="Act on clusters as the ServiceAccount there that bears the organization's name.",
)
@click.option("--health-dir", metavar="DIR", help="The folder of health commands that clusters may name.")
@shared_flags("table", refused=REFUSED)
def command(flags: Flags, **given: Any) -> int:
    """Run the control plane: decide, roll out in stages, deliver, observe.

    The folder or the branch is read again when it changes. What was accepted, admitted and observed is kept in a
    database, so that it can be stopped at any moment. Exit codes with --once: 0 done, 2 the files are invalid and
    nothing changed, 4 another process holds the database.
    """
    log = ServeLog(flags, Log(given["log_format"]))
    with ExitStack() as ends:
        try:
            arguments = judged(flags, given, ends)
        except OSError as error:
            log.error(f"cannot listen at {given['listen']}: {error.strerror or error}", "choose another port")
            return 4
        measured = _Measured(flags, arguments.database) if arguments.metrics is not None else None
        if measured is not None and arguments.metrics is not None:
            try:
                port = measured.serve(*arguments.metrics, ends)
            except OSError as error:
                log.error(
                    f"cannot serve metrics at {given['metrics']}: {error.strerror or error}", "choose another port"
                )
                return 4
            log.say(f"metrics at port {port}, for anybody who can reach it")
        try:
            plane = _plane(flags, given, arguments, log, measured)
            ends.callback(plane.close)
            if measured is not None:
                measured.metrics.load = plane.load
            return _run(flags, given, arguments, log, plane, ends)
        except StoreError as error:
            log.failed(error)
            return 4 if isinstance(error, UnavailableError) else 2


def _plane(
    flags: Flags, given: Mapping[str, Any], arguments: Arguments, log: ServeLog, measured: _Measured | None
) -> Plane:
    return open_plane(
        list(flags.filename or (".",)),
        arguments.database,
        _both(log.told, measured.metrics.told if measured is not None else None),
        _both(log.failed, measured.metrics.failed if measured is not None else None),
        partial(log.unwatched, given["interval"]),
        log.cared,
        flags.organization,
        flags.at,
        arguments.interval,
        given["output_dir"],
        given["health_dir"],
        flags.plugin_dir,
        given["repository"],
        log.said,
        measured.metrics.looked if measured is not None else _nothing,
        given["allow_private_endpoints"],
        trial=arguments.ahead is not None,
        kubeconfig=given["kubeconfig"],
        accounts_in=given["service_accounts_in"],
        waits=given["once"] or arguments.ahead is not None,
    )


def _run(
    flags: Flags, given: Mapping[str, Any], arguments: Arguments, log: ServeLog, plane: Plane, ends: ExitStack
) -> int:
    if arguments.ahead is not None:
        plane.fetch()
        start = parse_time(flags.at) if flags.at is not None else datetime.now(UTC).replace(microsecond=0)
        plane.turn_clock(start)
        return log.outcome(plane.driver.run_ahead(start + arguments.ahead, plane.turn_clock))
    if given["once"]:
        plane.fetch()
        plane.driver.find_drift()
        outcome = log.outcome(plane.driver.run_once())
        plane.drain(_SENDING)
        return outcome
    signal.signal(signal.SIGTERM, lambda *_: plane.driver.stop())
    of = f" of {shown(given['repository'])}" if given["repository"] is not None else ""
    state = f"state in {arguments.database} (SQLite {sqlite_version()})"
    log.say(f"serving {' '.join(flags.filename) or '.'}{of}, {state}; Ctrl-C stops it")
    ends.callback(plane.attend())
    if arguments.listening is not None:
        return _run_with_api(flags, log, plane, arguments, arguments.listening)
    plane.driver.run()
    return 0


def _run_with_api(flags: Flags, log: ServeLog, plane: Plane, arguments: Arguments, listening: Listening) -> int:
    """Runs the loop with the API beside it; 4 if the API ends by itself."""
    # Imported where it is needed: most control planes of a trial have no API.
    from fleetform.web.process import Api, Served

    lost: list[str] = []

    def ended() -> None:
        lost.append("the API has ended")
        plane.driver.stop()

    def failed(error: Exception) -> None:
        log.error(f"a request failed: {error!r}; this is a bug")

    served = Served(
        tuple(flags.filename or (".",)),
        arguments.database,
        flags.organization,
        flags.at,
        flags.plugin_dir,
        arguments.access,
        arguments.certificate,
        arguments.webhook_secret,
        log.log,
    )
    control, driver = plane.control, plane.driver
    api = Api(listening, served, control.ask, driver.between_passes, plane.look, control.note_refused, failed, ended)
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
        from fleetform.loop.metrics import Metrics

        self.metrics = Metrics(partial(open_store_reader, flags.state), f"{database}-wal", lambda: datetime.now(UTC))

    def serve(self, host: str, port: int, ends: ExitStack) -> int:
        """The port that it is served at. OSError if the address cannot be had."""
        from fleetform.loop.metrics import Build
        from fleetform.web.monitoring import serve_monitoring

        found = serve_monitoring([Build(), self.metrics], host, port)
        ends.callback(found.end)
        return found.port


def _both(first: Callable[[T], None], second: Callable[[T], None] | None) -> Callable[[T], None]:
    if second is None:
        return first

    def both(told: T) -> None:
        first(told)
        second(told)

    return both


def _nothing() -> None:
    """There is nothing to do."""
