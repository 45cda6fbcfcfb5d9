"""What a shell offers to complete: kinds, organizations, clusters, presets and plugins, options.

A completion reads the fleet as the command would, and is silent: what cannot be read offers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

import click

from fleetform.app.fleet import Fleet

Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
_MOST = 500


def _completing(names: Callable[[Fleet, click.Context], Iterable[str]]) -> Completion:
    """A completion of names of the fleet that the flags given so far are about."""

    def complete(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        with suppress(Exception):
            from fleetform.wiring.fleets import open_fleet

            given = context.params
            fleet = open_fleet(list(given.get("filename") or (".",)), given.get("organization"))
            return sorted({each for each in names(fleet, context) if each.startswith(begun)})[:_MOST]
        return []

    return complete


def _organization(context: click.Context) -> str | None:
    return context.params.get("organization")


def _clusters(fleet: Fleet, context: click.Context) -> Iterable[str]:
    wanted = _organization(context)
    return (ref.name for ref in fleet.snapshot.clusters if wanted in (None, ref.organization))


def _owners(fleet: Fleet, context: click.Context) -> Iterable[str]:
    wanted = _organization(context)
    owners = [ref for ref in (*fleet.snapshot.presets, *fleet.snapshot.plugins) if wanted in (None, ref.organization)]
    return (ref.name for ref in owners)


def _options(fleet: Fleet, context: click.Context) -> Iterable[str]:
    """The options of the definition that the preset or plugin named before has."""
    name = context.params.get("name") or ""
    for owner in fleet.index.owners.values():
        if f"{name}-".startswith(f"{owner.object.ref.name}-"):
            for revision in fleet.index.definitions.known(owner).values():
                yield from (option.name for option in revision.options.values())


complete_clusters = _completing(_clusters)
complete_organizations = _completing(lambda fleet, _: fleet.organizations)
complete_owners = _completing(_owners)
complete_options = _completing(_options)


def complete_kinds(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from fleetform.app.get import kinds

    return [each for each in kinds() if each.startswith(begun)]


def complete_names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The names of objects of the kind given before."""
    from fleetform.app.get import find, kinds
    from fleetform.app.scope import scope_of

    def names(fleet: Fleet, context: click.Context) -> Iterable[str]:
        kind = str(context.params.get("kind"))
        plural = next((each for each in kinds() if each in (kind, f"{kind}s", f"{kind[:-1]}ies")), "plugins")
        wanted = _organization(context)
        return find(fleet, scope_of(fleet, wanted, wanted is None), plural).names

    return _completing(names)(context, parameter, begun)
