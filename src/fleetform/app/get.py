"""get: objects with what follows from them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from semver import Version

from fleetform.app.answering.references import reported
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_addons import list_addons
from fleetform.app.listing.list_objects import list_catalogs, list_clusters, list_definitions, listing_of
from fleetform.app.listing.list_overrides import list_overrides
from fleetform.app.listing.list_placements import list_placements
from fleetform.app.listing.list_plugins import list_plugins
from fleetform.app.listing.list_policies import list_policies, list_windows
from fleetform.app.listing.list_presets import list_presets
from fleetform.app.listing.list_revisions import list_revisions
from fleetform.app.listing.list_rollouts import list_rollouts
from fleetform.app.scope import Scope
from fleetform.app.states import ALL_STATES, StateFilter
from fleetform.model.answers.listing import (
    Listed,
    ListedDefinition,
    ListedPlugin,
    ListedRevision,
    Listing,
)
from fleetform.model.kinds import KINDS
from fleetform.model.shape import did_you_mean
from fleetform.syntax.versions import parse_version


def get(
    fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = (), states: StateFilter = ALL_STATES
) -> Listing:
    """The objects of a kind with status, sorted; NotFoundError if a name is not among them. Plugins also by state."""
    items: list[Listed] = sorted(_GETTERS[plural](fleet, scope), key=_order)
    items = [each for each in items if not isinstance(each, ListedPlugin) or states.holds(each.status.state)]
    wanted = list(names)
    if wanted:
        found_names = [item.metadata.name for item in items]
        for name in wanted:
            if name not in found_names:
                hint = did_you_mean(name, found_names, f"see `fleetform get {plural}`")
                raise NotFoundError(f"{name} is not among the {plural} here", hint)
        items = [item for item in items if item.metadata.name in wanted]
    found = [each for each in fleet.findings.of_objects if each.object is None or scope.offers(each.object)]
    return Listing(items=items, diagnostics=reported(found, fleet.input.locator))


def kinds() -> list[str]:
    return sorted(_GETTERS)


def _order(item: Listed) -> tuple[str, str, str, str, tuple[Version, ...]]:
    """By organization, kind, name and cluster; versions of a definition in their own order."""
    name, cluster, version = item.metadata.name, "", None
    if isinstance(item, ListedPlugin):
        cluster = item.spec.cluster_name
    elif isinstance(item, ListedRevision):
        version = item.spec.version
        name = name.removesuffix(f"-{version}")
    elif isinstance(item, ListedDefinition):
        version = item.spec["version"]
        name = name.removesuffix(f"-{version}")
    return item.metadata.namespace, item.kind, name, cluster, (parse_version(version),) if version else ()


_GETTERS: dict[str, Callable[[Fleet, Scope], Iterator[Listed]]] = {
    "catalogs": list_catalogs,
    "addons": list_addons,
    "clusters": list_clusters,
    "definitions": list_definitions,
    "overrides": list_overrides,
    "placements": list_placements,
    "plugins": list_plugins,
    "presets": list_presets,
    "revisions": list_revisions,
    **{
        plural: listing_of(*(kind.name for kind in KINDS.values() if kind.plural == plural))
        for plural in ("organizations",)
    },
    "policies": list_policies,
    "rollouts": list_rollouts,
    "windows": list_windows,
}
