"""Version: which revision a plugin wants. For now an exact pin, or the newest stable one of those in the input."""

from __future__ import annotations

from collections.abc import Mapping

from fleetform.engine.versions import VersionError, newest_stable, parse_version
from fleetform.model.kinds import PLATFORM_NAMESPACE
from fleetform.model.results.decisions import Gate, Revision

Revisions = Mapping[tuple[str, str], Mapping[str, Revision]]


def offered(revisions: Revisions, organization: str, definition: str) -> Mapping[str, Revision]:
    """A definition's revisions by version: an organization's own definition hides the platform's (R2-4)."""
    return revisions.get((organization, definition)) or revisions.get((PLATFORM_NAMESPACE, definition)) or {}


def choose(offers: Mapping[str, Revision], definition: str, wanted: str | None) -> Revision | Gate:
    """The revision, or the gate that says why there is none (S23: a pin that nothing satisfies never falls back)."""
    if not offers:
        return Gate(
            "version", f"there is no definition {definition}", f"add PluginDefinition {definition}, or fix the name"
        )
    if wanted is None:
        newest = newest_stable(offers)
        if newest is None:
            return Gate(
                "version",
                f"{definition} has no stable version, only {_listed(offers)}",
                "pin one of them by its exact version",
            )
        return offers[newest]
    try:
        found = offers.get(str(parse_version(wanted)))
    except VersionError:
        return Gate(
            "version",
            f"{wanted!r} is not an exact version of {definition}; ranges are not supported yet",
            f"pin one of {_listed(offers)}, or leave the version out for the newest",
        )
    if found is None:
        return Gate("version", f"{definition} has no version {wanted}", f"there is {_listed(offers)}")
    return found


def _listed(offers: Mapping[str, Revision]) -> str:
    return ", ".join(sorted(offers, key=parse_version))
