"""get: objects with what follows from them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import structs
from semver import Version

from fleetform.app.answering.references import reported
from fleetform.app.broken import Broken
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.listing.list_addons import list_addons
from fleetform.app.listing.list_objects import list_catalogs, list_clusters, list_definitions, listing_of
from fleetform.app.listing.list_overrides import list_overrides
from fleetform.app.listing.list_placements import list_placements
from fleetform.app.listing.list_plugins import list_plugins
from fleetform.app.listing.list_presets import list_presets
from fleetform.app.listing.list_revisions import list_revisions
from fleetform.app.scope import Scope
from fleetform.model.answers.listing import (
    Listed,
    ListedAddon,
    ListedDefinition,
    ListedPlugin,
    ListedRevision,
    Listing,
)
from fleetform.model.kinds import KINDS
from fleetform.model.objects import Ref
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.versions import parse_version


def get(fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = ()) -> Listing:
    """The objects of a kind with status, sorted; NotFoundError if a name is not among them."""
    items: list[Listed] = sorted(_GETTERS[plural](fleet, scope), key=_order)
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


def reaching_listing(fleet: Fleet, errors: Iterable[Diagnostic], scope: Scope, plural: str) -> list[Diagnostic]:
    """The errors for which a listing may lack something, or say it wrongly (S64)."""
    broken = Broken(fleet, errors)
    found = broken.of_kinds(scope, [kind.name for kind in KINDS.values() if kind.plural == plural])
    if plural not in _WITHOUT_STATUS:
        found += [each for each in broken.reaching(scope) if each not in found]
    return found


def untouched(fleet: Fleet, errors: Iterable[Diagnostic], listing: Listing) -> Listing:
    """A listing without the rows that errors may concern."""
    broken = Broken(fleet, errors)
    return structs.replace(listing, items=[item for item in listing.items if not _is_touched(item, broken)])


def _is_touched(item: Listed, broken: Broken) -> bool:
    organization, name = item.metadata.namespace, item.metadata.name
    if isinstance(item, ListedPlugin):
        return (organization, item.spec.cluster_name, name) in broken.touched_plugins
    if isinstance(item, ListedAddon):
        return any((ref.kind, ref.name) == ("Cluster", organization) for ref in broken.touched)
    kind = item.kind
    if isinstance(item, (ListedRevision, ListedDefinition)):
        version = item.spec.version if isinstance(item, ListedRevision) else item.spec["version"]
        kind, name = "PluginDefinition", name.removesuffix(f"-{version}")
    return Ref(kind, organization, name) in broken.touched


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


_WITHOUT_STATUS = ("organizations", "policies", "rollouts", "windows")
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
        for plural in _WITHOUT_STATUS
    },
}
