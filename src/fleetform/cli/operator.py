"""fleetform operator"""

from __future__ import annotations

import os
import signal
import ssl
from contextlib import ExitStack
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from fleetform.cli.options import Flags, shared_flags
from fleetform.cli.serve_arguments import address_of
from fleetform.cli.serve_log import ServeLog
from fleetform.outside.errors import OutsideError
from fleetform.outside.files import read_file, reason
from fleetform.outside.log import Log
from fleetform.outside.promptness import answer_promptly
from fleetform.ports.store import StoreError
from fleetform.syntax.times import parse_duration

if TYPE_CHECKING:
    from fleetform.outside.kubernetes.access import Access
    from fleetform.outside.listening import Listening
    from fleetform.wiring.operator import Operator

_OWN_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
_LONGEST_FILE = 4 * 1024 * 1024

# Shared flags that count for nothing here.
_REFUSED = (
    *("filename", "organization", "everywhere", "cluster", "selector", "at", "state", "server", "as_user"),
    *("strict", "partial", "confined", "fetch"),
)


@click.command(
    epilog="""\b
Examples:
  fleetform operator                                       in a pod, as its service account
  fleetform operator --kubeconfig hub.yaml --namespace fleetform-system
  fleetform operator --shards 3                            in each of several replicas
"""
)
@click.option("--kubeconfig", metavar="FILE", help="Of the management cluster; without it, the pod's own account.")
@click.option("--context", metavar="NAME", default="", help="Of the kubeconfig; without it, its current one.")
@click.option("--namespace", metavar="NAME", help="The operator's own, for its leases and its state.")
@click.option(
    "--state-dir", metavar="DIR", default="state", show_default=True, help="This replica's copies of its state."
)
@click.option(
    "--shards", metavar="N", default=1, show_default=True, type=click.IntRange(1, 64), help="Parts that replicas share."
)
@click.option("--interval", default="30s", show_default=True, metavar="TIME", help="Look again so often at least.")
@click.option("--admission", metavar="ADDR", help="Answer an API server's reviews at HOST:PORT, or a PORT.")
@click.option("--admission-url", metavar="URL", help="How API servers reach it, if not by its Service.")
@click.option("--certificates", metavar="DIR", help="With tls.crt and tls.key for it; without, it makes its own.")
@click.option("--admission-client-ca", metavar="FILE", help="Answer only who has a certificate by this CA.")
@click.option(
    "--metrics",
    metavar="ADDR",
    help="Serve metrics, /healthz and /readyz at HOST:PORT; anybody may read them there.",
)
@click.option(
    "--service-accounts-in",
    metavar="NAMESPACE",
    help="Act on clusters as the ServiceAccount there that bears the organization's name.",
)
@click.option("--sources-dir", metavar="DIR", help="The folder whose charts and manifests definitions may name.")
@click.option("--own-greenhouse-status", is_flag=True, help="Write it also where Greenhouse's own controllers did.")
@click.option("--allow-private-endpoints", is_flag=True, help="Notifications may go to addresses of private networks.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How lines are written.",
)
@shared_flags("table", refused=_REFUSED)
def command(flags: Flags, **given: Any) -> int:
    """Run the control plane on Kubernetes: objects of the API server are the fleet, and status is written there.

    Each organization (a namespace) is worked for by one replica at a time; leases say by which. Exit codes: 0 it was
    told to end, 4 the API server cannot be reached or refuses.
    """
    from fleetform.wiring.operator import Operator
    from fleetform.wiring.organizations import OperatorLog, OperatorSettings

    answer_promptly()
    _refuse_what_counts_for_nothing(flags)
    log = ServeLog(flags, Log(given["log_format"]))
    interval = parse_duration(given["interval"])
    if interval is None:
        raise click.UsageError("--interval: write a time such as 30s or 5m.")
    with ExitStack() as ends:
        try:
            access = _access(given)
            if given["admission_client_ca"] is not None:
                _check_ca(given["admission_client_ca"])
            listening = _listening(given["admission"], ends) if given["admission"] is not None else None
            settings = OperatorSettings(
                access,
                given["namespace"] or _own_namespace(),
                given["state_dir"],
                given["shards"],
                interval,
                listening,
                given["admission_url"],
                given["certificates"],
                flags.plugin_dir,
                given["allow_private_endpoints"],
                given["service_accounts_in"],
                given["sources_dir"],
                given["own_greenhouse_status"],
                given["admission_client_ca"],
            )
            told = OperatorLog(
                lambda organization: ServeLog(flags, log.log, organization).told,
                lambda organization, error: _failed(log, organization, error),
                log.cared,
                log.said,
                log.log,
            )
            operator = Operator(settings, told)
            stop = Event()
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, lambda *_: stop.set())
            if given["metrics"] is not None:
                _monitor(operator, given["metrics"], log, ends)
            log.say(f"operator {operator.identity} at {access.server}, namespace {settings.namespace}")
            operator.run(stop)
        except OutsideError as error:
            log.error(error.message, error.hint)
            return 4
        except _TakenError as error:
            log.error(str(error), "choose another port")
            return 4
    return 0


