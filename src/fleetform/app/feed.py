"""The feed that update bots read: the versions of every definition that may still be used, newest last."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.app.errors import AmbiguousError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.versions.lifecycle import known_announcement
from fleetform.model.answers.feed import Feed, FeedRelease
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.decisions import Revision
from fleetform.syntax.times import time_text
from fleetform.syntax.versions import parse_version


def feed(fleet: Fleet, scope: Scope) -> dict[str, Feed]:
    """The releases of each definition that an organization is offered, by the definition's name (R2-46)."""
    found: dict[str, Feed] = {}
    for organization, name in _offered(fleet, scope):
        revisions = fleet.decisions.revisions[organization, name]
        rules = fleet.decisions.index.definitions.rules(scope.organization or organization, name)
        usable = [revisions[each] for each in sorted(revisions, key=parse_version) if rules.refuses(each) is None]
        found[name] = Feed(releases=[_release(fleet, each) for each in usable])
    return dict(sorted(found.items()))


def _offered(fleet: Fleet, scope: Scope) -> list[tuple[str, str]]:
    """Definitions in scope; an organization's own hides the platform's of the same name."""
    names = [key for key in fleet.decisions.revisions if scope.organization in (None, key[0])]
    own = {name for _, name in names}
    platform = [key for key in fleet.decisions.revisions if key[0] == PLATFORM_NAMESPACE and key[1] not in own]
    chosen = sorted({*names, *platform})
    for (one, name), (other, again) in zip(
        sorted(chosen, key=_by_name), sorted(chosen, key=_by_name)[1:], strict=False
    ):
        if name == again:
            message = f"{one} and {other} both have a definition {name}, and a feed has one"
            raise AmbiguousError(message, [one, other], "choose an organization with -n")
    return chosen


def _by_name(key: tuple[str, str]) -> tuple[str, str]:
    return key[1], key[0]


def _release(fleet: Fleet, revision: Revision) -> FeedRelease:
    ref, docs = revision.object.ref, revision.object.spec.docs_url
    stamp = fleet.catalog_definitions.published.get((ref, revision.version))
    announced = known_announcement(revision, fleet.snapshot)
    if not stamp and announced is not None:
        stamp = time_text(announced)
    return FeedRelease(
        version=revision.version,
        release_timestamp=stamp or UNSET,
        changelog_url=docs if docs is not None else UNSET,
    )
