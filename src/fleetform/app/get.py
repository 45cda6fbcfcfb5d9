"""get: objects with what follows from them, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from semver import Version

from fleetform.app.answering.references import reported
from fleetform.app.broken import Broken
from fleetform.app.errors import NotFoundError
from fleetform.app.fleet import Fleet
from fleetform.app.listing.found import Found
from fleetform.app.listing.list_addons import list_addons
from fleetform.app.listing.list_objects import list_catalogs, list_clusters, list_definitions, listing_of
from fleetform.app.listing.list_overrides import list_overrides
from fleetform.app.listing.list_placements import list_placements
from fleetform.app.listing.list_plugins import find_plugins
from fleetform.app.listing.list_policies import list_policies, list_windows
from fleetform.app.listing.list_presets import list_presets
from fleetform.app.listing.list_revisions import list_revisions
from fleetform.app.listing.list_rollouts import list_rollouts
from fleetform.app.scope import Scope
from fleetform.app.states import ALL_STATES, StateFilter
from fleetform.model.answers.findings import Finding
from fleetform.model.answers.listed import Listed
from fleetform.model.answers.listed_objects import ListedDefinition, ListedRevision
from fleetform.model.answers.listed_plugins import ListedAddon
from fleetform.model.answers.listing import Listing
from fleetform.model.kinds import KINDS
from fleetform.model.objects import Ref
from fleetform.model.results.decisions import PluginDecision
from fleetform.model.results.diagnostics import Diagnostic
from fleetform.model.shape import did_you_mean
from fleetform.syntax.versions import VersionError, parse_version


def get(
    fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = (), states: StateFilter = ALL_STATES
) -> Listing:
    """The objects of a kind with status, sorted; NotFoundError if a name is not among them. Plugins also by state."""
    return Listing(items=list(find(fleet, scope, plural, names, states).whole()), diagnostics=findings(fleet, scope))


def find(
    fleet: Fleet, scope: Scope, plural: str, names: Iterable[str] = (), states: StateFilter = ALL_STATES
) -> Found[Any]:
    """What get answers, each object made when it is asked for."""
    if plural == "plugins":
        found: Found[Any] = find_plugins(fleet, scope, states)
    else:
        found = _FINDERS[plural](fleet, scope)
    wanted = list(names)
    if not wanted:
        return found
    known = found.names
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known, f"see `fleetform get {plural}`")
            raise NotFoundError(f"{name} is not among the {plural} here", hint)
    return found.named(wanted)


def findings(fleet: Fleet, scope: Scope) -> list[Finding]:
    """What is wrong with the objects of a scope."""
    found = [each for each in fleet.findings.of_objects if scope.concerns(each.object)]
    return reported(found, fleet.input.locator)


def reaching_listing(fleet: Fleet, errors: Iterable[Diagnostic], scope: Scope, plural: str) -> list[Diagnostic]:
    """The errors for which a listing may lack something, or say it wrongly (S64)."""
    broken = Broken(fleet, errors)
    found = broken.of_kinds(scope, [kind.name for kind in KINDS.values() if kind.plural == plural])
    if plural not in _ABOUT_NO_PLUGINS:
        found += [each for each in broken.reaching(scope) if each not in found]
    return found


def untouched(fleet: Fleet, errors: Iterable[Diagnostic], found: Found[Any]) -> Found[Any]:
    """What was found, without that which errors may concern."""
    broken = Broken(fleet, errors)
    return found.keeping(lambda each: not _is_touched(each, broken))


def _is_touched(each: Listed | PluginDecision, broken: Broken) -> bool:
    if isinstance(each, PluginDecision):
        return bool(broken.touching(each))
    organization, kind, name = each.metadata.namespace, each.kind, each.metadata.name
    if isinstance(each, ListedAddon):
        return any((ref.kind, ref.name) == ("Cluster", organization) for ref in broken.touched)
    if isinstance(each, (ListedRevision, ListedDefinition)):
        version = each.spec.version if isinstance(each, ListedRevision) else each.spec["version"]
        kind, name = "PluginDefinition", name.removesuffix(f"-{version}")
    return Ref(kind, organization, name) in broken.touched


def kinds() -> list[str]:
    return sorted(_FINDERS)


def _find_all(list_: Callable[[Fleet, Scope], Iterator[Listed]], fleet: Fleet, scope: Scope) -> Found[Listed]:
    """Objects of a kind of which there are few: their answers are made at once."""
    return Found(sorted(list_(fleet, scope), key=_order), _name, _itself, _itself)


def _name(item: Listed) -> str:
    return item.metadata.name


def _itself(item: Listed) -> Listed:
    return item


def _order(item: Listed) -> tuple[str, str, str, str, tuple[Version, ...]]:
    """By organization, kind and name; versions of a definition in their own order, behind those that are none."""
    name, version = item.metadata.name, None
    if isinstance(item, ListedRevision):
        version = item.spec.version
        name = name.removesuffix(f"-{version}")
    elif isinstance(item, ListedDefinition):
        version = item.spec["version"]
        name = name.removesuffix(f"-{version}")
    try:
        versions = (parse_version(version),) if version else ()
    except VersionError:
        return item.metadata.namespace, item.kind, name, version or "", ()
    return item.metadata.namespace, item.kind, name, "", versions


_WITHOUT_STATUS = ("organizations",)
# What is said of these follows from themselves and from clusters.
_ABOUT_NO_PLUGINS = (*_WITHOUT_STATUS, "policies", "windows")
_FINDERS: dict[str, Callable[[Fleet, Scope], Found[Any]]] = {
    "plugins": find_plugins,
    "catalogs": partial(_find_all, list_catalogs),
    "addons": partial(_find_all, list_addons),
    "clusters": partial(_find_all, list_clusters),
    "definitions": partial(_find_all, list_definitions),
    "overrides": partial(_find_all, list_overrides),
    "placements": partial(_find_all, list_placements),
    "presets": partial(_find_all, list_presets),
    "revisions": partial(_find_all, list_revisions),
    **{
        plural: partial(_find_all, listing_of(*(kind.name for kind in KINDS.values() if kind.plural == plural)))
        for plural in _WITHOUT_STATUS
    },
    "policies": partial(_find_all, list_policies),
    "rollouts": partial(_find_all, list_rollouts),
    "windows": partial(_find_all, list_windows),
}