def _refuse_what_counts_for_nothing(flags: Flags) -> None:
    """A flag that is not heeded would be believed: whoever gives -n thinks that it works for one organization alone."""
    others: dict[str, object] = {
        "-f": flags.filename,
        "-n": flags.organization,
        "-c": flags.cluster,
        "-l": flags.selector_text,
    }
    others |= {"--at": flags.at, "--state": flags.state, "--server": flags.server, "--as": flags.as_user}
    others |= {"--strict": flags.strict, "--partial": flags.partial, "--confined": flags.confined}
    others |= {"--fetch": flags.fetching != "none"}
    if named := [flag for flag, is_given in others.items() if is_given]:
        raise click.UsageError(
            f"operator works for every organization, on what the API server holds: drop {' and '.join(named)}."
        )


class _TakenError(Exception):
    """An address that cannot be had."""


def _listening(address: str, ends: ExitStack) -> Listening:
    from fleetform.outside.listening import listen

    address_of("--admission", address, 9443)
    try:
        found = listen(address)
    except OSError as error:
        raise _TakenError(f"cannot listen at {address}: {reason(error)}") from error
    ends.callback(found.socket.close)
    return found


def _check_ca(path: str) -> None:
    """That certificates are in a file: an endpoint that trusts nobody would lock everybody out."""
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=path)
    except OSError as error:
        why = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else reason(error)
        raise OutsideError(f"--admission-client-ca {path}: {why}", "name the certificate of a CA") from error


def _monitor(operator: Operator, address: str, log: ServeLog, ends: ExitStack) -> None:
    """Serves what is asked by Prometheus and by supervisors."""
    from fleetform.loop.metrics import Build
    from fleetform.web.monitoring import serve_monitoring

    checks = {"/healthz": operator.health.alive, "/readyz": operator.health.ready}
    try:
        found = serve_monitoring([Build(), operator.metrics], *address_of("--metrics", address, 9464), checks)
    except OSError as error:
        raise _TakenError(f"cannot serve metrics at {address}: {reason(error)}") from error
    ends.callback(found.end)
    log.say(f"metrics at port {found.port}, for anybody who can reach it")


def _access(given: dict[str, Any]) -> Access:
    from fleetform.outside.kubernetes.access import AccessError, access_from_kubeconfig, access_in_cluster

    if given["kubeconfig"] is None:
        return access_in_cluster()
    try:
        text = read_file(given["kubeconfig"], _LONGEST_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise AccessError(f"{given['kubeconfig']} cannot be read: {reason(error)}", "name a kubeconfig") from error
    return access_from_kubeconfig(text, given["context"])


def _own_namespace() -> str:
    """The pod's; elsewhere the platform's."""
    if os.path.exists(_OWN_NAMESPACE):
        return read_file(_OWN_NAMESPACE, _LONGEST_FILE).decode().strip()
    return "fleetform-system"


def _failed(log: ServeLog, organization: str, error: Exception) -> None:
    if isinstance(error, (StoreError, OutsideError)):
        log.error(f"{organization}: {error.message}", error.hint)
    else:
        log.error(f"{organization}: {type(error).__name__}: {error}", "it begins again; if this stays, it is a bug")
