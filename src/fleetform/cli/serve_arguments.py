"""The arguments of `serve`, judged before anything is made or changed: what is wrong with one is a usage error."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fleetform.cli.access_flags import access_settings, certificate_of
from fleetform.cli.options import Flags
from fleetform.outside.files import read_file, reason
from fleetform.syntax.times import parse_duration
from fleetform.wiring.access import AccessSettings
from fleetform.wiring.databases import database_path

if TYPE_CHECKING:
    from fleetform.outside.certificates import Certificate
    from fleetform.outside.listening import Listening

_LONGEST_SECRET = 64 * 1024
_SHORTEST_INTERVAL = timedelta(seconds=1)


class Arguments(NamedTuple):
    """What `serve` was told, as it can be used. ahead is how long a trial goes; metrics is a host and a port."""

    database: str
    interval: timedelta
    ahead: timedelta | None
    access: AccessSettings
    certificate: Certificate | None
    webhook_secret: str | None
    listening: Listening | None
    metrics: tuple[str, int] | None


# Shared flags that count for nothing here.
REFUSED = ("cluster", "selector", "strict", "partial", "confined", "fetch", "as_user", "server")


def judged(flags: Flags, given: Mapping[str, Any], ends: ExitStack) -> Arguments:
    """The arguments, if all of them can be used; else a usage error. OSError if the address to listen at is taken.

    That address is held from here on, until ends does: one that is taken is found before there is a database.
    """
    _refuse_what_counts_for_nothing(flags, given)
    database = database_path(flags.state)
    interval = _duration("--interval", given["interval"])
    if interval < _SHORTEST_INTERVAL:
        raise click.UsageError("--interval: the source is looked at once in a second at most. Write 1s or more.")
    ahead = _duration("--fast-forward", given["fast_forward"]) if given["fast_forward"] is not None else None
    access = access_settings(given, given["listen"])
    _check_folders(flags, given, database)
    secret = given["webhook_secret_file"]
    return Arguments(
        database,
        interval,
        ahead,
        access,
        certificate := certificate_of(given),
        _secret(secret) if secret is not None else None,
        metrics=address_of("--metrics", given["metrics"], 9464) if given["metrics"] is not None else None,
        listening=_take(given["listen"], certificate, given["behind_proxy"], ends)
        if given["listen"] is not None
        else None,
    )


def _refuse_what_counts_for_nothing(flags: Flags, given: Mapping[str, Any]) -> None:
    """A flag that is not heeded would be believed: whoever gives -c thinks that one cluster is touched."""
    some = {"-c": flags.cluster is not None, "-l": bool(flags.selector_text)}
    if named := [flag for flag, is_given in some.items() if is_given]:
        raise click.UsageError(f"serve runs the whole fleet: drop {' and '.join(named)}; `render` shows a part of it.")
    others = {"--strict": flags.strict, "--partial": flags.partial, "--confined": flags.confined}
    others |= {"--fetch": flags.fetching != "none", "--as": flags.as_user is not None}
    if named := [flag for flag, is_given in others.items() if is_given]:
        raise click.UsageError(f"serve does not know {' and '.join(named)}: drop it.")
    if given["once"] and given["fast_forward"] is not None:
        raise click.UsageError("--once and --fast-forward are two things: give one.")
    ends = given["once"] or given["fast_forward"] is not None
    for flag in ("listen", "metrics"):
        if given[flag] is not None and ends:
            raise click.UsageError(f"--{flag} is for a control plane that goes on: drop --once and --fast-forward.")
    of_listen = ("tls_cert", "tls_key", "behind_proxy", "webhook_secret_file")
    if given["listen"] is None and (named := [_flag(each) for each in of_listen if given[each]]):
        raise click.UsageError(f"{' and '.join(named)} {'goes' if len(named) == 1 else 'go'} with --listen.")
    git = bool(flags.filename) and all(each.startswith("git:") for each in flags.filename)
    if given["repository"] is not None and not git:
        raise click.UsageError("--repository needs to know what of it: -f git:main, or -f git:main:DIR.")


def _check_folders(flags: Flags, given: Mapping[str, Any], database: str) -> None:
    for flag, folder in (("--health-dir", given["health_dir"]), ("--plugin-dir", flags.plugin_dir)):
        if folder is not None and not os.path.isdir(folder):
            raise click.UsageError(f"{flag}: there is no folder {folder}.")
    output = given["output_dir"]
    if os.path.exists(output) and not os.path.isdir(output):
        raise click.UsageError(f"--output-dir: {output} is no folder.")
    if os.path.exists(database):
        # It has a fleet to go on with, and says what is wrong with the source while it does.
        return
    for source in flags.filename or (".",):
        if not source.startswith("git:") and not os.path.exists(source):
            raise click.UsageError(f"-f: there is no {source}. Name a file, a folder, or git:REF.")


def _take(address: str, certificate: Certificate | None, behind_proxy: bool, ends: ExitStack) -> Listening:
    # Imported where it is needed: most control planes of a trial have no API.
    from fleetform.outside.listening import listen

    try:
        found = listen(address, secure=certificate is not None)
    except ValueError as error:
        raise click.UsageError(f"--listen: {error}. Write 127.0.0.1:8080 or 8080.") from error
    ends.callback(found.socket.close)
    if not found.is_local and certificate is None and not behind_proxy:
        raise click.UsageError(
            f"--listen {address}: other machines could read tokens on the way. Give --tls-cert and --tls-key, listen on"
            " 127.0.0.1, or say --behind-proxy if something before it speaks TLS."
        )
    return found


def address_of(flag: str, text: str, port: int) -> tuple[str, int]:
    """A host and a port that a flag names; port is an example for the message."""
    from fleetform.outside.listening import parse_address

    try:
        return parse_address(text)
    except ValueError as error:
        raise click.UsageError(f"{flag}: {error}. Write 127.0.0.1:{port} or {port}.") from error


def _secret(file: str) -> str:
    try:
        found = read_file(file, _LONGEST_SECRET).decode().strip()
    except OSError as error:
        raise click.UsageError(f"--webhook-secret-file: {file} cannot be read: {reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--webhook-secret-file: {file} cannot be read: it is no text.") from error
    if not found:
        raise click.UsageError(f"--webhook-secret-file: {file} is empty.")
    return found


def _duration(flag: str, text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.UsageError(f"{flag}: {error}. Write 30s, 5m or 14d.") from error


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
