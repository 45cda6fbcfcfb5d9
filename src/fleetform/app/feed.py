"""The feed that update bots read: the versions of every definition that may still be used, newest last."""

from __future__ import annotations

from typing import Any

from fleetform.app.errors import AmbiguousError
from fleetform.app.fleet import Fleet
from fleetform.app.scope import Scope
from fleetform.engine.versions.lifecycle import known_announcement
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.decisions import Revision
from fleetform.syntax.times import time_text
from fleetform.syntax.versions import parse_version

View = dict[str, Any]


def feed(fleet: Fleet, scope: Scope) -> dict[str, View]:
    """The releases of each definition that an organization is offered, by the definition's name (R2-46)."""
    found: dict[str, View] = {}
    for organization, name in _offered(fleet, scope):
        revisions = fleet.decisions.revisions[organization, name]
        rules = fleet.decisions.index.definitions.rules(scope.organization or organization, name)
        usable = [revisions[each] for each in sorted(revisions, key=parse_version) if rules.refuses(each) is None]
        found[name] = {"releases": [_release(fleet, each) for each in usable]}
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


def _release(fleet: Fleet, revision: Revision) -> View:
    """What is not known is left out: a bot that reads null for a time takes it for one."""
    ref, spec = revision.object.ref, revision.object.spec
    stamp = fleet.brought.published.get((ref, revision.version)) or _announced(fleet, revision)
    view = {"version": revision.version, "releaseTimestamp": stamp, "changelogUrl": spec.docs_url}
    return {key: value for key, value in view.items() if value is not None}


def _announced(fleet: Fleet, revision: Revision) -> str | None:
    announced = known_announcement(revision, fleet.snapshot)
    return time_text(announced) if announced is not None else None
