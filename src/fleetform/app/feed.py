"""The feed that update bots read: the versions of every definition that may still be used, newest last."""

from __future__ import annotations

from msgspec import UNSET

from fleetform.app.errors import AmbiguousError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.versions.lifecycle import known_announcement
from fleetform.model.answers.feed import Feed, FeedRelease
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.syntax.times import time_text
from fleetform.syntax.versions import parse_version


def feed(fleet: Fleet, scope: Scope) -> dict[str, Feed]:
    """The releases of each definition that an organization is offered, by the definition's name (R2-46)."""
    names = [key for key in fleet.decisions.revisions if scope.organization in (None, key[0])]
    own = {name for _, name in names}
    # An organization's own definition hides the platform's of the same name.
    platform = [key for key in fleet.decisions.revisions if key[0] == PLATFORM_NAMESPACE and key[1] not in own]
    homes: dict[str, str] = {}
    for organization, name in sorted({*names, *platform}, key=lambda key: (key[1], key[0])):
        other = homes.setdefault(name, organization)
        if other != organization:
            message = f"{other} and {organization} both have a definition {name}, and a feed has one"
            raise AmbiguousError(message, [other, organization], "choose an organization with -n")
    found: dict[str, Feed] = {}
    for name, organization in homes.items():
        revisions = fleet.decisions.revisions[organization, name]
        rules = fleet.decisions.index.definitions.rules(scope.organization or organization, name)
        releases = []
        for version in (each for each in sorted(revisions, key=parse_version) if rules.refuses(each) is None):
            revision = revisions[version]
            announced, docs = known_announcement(revision, fleet.snapshot), revision.object.spec.docs_url
            stamp = fleet.catalog_definitions.published.get((revision.object.ref, version))
            if not stamp and announced is not None:
                stamp = time_text(announced)
            changelog = docs if docs is not None else UNSET
            releases.append(FeedRelease(version=version, release_timestamp=stamp or UNSET, changelog_url=changelog))
        found[name] = Feed(releases=releases)
    return found
