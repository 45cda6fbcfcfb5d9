"""Who asks about rollouts, and of what: what all verbs of the group share."""

from __future__ import annotations

import getpass
import grp
import os
from collections.abc import Callable
from datetime import timedelta
from functools import update_wrapper
from typing import Any

import click

from fleetform.app.rollout import Person, Rollouts
from fleetform.cli.options import Flags, shared_flags
from fleetform.syntax.times import parse_duration


def verb(function: Callable[..., Any], refused: tuple[str, ...] = ()) -> Any:
    """A verb about what is stored: without a state there is nothing to ask."""

    def wrapper(flags: Flags, **given: Any) -> Any:
        if flags.state is None and flags.server is None:
            raise click.UsageError("Rollouts are kept in a state: give --state FILE, or --server URL.")
        return function(flags, **given)

    return shared_flags("table", "wide", "json", "yaml", "name", refused=refused)(update_wrapper(wrapper, function))


def verb_about_one(function: Callable[..., Any]) -> Any:
    """A verb about one rollout. A flag that is not heeded would be believed: whoever gives -c thinks that one cluster
    is touched."""

    def wrapper(flags: Flags, **given: Any) -> Any:
        some = {"-c": flags.cluster is not None, "-l": bool(flags.selector_text)}
        if named := [flag for flag, is_given in some.items() if is_given]:
            raise click.UsageError(
                f"A rollout is one on all its clusters: drop {' and '.join(named)}. "
                "`fleetform why CLUSTER` tells of one; `spec.hold` of a Cluster keeps it as it is."
            )
        return function(flags, **given)

    return verb(update_wrapper(wrapper, function), refused=("cluster", "selector"))


def duration(_: click.Context, __: click.Parameter, text: str | None) -> timedelta | None:
    try:
        return parse_duration(text) if text is not None else None
    except ValueError as error:
        raise click.BadParameter("write a duration such as 4h or 1d") from error


def timeout_flag(function: Callable[..., Any]) -> Any:
    option = click.option("--timeout", metavar="TIME", callback=duration, help="Give up after this long: exit 5.")
    return option(function)


def person_of(flags: Flags, reason: str = "", groups: tuple[str, ...] = ()) -> Person:
    """Who asks: the user of this machine, with its groups, unless --as says otherwise."""
    if flags.as_user is not None:
        return Person(flags.as_user, frozenset(groups), reason)
    user = getpass.getuser()
    names = {group.gr_name for group in grp.getgrall() if user in group.gr_mem or group.gr_gid == os.getgid()}
    return Person(user, frozenset(names) | frozenset(groups), reason)


def rollouts_of(flags: Flags, reason: str = "", groups: tuple[str, ...] = ()) -> Rollouts:
    fleet = flags.fleet()
    return Rollouts(fleet, flags.scope(fleet), person_of(flags, reason, groups))
